"""Types for every object of the pi protocol that linnet prints, with their fields in the order they are printed in.

An addition is something that pi itself does not print.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType

from linnet.wire.pi.state import PermissionAsked, Plain

Stop: TypeAlias = Literal["stop", "length", "toolUse", "error", "aborted", "pending"]


class Frame(Struct, frozen=True, tag_field="type", rename="camel"):
    """An object with a `type`."""


class Text(Frame, frozen=True, tag="text"):
    text: str
    text_signature: str | UnsetType = UNSET


class Link(Struct, frozen=True, tag_field="type", tag="url"):
    url: str


class Image(Frame, frozen=True, tag="image"):
    data: str
    mime_type: str
    source: Link | UnsetType = UNSET  # Of an image that was given by its address.


class Thinking(Frame, frozen=True, tag="thinking"):
    thinking: str
    thinking_signature: str | UnsetType = UNSET
    redacted: bool | UnsetType = UNSET
    bound: str | UnsetType = UNSET  # An addition: a digest of what the block may be sent back after.


class ToolCall(Frame, frozen=True, tag="toolCall"):
    id: str
    name: str
    arguments: dict[str, Any]
    thought_signature: str | UnsetType = UNSET
    arguments_error: str | UnsetType = UNSET
    unparsed: str | UnsetType = UNSET  # On disk only: what the model wrote, where that was no JSON object.


UserBlock: TypeAlias = Text | Image
ReplyBlock: TypeAlias = Text | Thinking | ToolCall


class Cost(Plain, frozen=True):
    input: float
    output: float
    cache_read: float
    cache_write: float
    total: float


class Usage(Plain, frozen=True):
    input: int
    output: int
    cache_read: int
    cache_write: int
    total_tokens: int | UnsetType
    cost: Cost
    cost_known: Literal[False] | UnsetType = UNSET  # An addition, here and elsewhere: a price is not known.


class Said(Struct, frozen=True, tag_field="role", rename="camel"):
    """A message."""


class UserMessage(Said, frozen=True, tag="user"):
    """Something that the user said."""

    content: list[UserBlock] | str
    timestamp: int
    attachments: Raw | UnsetType = UNSET


class AssistantMessage(Said, frozen=True, tag="assistant"):
    """A reply of the model."""

    content: list[ReplyBlock]
    api: str
    provider: str
    model: str
    usage: Usage
    stop_reason: Stop
    timestamp: int
    error_message: str | UnsetType = UNSET
    duration_ms: int | UnsetType = UNSET


class ToolResultMessage(Said, frozen=True, tag="toolResult"):
    """What a tool call came to."""

    tool_call_id: str
    tool_name: str
    content: list[UserBlock]
    details: dict[str, Any] | UnsetType
    is_error: bool
    timestamp: int
    duration_ms: int | UnsetType = UNSET


class BashExecutionMessage(Said, frozen=True, tag="bashExecution"):
    """A command of `bash`, as the model is told of it."""

    command: str
    output: str
    exit_code: int | UnsetType | None
    cancelled: bool
    truncated: bool
    full_output_path: str | UnsetType | None
    timestamp: int
    exclude_from_context: bool | UnsetType = UNSET
    raw_output: str | UnsetType = UNSET  # On disk only: with the colours that `output` is without.


class BranchSummaryMessage(Said, frozen=True, tag="branchSummary"):
    """Stands for a branch of the conversation that was left."""

    summary: str
    from_id: str
    timestamp: int


class CustomMessage(Said, frozen=True, tag="custom"):
    """A message of an extension to the model."""

    custom_type: str
    content: list[UserBlock]
    display: bool
    details: Any
    timestamp: int


class CompactionSummaryMessage(Said, frozen=True, tag="compactionSummary"):
    """Stands for what was compacted away."""

    summary: str
    tokens_before: int
    timestamp: int


class ToolAdded(Plain, frozen=True):
    name: str
    description: str
    parameters: dict[str, Any]


class ToolRemoved(Plain, frozen=True):
    name: str


class SystemMessage(Said, frozen=True, tag="system"):
    """What the model is told before the conversation: what has changed of it."""

    content: str
    sections: Mapping[str, str | None]
    timestamp: int
    tools_added: list[ToolAdded] | UnsetType = UNSET
    tools_removed: list[ToolRemoved] | UnsetType = UNSET


Message: TypeAlias = (
    UserMessage
    | AssistantMessage
    | ToolResultMessage
    | BashExecutionMessage
    | CompactionSummaryMessage
    | BranchSummaryMessage
    | CustomMessage
    | SystemMessage
)


class AgentStart(Frame, frozen=True, tag="agent_start"):
    """A run begins."""


class AgentEnd(Frame, frozen=True, tag="agent_end"):
    """A run is over, with the messages that it added."""

    messages: list[Message]
    will_retry: bool | UnsetType = UNSET
    error_message: str | UnsetType = UNSET  # An addition: why the run failed, where its last message does not say so.


class AgentSettled(Frame, frozen=True, tag="agent_settled"):
    """A prompt is over, with all that followed from it by itself. Before 0.80 an addition, if a client asks for it."""

    aborted: bool | UnsetType = UNSET


class TurnStart(Frame, frozen=True, tag="turn_start"):
    """A turn begins: a reply, and the tools that it calls."""


class TurnEnd(Frame, frozen=True, tag="turn_end"):
    """A turn is over, with its reply and the results of its calls."""

    message: AssistantMessage
    tool_results: list[ToolResultMessage]


class MessageStart(Frame, frozen=True, tag="message_start"):
    """A message begins; that of a user or a tool is complete."""

    message: Message


class MessageEnd(Frame, frozen=True, tag="message_end"):
    """A message is complete."""

    message: Message


class ToolOutcome(Plain, frozen=True):
    content: list[UserBlock]
    details: dict[str, Any] | UnsetType = UNSET


class ToolExecutionStart(Frame, frozen=True, tag="tool_execution_start"):
    """A tool begins."""

    tool_call_id: str
    tool_name: str
    args: Raw


class ToolExecutionUpdate(Frame, frozen=True, tag="tool_execution_update"):
    """A tool has printed something; all of it so far, or its end."""

    tool_call_id: str
    tool_name: str
    args: Raw
    partial_result: ToolOutcome


class ToolExecutionEnd(Frame, frozen=True, tag="tool_execution_end"):
    """A tool has ended."""

    tool_call_id: str
    tool_name: str
    result: ToolOutcome | str
    is_error: bool
    duration_ms: int | UnsetType = UNSET


class AutoRetryStart(Frame, frozen=True, tag="auto_retry_start"):
    """A run that failed is tried again after a wait."""

    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


class AutoRetryEnd(Frame, frozen=True, tag="auto_retry_end"):
    """The retries are over."""

    success: bool
    attempt: int
    final_error: str | UnsetType = UNSET


class Files(Plain, frozen=True):
    read_files: Sequence[str]
    modified_files: Sequence[str]


class CompactionResult(Plain, frozen=True):
    """What a compaction came to."""

    summary: str
    first_kept_entry_id: str
    tokens_before: int
    estimated_tokens_after: int | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET
    details: Files = Files((), ())


class AutoCompactionStart(Frame, frozen=True, tag="auto_compaction_start"):
    """The conversation is compacted by itself."""

    reason: str


class AutoCompactionEnd(Frame, frozen=True, tag="auto_compaction_end"):
    """That is over."""

    result: CompactionResult | None
    aborted: bool
    will_retry: bool
    error_message: str | UnsetType = UNSET


class QueueUpdate(Frame, frozen=True, tag="queue_update"):
    """What waits to be said to the agent has changed: the texts that wait now."""

    steering: list[str]
    follow_up: list[str]
    dropped: list[str] | UnsetType = UNSET  # An addition: what an abort or a new session did away with.


class UiRequest(Frame, frozen=True, tag="extension_ui_request", omit_defaults=True):
    """A question to whoever drives the agent, or something to show, which wants no answer."""

    id: str
    method: Literal[
        "select", "confirm", "input", "editor", "notify", "setStatus", "setWidget", "setTitle", "set_editor_text"
    ]
    title: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    options: Sequence[str] | UnsetType = UNSET
    placeholder: str | UnsetType = UNSET
    prefill: str | UnsetType = UNSET
    timeout: int | UnsetType = UNSET  # In milliseconds.
    permission: PermissionAsked | UnsetType = UNSET
    notify_type: Literal["info", "warning", "error"] | UnsetType = UNSET
    status_key: str | UnsetType = UNSET
    status_text: str | UnsetType = UNSET
    widget_key: str | UnsetType = UNSET
    widget_lines: Sequence[str] | UnsetType = UNSET
    widget_placement: Literal["aboveEditor", "belowEditor"] | UnsetType = UNSET
    text: str | UnsetType = UNSET


class HookError(Frame, frozen=True, tag="hook_error"):
    """An extension failed, or did not answer in time. Everything else goes on."""

    hook_path: str
    event: str
    error: str


class UiClosed(Frame, frozen=True, tag="extension_ui_closed"):
    """Nobody waits for the answer to a question any more. An addition."""

    id: str
    reason: Literal["expired", "withdrawn", "answered"]


class ToolRequest(Frame, frozen=True, tag="tool_request"):
    """The client is to run a tool that it declared. An addition."""

    request_id: str
    tool_call_id: str
    tool_name: str
    args: dict[str, Any]
    timeout: int | UnsetType = UNSET


class ToolRequestClosed(Frame, frozen=True, tag="tool_request_closed"):
    """Nobody waits for the tool's result any more. An addition."""

    request_id: str
    tool_call_id: str
    reason: Literal["expired", "withdrawn", "answered"]


class Output(Frame, frozen=True, tag="output"):
    """The answer to a prompt that had an `outputSchema` has been read. An addition."""

    value: Any = UNSET
    error: str | UnsetType = UNSET  # Why there is no value.


class SessionInfoChanged(Frame, frozen=True, tag="session_info_changed"):
    """The session has a new name."""

    name: str


class Found(Plain, frozen=True):
    kind: str
    path: str


class ProjectUntrusted(Frame, frozen=True, tag="project_untrusted"):
    """Nobody has said whether this folder is trusted, so what was found in it is left out. An addition."""

    path: str
    found: list[Found]
    changed: tuple[str, ...] | UnsetType = UNSET


class SessionError(Frame, frozen=True, tag="session_error"):
    """What was said last could not be saved. An addition."""

    session_file: str
    error: str
