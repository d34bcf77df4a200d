"""What an agent tells of a session, as types: one for each kind of `session/update`, and what they are made of."""

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import asdict

Kind: TypeAlias = Literal["read", "edit", "search", "execute", "other"]
Status: TypeAlias = Literal["pending", "in_progress", "completed", "failed"]


class Frame(Struct, frozen=True, rename="camel", omit_defaults=True):
    pass


class TextBlock(Frame, frozen=True, tag_field="type", tag="text"):
    text: str


class ImageBlock(Frame, frozen=True, tag_field="type", tag="image"):
    data: str
    mime_type: str


class Link(Frame, frozen=True, tag_field="type", tag="resource_link"):
    uri: str
    name: str


Block: TypeAlias = TextBlock | ImageBlock | Link


class Content(Frame, frozen=True, tag_field="type", tag="content"):
    content: Block


class Diff(Frame, frozen=True, tag_field="type", tag="diff"):
    path: str
    new_text: str
    old_text: str | UnsetType | None = UNSET  # None: the file is new.


class Terminal(Frame, frozen=True, tag_field="type", tag="terminal"):
    terminal_id: str


CallContent: TypeAlias = Content | Diff | Terminal


class Location(Frame, frozen=True):
    path: str
    line: int | UnsetType = UNSET


class _Update(Frame, frozen=True, tag_field="sessionUpdate"):
    pass


class UserChunk(_Update, frozen=True, tag="user_message_chunk"):
    content: Block
    message_id: str = ""


class AgentChunk(_Update, frozen=True, tag="agent_message_chunk"):
    content: Block
    message_id: str = ""


class ThoughtChunk(_Update, frozen=True, tag="agent_thought_chunk"):
    content: Block
    message_id: str = ""


class CallFields(Frame, frozen=True, kw_only=True):
    """What a call is shown as, also where somebody is asked about it."""

    tool_call_id: str
    title: str | UnsetType = UNSET
    kind: Kind | UnsetType = UNSET
    status: Status | UnsetType = UNSET
    content: list[CallContent] | UnsetType = UNSET
    locations: list[Location] | UnsetType = UNSET
    raw_input: Any = UNSET
    raw_output: Any = UNSET
    meta: dict[str, Any] | UnsetType = field(default=UNSET, name="_meta")


class Call(CallFields, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="tool_call"):
    pass


class CallUpdate(CallFields, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="tool_call_update"):
    pass


def called(fields: CallFields) -> Call:
    """Return what tells of a call that is new."""
    return Call(**_set(fields))


def changed(fields: CallFields) -> CallUpdate:
    """Return what tells of a call that was told of before."""
    return CallUpdate(**_set(fields))


def _set(fields: CallFields) -> dict[str, Any]:
    return {name: value for name, value in asdict(fields).items() if not isinstance(value, UnsetType)}


class Hint(Frame, frozen=True):
    hint: str


class Command(Frame, frozen=True):
    name: str
    description: str
    input: Hint | UnsetType = UNSET


class Commands(_Update, frozen=True, tag="available_commands_update"):
    available_commands: list[Command]


class ModeUpdate(_Update, frozen=True, tag="current_mode_update"):
    current_mode_id: str


class Mode(Frame, frozen=True):
    id: str
    name: str
    description: str


class Modes(Frame, frozen=True):
    current_mode_id: str
    available_modes: list[Mode]


class Choice(Frame, frozen=True):
    value: str
    name: str
    description: str | UnsetType = UNSET


class Option(Frame, frozen=True, tag_field="type", tag="select"):
    id: str
    name: str
    category: str
    current_value: str
    options: list[Choice]
    description: str | UnsetType = UNSET


class OptionUpdate(_Update, frozen=True, tag="config_option_update"):
    config_options: list[Option]


class SessionUpdate(_Update, frozen=True, tag="session_info_update"):
    title: str | UnsetType = UNSET
    updated_at: str | UnsetType = UNSET


class Cost(Struct, frozen=True):
    amount: float
    currency: str


class UsageUpdate(Struct, frozen=True, tag_field="sessionUpdate", tag="usage_update"):
    used: int
    size: int
    cost: Cost | UnsetType = UNSET


class Notice(_Update, frozen=True, tag="notice"):
    severity: Literal["info", "warning", "error"]
    title: str


class CompactionUpdate(_Update, frozen=True, tag="compaction_update"):
    compaction_id: str
    status: Literal["in_progress", "completed", "failed", "cancelled"]
    error: str | UnsetType = UNSET


Update: TypeAlias = (
    UserChunk
    | AgentChunk
    | ThoughtChunk
    | Call
    | CallUpdate
    | Commands
    | ModeUpdate
    | OptionUpdate
    | SessionUpdate
    | UsageUpdate
    | Notice
    | CompactionUpdate
)


class Told(Frame, frozen=True):
    """The parameters of `session/update`."""

    session_id: str
    update: Update
