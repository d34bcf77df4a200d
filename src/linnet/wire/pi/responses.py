"""Types for every answer of the pi protocol that linnet gives, with their fields in the order they are printed in.

An addition is something that pi itself does not print.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import UNSET, Raw, UnsetType

from linnet.wire.pi.frames import Message
from linnet.wire.pi.state import Model, Plain


class MessagesData(Plain, frozen=True):
    messages: list[Message]


class CycleModelData(Plain, frozen=True):
    model: Model
    thinking_level: str
    is_scoped: bool


class ModelsData(Plain, frozen=True):
    models: list[Model]


class LevelsData(Plain, frozen=True):
    levels: Sequence[str]


class LevelData(Plain, frozen=True):
    level: str


class CancelledData(Plain, frozen=True):
    cancelled: bool
    warning: str | UnsetType = UNSET  # An addition: the session's model cannot be used here, say.


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
    cost_known: Literal[False] | UnsetType = UNSET


class SessionsData(Plain, frozen=True):
    sessions: list[SessionItem]


class SlashSource(Plain, frozen=True):
    path: str
    source: str
    scope: str
    origin: str = "top-level"
    base_dir: str | UnsetType = UNSET


class SlashItem(Plain, frozen=True):
    name: str
    description: str | UnsetType
    source: str
    location: str
    path: str | UnsetType
    source_info: SlashSource
    argument_hint: str | UnsetType = UNSET


class CommandsData(Plain, frozen=True):
    commands: list[SlashItem]


class PathData(Plain, frozen=True):
    path: str


class DispositionData(Plain, frozen=True):
    disposition: Literal["started", "queued", "handled"]


class QueueData(Plain, frozen=True):
    steering: list[str]
    follow_up: list[str]


class BashData(Plain, frozen=True):
    output: str
    exit_code: int | UnsetType | None
    cancelled: bool
    truncated: bool
    full_output_path: str | UnsetType = UNSET


class Tokens(Plain, frozen=True):
    input: int
    output: int
    cache_read: int
    cache_write: int
    total: int


class ContextUsage(Plain, frozen=True):
    tokens: int | None
    context_window: int
    percent: float | None


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
    cost_known: Literal[False] | UnsetType = UNSET
    context_usage: ContextUsage | UnsetType = UNSET


class TextData(Plain, frozen=True):
    text: str | None
