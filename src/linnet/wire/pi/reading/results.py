"""Types for the answers to commands as clients of pi read them, with the fields of every version of pi."""

from collections.abc import Iterator
from typing import Any

from msgspec import field

from linnet.wire.pi.reading.incoming_messages import Heard, Message, Permission


class Prices(Heard, frozen=True):
    input: float | None = 0
    output: float | None = 0
    cache_read: float | None = 0
    cache_write: float | None = 0
    tiers: list[dict[str, Any]] | None = None  # Other prices for longer requests.


class Model(Heard, frozen=True):
    id: str
    provider: str = ""
    name: str = ""
    api: str = ""
    base_url: str = ""
    reasoning: bool = False
    input: list[str] = field(default_factory=list)
    context_window: int = 0
    max_tokens: int = 0
    cost: Prices | None = None
    cost_known: bool = True
    type: str = ""  # `chat`, from pi since 1.0, as what follows.
    thinking_level_map: dict[str, str | None] | None = None  # The provider's words for levels; None for one it lacks.
    prompt_cache: dict[str, Any] | None = None
    input_limits: dict[str, Any] | None = None
    compat: dict[str, Any] | None = None


class Accepted(Heard, frozen=True):
    """What was said was accepted."""

    disposition: str | None = None
    """What became of it, told by pi since 1.0: `started`, `queued`, or `handled` by an extension, and then no run need
    follow.
    """


class WaitingFor(Heard, frozen=True):
    """A question that nobody has answered yet, with all that it takes to put it again. linnet's own."""

    id: str
    kind: str
    title: str = ""
    tool_call_id: str | None = None
    method: str | None = None
    message: str = ""
    options: list[str] = field(default_factory=list)
    placeholder: str | None = None
    prefill: str | None = None
    timeout: float | None = None
    permission: Permission | None = None
    tool_name: str | None = None
    args: dict[str, Any] | None = None


class State(Heard, frozen=True):
    model: Model | None = None
    thinking_level: str = ""
    is_streaming: bool = False
    is_compacting: bool = False
    steering_mode: str = ""
    follow_up_mode: str = ""
    session_file: str | None = None
    session_id: str = ""
    session_name: str | None = None
    session_error: str | None = None
    auto_compaction_enabled: bool = False
    message_count: int = 0
    pending_message_count: int = 0
    waiting_for: list[WaitingFor] = field(default_factory=list)


class Messages(Heard, frozen=True):
    messages: list[Message] = field(default_factory=list)


class CycledModel(Heard, frozen=True):
    model: Model
    thinking_level: str = ""
    is_scoped: bool = False


class Models(Heard, frozen=True):
    models: list[Model] = field(default_factory=list)


class Level(Heard, frozen=True):
    level: str


class Levels(Heard, frozen=True):
    levels: list[str] = field(default_factory=list)


class Queue(Heard, frozen=True):
    steering: list[str] = field(default_factory=list)
    follow_up: list[str] = field(default_factory=list)


class Moved(Heard, frozen=True):
    """Another session was begun or opened, unless that was `cancelled`."""

    cancelled: bool = False  # An extension called it off, here and below.
    warning: str | None = None  # linnet's own.


class Branched(Heard, frozen=True):
    text: str = ""  # The message that was branched from.
    cancelled: bool = False


class Navigated(Heard, frozen=True):
    leaf_id: str | None = None
    cancelled: bool = False


class BranchMessage(Heard, frozen=True):
    entry_id: str
    text: str = ""


class BranchMessages(Heard, frozen=True):
    messages: list[BranchMessage] = field(default_factory=list)


class TreeNode(Heard, frozen=True):
    id: str
    parent_id: str | None = None
    type: str = ""
    timestamp: str = ""
    role: str = ""
    text: str = ""
    label: str | None = None


class TreeBranch(Heard, frozen=True):
    """An entry as it stands in the file, and what follows it. As deep as the session is long: `Tree.walk` goes through
    it without recursion, which `==` and `repr` do not.
    """

    entry: dict[str, Any] = field(default_factory=dict)
    children: "list[TreeBranch]" = field(default_factory=list)
    label: str | None = None
    label_timestamp: str | None = None


class Tree(Heard, frozen=True):
    leaf_id: str | None = None
    nodes: list[TreeNode] = field(default_factory=list)  # Of linnet's dialect `pi`, in the order of the file.
    tree: list[TreeBranch] = field(default_factory=list)  # Of pi since 0.80, and of linnet in its words.

    def walk(self) -> Iterator[TreeBranch]:
        """Yield every entry of `tree`, each before those that follow it."""
        ahead = self.tree[::-1]
        while ahead:
            branch = ahead.pop()
            yield branch
            ahead += branch.children[::-1]


class Entries(Heard, frozen=True):
    entries: list[dict[str, Any]] = field(default_factory=list)  # As they stand in the file.
    leaf_id: str | None = None


class SessionItem(Heard, frozen=True):
    path: str
    id: str = ""
    name: str | None = None
    cwd: str = ""
    created: str = ""
    modified: str = ""
    message_count: int = 0
    first_message: str = ""
    provider: str = ""
    model_id: str = ""
    tokens: int = 0
    cost: float = 0
    cost_known: bool = True
    parent_session: str | None = None
    current: bool = False


class Sessions(Heard, frozen=True):
    sessions: list[SessionItem] = field(default_factory=list)


class Exported(Heard, frozen=True):
    path: str


class BashResult(Heard, frozen=True):
    output: str = ""
    exit_code: int | None = None  # None if the command was killed.
    cancelled: bool = False
    truncated: bool = False
    full_output_path: str | None = None


class Tokens(Heard, frozen=True):
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total: int = 0


class ContextUsage(Heard, frozen=True):
    tokens: float | None = None
    context_window: int = 0
    percent: float | None = None


class Stats(Heard, frozen=True):
    session_file: str | None = None
    session_id: str = ""
    user_messages: int = 0
    assistant_messages: int = 0
    tool_calls: int = 0
    tool_results: int = 0
    total_messages: int = 0
    tokens: Tokens = Tokens()
    cost: float = 0
    cost_known: bool = True
    context_usage: ContextUsage | None = None


class LastText(Heard, frozen=True):
    text: str | None = None


class SourceInfo(Heard, frozen=True):
    path: str = ""
    source: str = ""
    scope: str = ""
    origin: str = ""
    base_dir: str | None = None


class SlashCommand(Heard, frozen=True):
    name: str
    description: str | None = None
    source: str = ""
    location: str | None = None
    path: str | None = None
    argument_hint: str | None = None
    source_info: SourceInfo | None = None  # From pi since 0.70.


class SlashCommands(Heard, frozen=True):
    commands: list[SlashCommand] = field(default_factory=list)
