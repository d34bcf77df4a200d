"""Writes questions to the client, and what extensions show, in the pi protocol; and reads the lines that answer."""

from typing import assert_never

from msgspec import UNSET

from linnet.core import questions, ui_events
from linnet.core.events import QuestionAsked, QuestionClosed
from linnet.wire.dialogs import milliseconds, replies
from linnet.wire.fields import Field
from linnet.wire.pi import frames
from linnet.wire.pi.state import PermissionAsked, WaitingFor


def asked(event: QuestionAsked) -> frames.Frame:
    """Return the frame that puts a question to the client, or asks it to run a tool."""
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
    """Return an open question with all that it takes to put it again."""
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


def closed(event: QuestionClosed, *, shared: bool = False) -> list[frames.Frame]:
    """Return the frame that says that nobody waits for an answer any more; none if it was answered: whoever answered
    knows, and there are others only if the agent is `shared`.
    """
    if event.how == "answered" and not shared:
        return []
    if isinstance(event.question, questions.RunClientTool):
        return [frames.ToolRequestClosed(event.id, event.question.call.id, event.how)]
    return [frames.UiClosed(event.id, event.how)]


def told(event: ui_events.Shown) -> frames.UiRequest:
    """Return the request that shows something. Nobody waits for an answer to it."""
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


REPLIES = replies(
    "extension_ui_response",
    Field("id", str, "the id of the question"),
    Field("requestId", str, "the requestId of the tool_request"),
    Field("isError", bool, "true or false"),
)
