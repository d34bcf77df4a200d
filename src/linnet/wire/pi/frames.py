"""Every object of the pi protocol that linnet prints, as a type, in the order its fields are printed."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType

Stop: TypeAlias = Literal["stop", "length", "toolUse", "error", "aborted"]


class Frame(Struct, frozen=True, tag_field="type", rename="camel"):
    pass


class Plain(Struct, frozen=True, rename="camel"):
    pass


class Text(Frame, frozen=True, tag="text"):
    text: str


class Link(Struct, frozen=True, tag_field="type", tag="url"):
    url: str


class Image(Frame, frozen=True, tag="image"):
    """`source` is there for one that was given by its address."""

    data: str
    mime_type: str
    source: Link | UnsetType = UNSET


class Thinking(Frame, frozen=True, tag="thinking"):
    thinking: str
    thinking_signature: str | UnsetType = UNSET
    redacted: bool | UnsetType = UNSET


class ToolCall(Frame, frozen=True, tag="toolCall"):
    id: str
    name: str
    arguments: dict[str, Any]


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


class Said(Struct, frozen=True, tag_field="role", rename="camel"):
    pass


class UserMessage(Said, frozen=True, tag="user"):
    content: list[UserBlock] | str
    timestamp: int
    attachments: Raw | UnsetType = UNSET


class AssistantMessage(Said, frozen=True, tag="assistant"):
    content: list[ReplyBlock]
    api: str
    provider: str
    model: str
    usage: Usage
    stop_reason: Stop
    timestamp: int
    error_message: str | UnsetType = UNSET


class ToolResultMessage(Said, frozen=True, tag="toolResult"):
    tool_call_id: str
    tool_name: str
    content: list[UserBlock]
    details: dict[str, Any] | UnsetType
    is_error: bool
    timestamp: int


class BashExecutionMessage(Said, frozen=True, tag="bashExecution"):
    command: str
    output: str
    exit_code: int | None
    cancelled: bool
    truncated: bool
    full_output_path: str | None
    timestamp: int
    exclude_from_context: bool | UnsetType = UNSET
    raw_output: str | UnsetType = UNSET  # On disk only: with the colours that `output` is without.


class BranchSummaryMessage(Said, frozen=True, tag="branchSummary"):
    summary: str
    from_id: str
    timestamp: int


class CustomMessage(Said, frozen=True, tag="custom"):
    custom_type: str
    content: list[UserBlock]
    display: bool
    details: Any
    timestamp: int


class CompactionSummaryMessage(Said, frozen=True, tag="compactionSummary"):
    summary: str
    tokens_before: int
    timestamp: int


Message: TypeAlias = (
    UserMessage
    | AssistantMessage
    | ToolResultMessage
    | BashExecutionMessage
    | CompactionSummaryMessage
    | BranchSummaryMessage
    | CustomMessage
)


class AgentStart(Frame, frozen=True, tag="agent_start"):
    pass


class AgentEnd(Frame, frozen=True, tag="agent_end"):
    """`error_message`, an addition: why the run failed, where none of its messages says so."""

    messages: list[Message]
    error_message: str | UnsetType = UNSET


class TurnStart(Frame, frozen=True, tag="turn_start"):
    pass


class TurnEnd(Frame, frozen=True, tag="turn_end"):
    message: AssistantMessage
    tool_results: list[ToolResultMessage]


class MessageStart(Frame, frozen=True, tag="message_start"):
    message: Message


class MessageEnd(Frame, frozen=True, tag="message_end"):
    message: Message


class ToolOutcome(Plain, frozen=True):
    content: list[UserBlock]
    details: dict[str, Any]


class ToolExecutionStart(Frame, frozen=True, tag="tool_execution_start"):
    tool_call_id: str
    tool_name: str
    args: Raw


class ToolExecutionUpdate(Frame, frozen=True, tag="tool_execution_update"):
    tool_call_id: str
    tool_name: str
    args: Raw
    partial_result: ToolOutcome


class ToolExecutionEnd(Frame, frozen=True, tag="tool_execution_end"):
    tool_call_id: str
    tool_name: str
    result: ToolOutcome | str
    is_error: bool


class AutoRetryStart(Frame, frozen=True, tag="auto_retry_start"):
    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


class AutoRetryEnd(Frame, frozen=True, tag="auto_retry_end"):
    success: bool
    attempt: int
    final_error: str | UnsetType = UNSET


class Files(Plain, frozen=True):
    read_files: Sequence[str]
    modified_files: Sequence[str]


class CompactionResult(Plain, frozen=True):
    summary: str
    first_kept_entry_id: str
    tokens_before: int
    details: Files


class AutoCompactionStart(Frame, frozen=True, tag="auto_compaction_start"):
    reason: str


class AutoCompactionEnd(Frame, frozen=True, tag="auto_compaction_end"):
    result: CompactionResult | None
    aborted: bool
    will_retry: bool
    error_message: str | UnsetType = UNSET


class QueueUpdate(Frame, frozen=True, tag="queue_update"):
    """`dropped`, an addition: what an abort or a new session did away with."""

    steering: list[str]
    follow_up: list[str]
    dropped: list[str] | UnsetType = UNSET


class SessionInfoChanged(Frame, frozen=True, tag="session_info_changed"):
    name: str


class SessionError(Frame, frozen=True, tag="session_error"):
    """An addition: what was said last could not be saved."""

    session_file: str
    error: str


class Prices(Plain, frozen=True):
    input: float
    output: float
    cache_read: float
    cache_write: float


class Model(Plain, frozen=True):
    id: str
    name: str
    api: str
    provider: str
    base_url: str
    reasoning: bool
    input: list[str]
    context_window: int
    max_tokens: int
    cost: Prices


class StateData(Plain, frozen=True):
    model: Model | None
    thinking_level: str
    is_streaming: bool
    is_compacting: bool
    steering_mode: str
    follow_up_mode: str
    session_file: str | UnsetType
    session_id: str
    auto_compaction_enabled: bool
    message_count: int
    pending_message_count: int
    session_name: str | UnsetType = UNSET
    session_error: str | UnsetType = UNSET


class MessagesData(Plain, frozen=True):
    messages: list[Message]


class CycleModelData(Plain, frozen=True):
    model: Model
    thinking_level: str
    is_scoped: bool


class ModelsData(Plain, frozen=True):
    models: list[Model]


class LevelData(Plain, frozen=True):
    level: str


class CancelledData(Plain, frozen=True):
    cancelled: bool


class BranchData(Plain, frozen=True):
    text: str
    cancelled: bool


class NavigateData(Plain, frozen=True):
    leaf_id: str | None
    cancelled: bool


class BranchMessage(Plain, frozen=True):
    entry_id: str
    text: str


class BranchMessagesData(Plain, frozen=True):
    messages: list[BranchMessage]


class TreeNode(Plain, frozen=True):
    id: str
    parent_id: str | None
    type: str
    timestamp: str
    role: str | UnsetType
    text: str | UnsetType
    label: str | UnsetType


class TreeData(Plain, frozen=True):
    leaf_id: str | None
    nodes: list[TreeNode]


class EntriesData(Plain, frozen=True):
    entries: list[Raw]
    leaf_id: str | None


class SessionItem(Plain, frozen=True):
    path: str
    id: str
    name: str | UnsetType
    cwd: str
    created: str
    modified: str
    message_count: int
    first_message: str
    provider: str
    model_id: str
    tokens: int
    cost: float
    parent_session: str | UnsetType
    current: bool


class SessionsData(Plain, frozen=True):
    sessions: list[SessionItem]


class PathData(Plain, frozen=True):
    path: str


class BashData(Plain, frozen=True):
    output: str
    exit_code: int | None
    cancelled: bool
    truncated: bool
    full_output_path: str | UnsetType = UNSET


class Tokens(Plain, frozen=True):
    input: int
    output: int
    cache_read: int
    cache_write: int
    total: int


class StatsData(Plain, frozen=True):
    session_file: str | UnsetType
    session_id: str
    user_messages: int
    assistant_messages: int
    tool_calls: int
    tool_results: int
    total_messages: int
    tokens: Tokens
    cost: float


class TextData(Plain, frozen=True):
    text: str | None


class Response(Struct, frozen=True, kw_only=True):
    """`id` is the client's own, whatever it is; left out if there was none."""

    id: Raw | UnsetType
    type: Literal["response"] = "response"
    command: str
    success: bool
    data: Any = UNSET
    error: str | UnsetType = UNSET
