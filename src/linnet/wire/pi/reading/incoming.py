"""The client's side of the pi protocol: types for the events that an agent prints, in every version of pi."""

from typing import Any, TypeAlias

from msgspec import DecodeError, Raw, field

from linnet.decoding import decoder_of
from linnet.wire.fields import ABSENT
from linnet.wire.incoming import BadLine, Reader, UnknownEvent
from linnet.wire.jsonl import LONGEST_LINE
from linnet.wire.pi.frames import Found as Found
from linnet.wire.pi.reading.incoming_messages import Block as Block
from linnet.wire.pi.reading.incoming_messages import Compaction as Compaction
from linnet.wire.pi.reading.incoming_messages import Frame as Frame
from linnet.wire.pi.reading.incoming_messages import Message as Message
from linnet.wire.pi.reading.incoming_messages import Outcome as Outcome
from linnet.wire.pi.reading.incoming_messages import Permission as Permission
from linnet.wire.pi.reading.incoming_messages import TextDelta as TextDelta
from linnet.wire.pi.reading.incoming_messages import TextEnd as TextEnd
from linnet.wire.pi.reading.incoming_messages import TextStart as TextStart
from linnet.wire.pi.reading.incoming_messages import ThinkingDelta as ThinkingDelta
from linnet.wire.pi.reading.incoming_messages import ThinkingEnd as ThinkingEnd
from linnet.wire.pi.reading.incoming_messages import ThinkingStart as ThinkingStart
from linnet.wire.pi.reading.incoming_messages import ToolCallDelta as ToolCallDelta
from linnet.wire.pi.reading.incoming_messages import ToolCallEnd as ToolCallEnd
from linnet.wire.pi.reading.incoming_messages import ToolCallStart as ToolCallStart
from linnet.wire.pi.reading.incoming_messages import Update as Update
from linnet.wire.pi.reading.incoming_messages import UpdateDone as UpdateDone
from linnet.wire.pi.reading.incoming_messages import UpdateError as UpdateError
from linnet.wire.pi.reading.incoming_messages import UpdateStart as UpdateStart
from linnet.wire.pi.reading.incoming_messages import Usage as Usage


class AgentStart(Frame, frozen=True, tag="agent_start"):
    pass


class AgentEnd(Frame, frozen=True, tag="agent_end"):
    """A run is over. More may follow by itself; `wait_idle` waits for the end of that."""

    messages: list[Message] = field(default_factory=list)
    will_retry: bool | None = None  # Whether it is tried again; told by those who tell `agent_settled` too.
    error_message: str = ""


class AgentSettled(Frame, frozen=True, tag="agent_settled"):
    """Nothing more follows by itself. Sent by pi since 0.80."""

    aborted: bool = False


class TurnStart(Frame, frozen=True, tag="turn_start"):
    pass


class TurnEnd(Frame, frozen=True, tag="turn_end"):
    message: Message
    tool_results: list[Message] = field(default_factory=list)


class MessageStart(Frame, frozen=True, tag="message_start"):
    message: Message


class MessageEnd(Frame, frozen=True, tag="message_end"):
    message: Message


_message = decoder_of(Message)


class MessageUpdate(Frame, frozen=True, tag="message_update"):
    """The model's message has grown. The message so far, where it is sent, is decoded when it is asked for."""

    update: Update = field(name="assistantMessageEvent")  # What was added.
    usage: Usage | None = None
    raw_message: Raw = field(default=ABSENT, name="message")

    @property
    def message(self) -> Message | None:
        """Return the message so far; None if it was not sent, or is no message."""
        try:
            return _message.decode(self.raw_message)
        except (DecodeError, ValueError, RecursionError):
            return None


class ToolExecutionStart(Frame, frozen=True, tag="tool_execution_start"):
    """A tool runs. `parent_tool_call_id` is the call of the tool that called it, if one did."""

    tool_call_id: str
    tool_name: str
    args: Any = None
    parent_tool_call_id: str | None = None


class ToolExecutionUpdate(Frame, frozen=True, tag="tool_execution_update"):
    tool_call_id: str
    tool_name: str
    args: Any = None
    partial_result: Outcome | str | None = None  # All there is so far, not what is new.
    parent_tool_call_id: str | None = None


class ToolExecutionEnd(Frame, frozen=True, tag="tool_execution_end"):
    tool_call_id: str
    tool_name: str
    result: Outcome | str | None = None
    is_error: bool = False
    duration_ms: float | None = None  # None also if the tool never ran.
    parent_tool_call_id: str | None = None


class SessionHeader(Frame, frozen=True, tag="session"):
    """The first line of `--mode json`: the session that the events after it belong to."""

    id: str = ""
    version: int = 0
    timestamp: str = ""
    cwd: str = ""
    parent_session: str | None = None


class AutoRetryStart(Frame, frozen=True, tag="auto_retry_start"):
    attempt: int = 0
    max_attempts: int = 0
    delay_ms: float = 0
    error_message: str = ""


class AutoRetryEnd(Frame, frozen=True, tag="auto_retry_end"):
    success: bool = False
    attempt: int = 0
    final_error: str | None = None


class AutoCompactionStart(Frame, frozen=True, tag="auto_compaction_start"):
    reason: str = ""


class AutoCompactionEnd(Frame, frozen=True, tag="auto_compaction_end"):
    result: Compaction | None = None
    aborted: bool = False
    will_retry: bool = False
    error_message: str | None = None


class CompactionStart(Frame, frozen=True, tag="compaction_start"):
    """A compaction has begun: `auto_compaction_start` is called so since pi 0.70."""

    reason: str = ""  # May also be `manual`.


class CompactionEnd(Frame, frozen=True, tag="compaction_end"):
    reason: str = ""
    result: Compaction | None = None
    aborted: bool = False
    will_retry: bool = False
    error_message: str | None = None


class QueueUpdate(Frame, frozen=True, tag="queue_update"):
    """The queues of what waits to be said have changed to these."""

    steering: list[str] = field(default_factory=list)
    follow_up: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)  # linnet's own: what was waiting and will never be said.


class SessionInfoChanged(Frame, frozen=True, tag="session_info_changed"):
    name: str | None = None


class ExtensionUiClosed(Frame, frozen=True, tag="extension_ui_closed"):
    """Nobody waits for the answer to a question any more."""

    id: str
    reason: str = ""


class ToolRequest(Frame, frozen=True, tag="tool_request"):
    """You are to run a tool that you declared, and to answer with `tool_response`."""

    request_id: str
    tool_call_id: str
    tool_name: str
    args: dict[str, Any] = field(default_factory=dict)
    timeout: float | None = None


class ToolRequestClosed(Frame, frozen=True, tag="tool_request_closed"):
    """Nobody waits for the tool's result any more."""

    request_id: str
    tool_call_id: str = ""
    reason: str = ""


class SessionError(Frame, frozen=True, tag="session_error"):
    """What was said last could not be saved. linnet's own."""

    session_file: str = ""
    error: str = ""


class ProjectUntrusted(Frame, frozen=True, tag="project_untrusted"):
    """Nobody has said whether this folder is trusted, so what was found in it is left out. linnet's own."""

    path: str = ""
    found: tuple[Found, ...] = ()
    changed: tuple[str, ...] = ()


class Output(Frame, frozen=True, tag="output"):
    """The answer to a prompt with an output schema has been read. linnet's own."""

    value: Any = None
    error: str = ""  # Why there is no value.


class ThinkingLevelChanged(Frame, frozen=True, tag="thinking_level_changed"):
    """The model thinks this much from now on. Told by pi since 0.70."""

    level: str = ""


class BashExecutionUpdate(Frame, frozen=True, tag="bash_execution_update"):
    """A command of `bash` has printed something."""

    delta: str = ""
    id: Any = None  # Of the command.


class EntryAppended(Frame, frozen=True, tag="entry_appended"):
    """The session has got an entry that no other event tells of, such as `context_edit`, `usage` and `custom`."""

    entry: dict[str, Any] = field(default_factory=dict)


class SummarizationRetryScheduled(Frame, frozen=True, tag="summarization_retry_scheduled"):
    """A summary failed for a passing reason, and is asked for again after the delay."""

    attempt: int = 0
    max_attempts: int = 0
    delay_ms: float = 0
    error_message: str = ""


class SummarizationRetryAttemptStart(Frame, frozen=True, tag="summarization_retry_attempt_start"):
    source: str = ""
    reason: str = ""


class SummarizationRetryFinished(Frame, frozen=True, tag="summarization_retry_finished"):
    pass


class ExtensionError(Frame, frozen=True, tag="extension_error"):
    extension_path: str = ""
    event: str = ""
    error: str = ""


class HookError(Frame, frozen=True, tag="hook_error"):
    """An extension failed: `extension_error` was called so when extensions were hooks."""

    hook_path: str = ""
    event: str = ""
    error: str = ""


class ExtensionUiRequest(Frame, frozen=True, tag="extension_ui_request"):
    """An extension asks or tells the user. `select`, `confirm`, `input` and `editor` wait for `answer_ui`."""

    id: str
    method: str
    title: str = ""
    message: str = ""
    options: list[str] = field(default_factory=list)
    placeholder: str | None = None
    prefill: str | None = None
    timeout: float | None = None
    notify_type: str | None = None
    status_key: str | None = None
    status_text: str | None = None
    widget_key: str | None = None
    widget_lines: list[str] | None = None
    widget_placement: str | None = None
    text: str | None = None
    permission: Permission | None = None

    @property
    def wants_answer(self) -> bool:
        return self.method in ("select", "confirm", "input", "editor")


class Compacted(Frame, frozen=True, tag="compaction"):
    """The conversation was compacted, in the earlier protocol."""

    summary: str = ""
    tokens_before: float = 0
    auto: bool = False


class Error(Frame, frozen=True, tag="error"):
    """Something was refused or failed, in the earlier protocol."""

    error: str = ""


Event: TypeAlias = (
    MessageUpdate
    | AgentStart
    | AgentEnd
    | AgentSettled
    | TurnStart
    | TurnEnd
    | MessageStart
    | MessageEnd
    | ToolExecutionStart
    | ToolExecutionUpdate
    | ToolExecutionEnd
    | AutoRetryStart
    | AutoRetryEnd
    | AutoCompactionStart
    | AutoCompactionEnd
    | CompactionStart
    | CompactionEnd
    | QueueUpdate
    | SessionHeader
    | SessionInfoChanged
    | SessionError
    | ProjectUntrusted
    | Output
    | ExtensionUiClosed
    | ToolRequest
    | ToolRequestClosed
    | ThinkingLevelChanged
    | BashExecutionUpdate
    | EntryAppended
    | SummarizationRetryScheduled
    | SummarizationRetryAttemptStart
    | SummarizationRetryFinished
    | ExtensionError
    | HookError
    | ExtensionUiRequest
    | Compacted
    | Error
)
Heard: TypeAlias = Event | UnknownEvent | BadLine


def reader(limit: int = LONGEST_LINE) -> Reader[Event]:
    """Return a reader of what an agent prints."""
    return Reader(Event, limit=limit)
