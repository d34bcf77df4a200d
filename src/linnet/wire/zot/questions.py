"""Questions in zot's spelling, which has none of its own, and lines that answer them."""

from typing import Any, assert_never

from msgspec import UNSET, UnsetType

from linnet.core import commands, questions
from linnet.core.events import QuestionAsked, QuestionClosed
from linnet.decoding import decoder_of
from linnet.wire.fields import Field
from linnet.wire.tool_results import content, declared
from linnet.wire.zot import frames
from linnet.wire.zot.line import Line

_id: Field[str] = Field("request_id", decoder_of(str), "the request_id of the question or tool_request")
_value: Field[str] = Field("value", decoder_of(str), "a string")
_confirmed: Field[bool] = Field("confirmed", decoder_of(bool), "true or false")
_cancelled: Field[bool] = Field("cancelled", decoder_of(bool), "true or false")
_reason: Field[str] = Field("reason", decoder_of(str), "a string")
_is_error: Field[bool] = Field("is_error", decoder_of(bool), "true or false")
_details: Field[dict[str, Any]] = Field("details", decoder_of(dict[str, Any]), "an object")
_text: Field[str] = Field("text", decoder_of(str), "a string")


def asked(event: QuestionAsked) -> frames.Event:
    question, timeout = event.question, _milliseconds(event.timeout)
    match question:
        case questions.Confirm(title, message):
            return frames.Question(event.id, "confirm", title, message or UNSET, timeout_ms=timeout)
        case questions.Select(title, options):
            return frames.Question(event.id, "select", title, options=options, timeout_ms=timeout)
        case questions.EnterText(title, placeholder):
            return frames.Question(event.id, "input", title, placeholder=placeholder or UNSET, timeout_ms=timeout)
        case questions.EditText(title, prefill):
            return frames.Question(event.id, "editor", title, prefill=prefill or UNSET, timeout_ms=timeout)
        case questions.Permit(call, title, preview):
            permission = frames.PermissionAsked(call.id, call.name, call.args, preview)
            options = questions.PERMISSIONS
            return frames.Question(
                event.id, "select", title, options=options, timeout_ms=timeout, permission=permission
            )
        case questions.RunClientTool(call):
            return frames.ToolRequest(event.id, call.id, call.name, call.args, timeout)
        case _:
            assert_never(question)


def waiting(event: QuestionAsked) -> frames.WaitingFor:
    """All that it takes to put the question again."""
    told = asked(event)
    if isinstance(told, frames.ToolRequest):
        return frames.WaitingFor(
            event.id, "tool", told.name, told.call_id, timeout_ms=told.timeout_ms, name=told.name, args=told.args
        )
    assert isinstance(told, frames.Question)
    permission = told.permission
    kind, call = ("question", UNSET) if permission is UNSET else ("permission", permission.call_id)
    return frames.WaitingFor(
        event.id,
        kind,
        told.title,
        call,
        told.method,
        told.message,
        told.options,
        told.placeholder,
        told.prefill,
        told.timeout_ms,
        permission,
    )


def closed(event: QuestionClosed) -> list[frames.Event]:
    """Empty if it was answered: whoever answered knows."""
    if event.how == "answered":
        return []
    if isinstance(event.question, questions.RunClientTool):
        return [frames.ToolRequestClosed(event.id, event.question.call.id, event.how)]
    return [frames.QuestionClosed(event.id, event.how)]


def answer(line: Line) -> commands.AnswerQuestion:
    """Raises BadInput."""
    given = questions.Given(
        _value.optional(line.value),
        _confirmed.optional(line.confirmed),
        _cancelled.optional(line.cancelled) or False,
        _reason.optional(line.reason) or "",
    )
    return commands.AnswerQuestion(_id.required(line.request_id), given)


def tool_response(line: Line) -> commands.ReturnTool:
    """Raises BadInput."""
    is_error = _is_error.optional(line.is_error) or False
    returned = questions.ToolReturned(content(line.content), is_error, _details.optional(line.details))
    return commands.ReturnTool(_id.required(line.request_id), returned)


def tool_progress(line: Line) -> commands.ReportToolProgress:
    """Raises BadInput."""
    return commands.ReportToolProgress(_id.required(line.request_id), _text.optional(line.text) or "")


def set_tools(line: Line) -> commands.SetTools:
    """Raises BadInput."""
    return commands.SetTools(declared(line.tools))


def _milliseconds(seconds: float | None) -> int | UnsetType:
    return UNSET if seconds is None else round(seconds * 1000)
