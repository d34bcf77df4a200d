"""The client's side of the pi protocol: types for the events that an agent prints, in every version of pi."""

from typing import Any, TypeAlias

from msgspec import DecodeError, Raw, Struct, field

from linnet.decoding import decoder_of
from linnet.wire.fields import ABSENT
from linnet.wire.incoming import BadLine, Reader, UnknownEvent
from linnet.wire.jsonl import LONGEST_LINE
from linnet.wire.pi.frames import Found as Found
from linnet.wire.pi.incoming_messages import Block as Block
from linnet.wire.pi.incoming_messages import Compaction as Compaction
from linnet.wire.pi.incoming_messages import Message as Message
from linnet.wire.pi.incoming_messages import Outcome as Outcome
from linnet.wire.pi.incoming_messages import Permission as Permission
from linnet.wire.pi.incoming_messages import Usage as Usage


class Frame(Struct, frozen=True, tag_field="type", rename="camel"):
    @property
    def type(self) -> str:
        """Return the `type` of the JSON object."""
        return str(self.__struct_config__.tag)


class AgentStart(Frame, frozen=True, tag="agent_start"):
    pass


class AgentEnd(Frame, frozen=True, tag="agent_end"):
    """A run is over. More may follow by itself; `wait_idle` waits for the end of that."""

    messages: list[Message] = field(default_factory=list)
    will_retry: bool = False
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


class TextStart(Frame, frozen=True, tag="text_start"):
    content_index: int = 0


class TextDelta(Frame, frozen=True, tag="text_delta"):
    delta: str
    content_index: int = 0


class TextEnd(Frame, frozen=True, tag="text_end"):
    content: str = ""
    content_index: int = 0


class ThinkingStart(Frame, frozen=True, tag="thinking_start"):
    content_index: int = 0


class ThinkingDelta(Frame, frozen=True, tag="thinking_delta"):
    delta: str
    content_index: int = 0


class ThinkingEnd(Frame, frozen=True, tag="thinking_end"):
    content: str = ""
    content_index: int = 0


class ToolCallStart(Frame, frozen=True, tag="toolcall_start"):
    content_index: int = 0
    id: str = ""
    tool_name: str = ""


class ToolCallDelta(Frame, frozen=True, tag="toolcall_delta"):
    delta: str
    content_index: int = 0


class ToolCallEnd(Frame, frozen=True, tag="toolcall_end"):
    tool_call: dict[str, Any] = field(default_factory=dict)
    content_index: int = 0


class UpdateStart(Frame, frozen=True, tag="start"):
    pass


class UpdateDone(Frame, frozen=True, tag="done"):
    reason: str = ""


class UpdateError(Frame, frozen=True, tag="error"):
    reason: str = ""


Update: TypeAlias = (
    TextDelta
    | ThinkingDelta
    | ToolCallDelta
    | TextStart
    | TextEnd
    | ThinkingStart
    | ThinkingEnd
    | ToolCallStart
    | ToolCallEnd
    | UpdateStart
    | UpdateDone
    | UpdateError
)
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
    duration_ms: float | None = None
    parent_tool_call_id: str | None = None


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
    args: dict[str, Any] = {}
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
    level: str = ""


class BashExecutionUpdate(Frame, frozen=True, tag="bash_execution_update"):
    delta: str = ""
    id: Any = None


class EntryAppended(Frame, frozen=True, tag="entry_appended"):
    entry: dict[str, Any] = field(default_factory=dict)


class SummarizationRetryScheduled(Frame, frozen=True, tag="summarization_retry_scheduled"):
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
