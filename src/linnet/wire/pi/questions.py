"""Questions in pi's words, and lines that answer them."""

from typing import Any, assert_never

from msgspec import UNSET, UnsetType

from linnet.core import commands, questions
from linnet.core.events import QuestionAsked, QuestionClosed
from linnet.decoding import decoder_of
from linnet.wire.fields import Field
from linnet.wire.pi import frames, responses
from linnet.wire.pi.line import Line
from linnet.wire.tool_results import content, declared

_id: Field[str] = Field("id", decoder_of(str), "the id of the question")
_request: Field[str] = Field("requestId", decoder_of(str), "the requestId of the tool_request")
_value: Field[str] = Field("value", decoder_of(str), "a string")
_confirmed: Field[bool] = Field("confirmed", decoder_of(bool), "true or false")
_cancelled: Field[bool] = Field("cancelled", decoder_of(bool), "true or false")
_reason: Field[str] = Field("reason", decoder_of(str), "a string")
_is_error: Field[bool] = Field("isError", decoder_of(bool), "true or false")
_details: Field[dict[str, Any]] = Field("details", decoder_of(dict[str, Any]), "an object")
_text: Field[str] = Field("text", decoder_of(str), "a string")


def asked(event: QuestionAsked) -> frames.Frame:
    question, timeout = event.question, _milliseconds(event.timeout)
    match question:
        case questions.Confirm(title, message):
            return frames.UiRequest(event.id, "confirm", title, message or UNSET, timeout=timeout)
        case questions.Select(title, options):
            return frames.UiRequest(event.id, "select", title, options=options, timeout=timeout)
        case questions.EnterText(title, placeholder):
            return frames.UiRequest(event.id, "input", title, placeholder=placeholder or UNSET, timeout=timeout)
        case questions.EditText(title, prefill):
            return frames.UiRequest(event.id, "editor", title, prefill=prefill or UNSET, timeout=timeout)
        case questions.Permit(call, title, preview):
            # Clients that know nothing of permissions show the title, so all that matters is in it.
            shown = f"{title}\n\n{preview}" if preview else title
            permission = frames.PermissionAsked(call.id, call.name, call.args, preview)
            options = questions.PERMISSIONS
            return frames.UiRequest(event.id, "select", shown, options=options, timeout=timeout, permission=permission)
        case questions.RunClientTool(call):
            return frames.ToolRequest(event.id, call.id, call.name, call.args, timeout)
        case _:
            assert_never(question)


def waiting(event: QuestionAsked) -> responses.WaitingFor:
    """All that it takes to put the question again."""
    told = asked(event)
    if isinstance(told, frames.ToolRequest):
        name, call = told.tool_name, told.tool_call_id
        return responses.WaitingFor(event.id, "tool", name, call, timeout=told.timeout, tool_name=name, args=told.args)
    assert isinstance(told, frames.UiRequest)
    permission = told.permission
    kind, id = ("question", UNSET) if permission is UNSET else ("permission", permission.tool_call_id)
    return responses.WaitingFor(
        event.id,
        kind,
        told.title if isinstance(told.title, str) else "",
        id,
        told.method,
        told.message,
        told.options,
        told.placeholder,
        told.prefill,
        told.timeout,
        permission,
    )


def closed(event: QuestionClosed) -> list[frames.Frame]:
    """Empty if it was answered: whoever answered knows."""
    if event.how == "answered":
        return []
    if isinstance(event.question, questions.RunClientTool):
        return [frames.ToolRequestClosed(event.id, event.question.call.id, event.how)]
    return [frames.UiClosed(event.id, event.how)]


def answer(line: Line) -> commands.AnswerQuestion:
    """Raises BadInput."""
    given = questions.Given(
        _value.optional(line.value),
        _confirmed.optional(line.confirmed),
        _cancelled.optional(line.cancelled) or False,
        _reason.optional(line.reason) or "",
    )
    return commands.AnswerQuestion(_id.required(line.id), given)


def tool_response(line: Line) -> commands.ReturnTool:
    """Raises BadInput."""
    is_error = _is_error.optional(line.is_error) or False
    returned = questions.ToolReturned(content(line.content), is_error, _details.optional(line.details))
    return commands.ReturnTool(_request.required(line.request_id), returned)


def tool_progress(line: Line) -> commands.ReportToolProgress:
    """Raises BadInput."""
    return commands.ReportToolProgress(_request.required(line.request_id), _text.optional(line.text) or "")


def set_tools(line: Line) -> commands.SetTools:
    """Raises BadInput."""
    return commands.SetTools(declared(line.tools))


def _milliseconds(seconds: float | None) -> int | UnsetType:
    return UNSET if seconds is None else round(seconds * 1000)
