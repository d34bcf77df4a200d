"""Questions in pi's words, what extensions show, and lines that answer."""

from collections.abc import Callable
from typing import assert_never

from msgspec import UNSET

from linnet.core import commands, questions, ui_events
from linnet.core.events import QuestionAsked, QuestionClosed
from linnet.decoding import decoder_of
from linnet.wire.dialogs import declared, given, milliseconds, printed, returned, trust
from linnet.wire.fields import Field
from linnet.wire.pi import frames
from linnet.wire.pi.line import Line
from linnet.wire.pi.state import PermissionAsked, WaitingFor

_id: Field[str] = Field("id", decoder_of(str), "the id of the question")
_request: Field[str] = Field("requestId", decoder_of(str), "the requestId of the tool_request")
_is_error: Field[bool] = Field("isError", decoder_of(bool), "true or false")


def asked(event: QuestionAsked) -> frames.Frame:
    question, timeout = event.question, milliseconds(event.timeout)
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
            permission = PermissionAsked(call.id, call.name, call.args, preview)
            options = questions.PERMISSIONS
            return frames.UiRequest(event.id, "select", shown, options=options, timeout=timeout, permission=permission)
        case questions.RunClientTool(call):
            return frames.ToolRequest(event.id, call.id, call.name, call.args, timeout)
        case _:
            assert_never(question)


def waiting(event: QuestionAsked) -> WaitingFor:
    """All that it takes to put the question again."""
    told = asked(event)
    if isinstance(told, frames.ToolRequest):
        name, call = told.tool_name, told.tool_call_id
        return WaitingFor(event.id, "tool", name, call, timeout=told.timeout, tool_name=name, args=told.args)
    assert isinstance(told, frames.UiRequest)
    permission = told.permission
    kind, id = ("question", UNSET) if permission is UNSET else ("permission", permission.tool_call_id)
    return WaitingFor(
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


def told(event: ui_events.Shown) -> frames.UiRequest:
    """Return what tells it: a request that nobody waits for an answer to."""
    id = event.id
    match event:
        case ui_events.Notified(_, message, level):
            return frames.UiRequest(id, "notify", message=message, notify_type="info" if level == "success" else level)
        case ui_events.Displayed(_, text):
            return frames.UiRequest(id, "notify", message=text, notify_type="info")
        case ui_events.StatusSet(_, key, text):
            return frames.UiRequest(id, "setStatus", status_key=key, status_text=UNSET if text is None else text)
        case ui_events.WidgetSet(_, key, lines, placement):
            return frames.UiRequest(
                id,
                "setWidget",
                widget_key=key,
                widget_lines=UNSET if lines is None else lines,
                widget_placement="aboveEditor" if placement == "above_editor" else "belowEditor",
            )
        case ui_events.TitleSet(_, title):
            return frames.UiRequest(id, "setTitle", title)
        case ui_events.EditorTextSet(_, text):
            return frames.UiRequest(id, "set_editor_text", text=text)
        case _:
            assert_never(event)


def _answer(line: Line) -> commands.Command:
    said = given(line.value, line.confirmed, line.cancelled, line.reason)
    return commands.AnswerQuestion(_id.required(line.id), said)


def _tool_response(line: Line) -> commands.Command:
    is_error = _is_error.optional(line.is_error) or False
    result = returned(line.content, line.details, is_error=is_error)
    return commands.ReturnTool(_request.required(line.request_id), result)


def _tool_progress(line: Line) -> commands.Command:
    return commands.ReportToolProgress(_request.required(line.request_id), printed(line.text))


REPLIES: dict[str, Callable[[Line], commands.Command]] = {
    "extension_ui_response": _answer,
    "tool_response": _tool_response,
    "tool_response_progress": _tool_progress,
    "set_tools": lambda line: commands.SetTools(declared(line.tools)),
    "trust": lambda line: trust(line.answer),
}
"""What clients say that were asked something. They raise BadInput."""
