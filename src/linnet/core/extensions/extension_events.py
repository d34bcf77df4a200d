"""What extensions are told after something has happened: the session's events, under the names that handlers know."""

from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct

from linnet.core import events
from linnet.core.messages import AssistantMessage, Message, StopReason, ToolCall, ToolResult, UserMessage
from linnet.core.models import Model, Reasoning

Name: TypeAlias = Literal[
    "session_start",
    "session_shutdown",
    "session_compact",
    "agent_start",
    "agent_end",
    "turn_start",
    "turn_end",
    "message_start",
    "message_update",
    "message_end",
    "tool_execution_start",
    "tool_execution_update",
    "tool_execution_end",
    "model_select",
    "thinking_level_select",
]


class Observed(Struct, frozen=True):
    """Something that has happened. Nothing can be decided about it any more."""

    name: ClassVar[Name]
    passing: ClassVar[bool] = False
    """It may be left out where a listener is far behind."""


class SessionStarted(Observed, frozen=True):
    """The agent goes on in this session."""

    name = "session_start"

    reason: events.Entered
    session_id: str
    file: str | None = None  # None if the session is in memory only.


class SessionEnded(Observed, frozen=True):
    """The extension is about to end. It is told nothing after this."""

    name = "session_shutdown"

    reason: Literal["quit", "reload"] = "quit"
    """The agent ends, or its extensions are read again."""


class SessionCompacted(Observed, frozen=True):
    name = "session_compact"

    reason: events.CompactReason
    summary: str
    tokens_before: int
    entry: str


class AgentStarted(Observed, frozen=True):
    name = "agent_start"


class AgentEnded(Observed, frozen=True):
    name = "agent_end"

    messages: tuple[Message, ...]  # Those of the run.
    stop: StopReason
    error: str = ""


class TurnStarted(Observed, frozen=True):
    name = "turn_start"

    step: int


class TurnEnded(Observed, frozen=True):
    name = "turn_end"

    message: AssistantMessage
    results: tuple[ToolResult, ...]


class MessageStarted(Observed, frozen=True):
    name = "message_start"

    role: Literal["user", "assistant"]


class MessageGrew(Observed, frozen=True):
    """The model's message has got longer."""

    name = "message_update"
    passing = True

    kind: Literal["text", "thinking"]
    text: str  # What is new.


class MessageEnded(Observed, frozen=True):
    name = "message_end"

    message: UserMessage | AssistantMessage


class ToolStarted(Observed, frozen=True):
    name = "tool_execution_start"

    call: ToolCall


class ToolGrew(Observed, frozen=True):
    """A tool has written more output."""

    name = "tool_execution_update"
    passing = True

    call_id: str
    tool: str
    text: str  # What is new.


class ToolEnded(Observed, frozen=True):
    name = "tool_execution_end"

    result: ToolResult


class ModelSelected(Observed, frozen=True):
    name = "model_select"

    model: Model


class ThinkingSelected(Observed, frozen=True):
    name = "thinking_level_select"

    level: Reasoning


def observed(event: events.Event) -> tuple[Observed, ...]:
    """Return what a listener is told of this event, in order; nothing for most events."""
    match event:
        case events.TextGrew(_, text):
            return (MessageGrew("text", text),)
        case events.ThinkingGrew(_, text):
            return (MessageGrew("thinking", text),)
        case events.ToolProgressed(call_id, name, text):
            return (ToolGrew(call_id, name, text),)
        case events.RunStarted():
            return (AgentStarted(),)
        case events.RunEnded(stop, error, messages):
            return (AgentEnded(messages, stop, error),)
        case events.StepStarted(step):
            return (TurnStarted(step),)
        case events.StepEnded(reply, results):
            return (TurnEnded(reply, results),)
        case events.UserSaid(said):
            return (MessageStarted("user"), MessageEnded(said))
        case events.ReplyStarted():
            return (MessageStarted("assistant"),)
        case events.ReplyEnded(reply):
            return (MessageEnded(reply),)
        case events.ToolStarted(call):
            return (ToolStarted(call),)
        case events.ToolFinished(result):
            return (ToolEnded(result),)
        case events.ModelSet(model):
            return (ModelSelected(model),)
        case events.ThinkingSet(level):
            return (ThinkingSelected(level),)
        case events.SessionEntered():
            return (SessionStarted(event.reason, event.session_id, event.file),)
        case events.CompactionEnded(reason, result) if result is not None:
            return (SessionCompacted(reason, result.summary.text, result.summary.tokens_before, event.id),)
        case _:
            return ()
