"""Writes questions to the client, and what extensions show, in the zot protocol; and reads the lines that answer.

zot itself asks no questions: these are additions.
"""

from typing import assert_never

from msgspec import UNSET

from linnet.core import questions, ui_events
from linnet.core.events import QuestionAsked, QuestionClosed
from linnet.wire.dialogs import milliseconds, replies
from linnet.wire.fields import Field
from linnet.wire.zot import frames

_id: Field[str] = Field("request_id", str, "the request_id of the question or tool_request")


def asked(event: QuestionAsked) -> frames.Event:
    """Return the frame that puts a question to the client, or asks it to run a tool."""
    question, timeout = event.question, milliseconds(event.timeout)
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
    """Return an open question with all that it takes to put it again."""
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


def closed(event: QuestionClosed, *, shared: bool = False) -> list[frames.Event]:
    """Return the frame that says that nobody waits for an answer any more; none if it was answered: whoever answered
    knows, and there are others only if the agent is `shared`.
    """
    if event.how == "answered" and not shared:
        return []
    if isinstance(event.question, questions.RunClientTool):
        return [frames.ToolRequestClosed(event.id, event.question.call.id, event.how)]
    return [frames.QuestionClosed(event.id, event.how)]


def told(event: ui_events.Shown) -> frames.Event:
    """Return the frame that shows something. zot itself has frames for notices and texts only."""
    match event:
        case ui_events.Notified(extension, message, level):
            return frames.ExtNotify(extension, "warn" if level == "warning" else level, message)
        case ui_events.Displayed(extension, text):
            return frames.ExtDisplay(extension, text)
        case ui_events.StatusSet(extension, key, text):
            return frames.ExtStatus(extension, key, text)
        case ui_events.WidgetSet(extension, key, lines, placement):
            return frames.ExtWidget(extension, key, lines, placement)
        case ui_events.TitleSet(extension, title):
            return frames.ExtTitle(extension, title)
        case ui_events.EditorTextSet(extension, text):
            return frames.ExtEditorText(extension, text)
        case _:
            assert_never(event)


REPLIES = replies("answer", _id, _id, Field("is_error", bool, "true or false"))
