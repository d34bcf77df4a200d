"""Types for the objects of the pi protocol that are put together as text, in `reply.py` and `nested_tree.py`: schemas
are made from these. And the first line of `--mode json`.
"""

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, UnsetType

from linnet.wire.pi.frames import AssistantMessage, Frame, ToolCall, Usage
from linnet.wire.pi.state import Plain


class Update(Frame, frozen=True):
    """A part of how a reply grows."""

    content_index: int
    """The place of the block in `content`."""


class TextStart(Update, frozen=True, tag="text_start", kw_only=True):
    """A block of text begins."""

    partial: AssistantMessage | UnsetType = UNSET
    """The message so far, where updates are told in full; here and below."""


class TextDelta(Update, frozen=True, tag="text_delta", kw_only=True):
    """The text goes on."""

    delta: str
    partial: AssistantMessage | UnsetType = UNSET


class TextEnd(Update, frozen=True, tag="text_end", kw_only=True):
    """The text is this."""

    content: str
    partial: AssistantMessage | UnsetType = UNSET


class ThinkingStart(Update, frozen=True, tag="thinking_start", kw_only=True):
    """A block of thinking begins."""

    partial: AssistantMessage | UnsetType = UNSET


class ThinkingDelta(Update, frozen=True, tag="thinking_delta", kw_only=True):
    """The thinking goes on."""

    delta: str
    partial: AssistantMessage | UnsetType = UNSET


class ThinkingEnd(Update, frozen=True, tag="thinking_end", kw_only=True):
    """The thinking is this."""

    content: str
    partial: AssistantMessage | UnsetType = UNSET


class ToolcallStart(Update, frozen=True, tag="toolcall_start", kw_only=True):
    """A call begins, without arguments yet."""

    id: str
    tool_name: str
    partial: AssistantMessage | UnsetType = UNSET


class ToolcallDelta(Update, frozen=True, tag="toolcall_delta", kw_only=True):
    """The JSON text of the arguments goes on."""

    delta: str
    partial: AssistantMessage | UnsetType = UNSET


class ToolcallEnd(Update, frozen=True, tag="toolcall_end", kw_only=True):
    """The call is this."""

    tool_call: ToolCall
    partial: AssistantMessage | UnsetType = UNSET


AssistantMessageEvent: TypeAlias = (
    TextStart
    | TextDelta
    | TextEnd
    | ThinkingStart
    | ThinkingDelta
    | ThinkingEnd
    | ToolcallStart
    | ToolcallDelta
    | ToolcallEnd
)


class MessageUpdate(Frame, frozen=True, tag="message_update", kw_only=True):
    """A reply grows."""

    assistant_message_event: AssistantMessageEvent
    usage: Usage
    """What the reply has used so far; zeros as long as the provider has not said."""
    message: AssistantMessage | UnsetType = UNSET
    """The message so far, where updates are told in full."""


class SessionHeader(Frame, frozen=True, tag="session", kw_only=True):
    """The session of a prompt from the command line: the first line of `--mode json`."""

    version: Literal[3]
    id: str
    timestamp: str
    cwd: str
    session_file: str | UnsetType = UNSET
    """An addition: where it is kept."""


class TreeBranch(Plain, frozen=True):
    """An entry, and those that follow it."""

    entry: dict[str, Any]
    """As it stands in the file."""
    children: "list[TreeBranch]"
    label: str | UnsetType = UNSET
    label_timestamp: str | UnsetType = UNSET


class NestedTreeData(Plain, frozen=True):
    """As deep as the session is long."""

    tree: list[TreeBranch]
    leaf_id: str | None
    """Where the conversation stands; null at its beginning."""
