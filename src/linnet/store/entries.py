"""Types for the entries of a session file: one for each type as the file spells it, and one for what each means.

Those of the file form a union that is tagged by `type`. Their fields have the names and the order of pi's, so that pi
can read what linnet wrote and the other way round. `lines.py` makes one of the other.
"""

from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeAlias, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType

from linnet.core import messages
from linnet.core.events import Compaction
from linnet.wire.pi.from_pi import Spelled, SpelledContent, SpelledUsage

MOVED = "linnet.moved"
RAN = "linnet.ran"
SPENT = "linnet.spent"

Spelling = TypeVar("Spelling")  # Any version's when it is read, today's when it is written.
_Filled: TypeAlias = Annotated[str, Meta(min_length=1)]


class _OnDisk(Struct, frozen=True, kw_only=True, tag_field="type", rename="camel", gc=False):
    """What every entry has."""

    id: str = ""
    parent_id: str | None = None
    timestamp: Any = ""  # A string, but one that is not must not spoil what else an entry says.


class MessageEntry(_OnDisk, Generic[Spelling], frozen=True, kw_only=True, tag="message"):
    message: Spelling


class CompactionEntry(_OnDisk, Generic[Spelling], frozen=True, kw_only=True, tag="compaction"):
    summary: str = ""
    first_kept_entry_id: str = ""
    tokens_before: float = 0
    details: Any = None  # The files that were worked on, unless an extension of pi's wrote the entry.
    usage: Spelling | None = None
    from_hook: bool | UnsetType = UNSET
    system_message: Any = UNSET


class Replacement(Struct, frozen=True, gc=False):
    content: SpelledContent


class ContextEditEntry(_OnDisk, frozen=True, kw_only=True, tag="context_edit"):
    target_id: _Filled
    replacement: Replacement | None


class UsageEntry(_OnDisk, Generic[Spelling], frozen=True, kw_only=True, tag="usage"):
    kind: str = ""
    provider: str = ""
    model: str = ""
    usage: Spelling | None = None
    note: str | UnsetType = UNSET


class BranchSummaryEntry(_OnDisk, frozen=True, kw_only=True, tag="branch_summary"):
    summary: str = ""
    from_id: str = ""


class CustomMessageEntry(_OnDisk, Generic[Spelling], frozen=True, kw_only=True, tag="custom_message"):
    custom_type: str = ""
    content: Spelling | UnsetType = UNSET
    display: bool = True
    details: Any = UNSET


class ModelChangeEntry(_OnDisk, frozen=True, kw_only=True, tag="model_change"):
    provider: _Filled
    model_id: _Filled


class ThinkingLevelChangeEntry(_OnDisk, frozen=True, kw_only=True, tag="thinking_level_change"):
    thinking_level: _Filled


class SessionInfoEntry(_OnDisk, frozen=True, kw_only=True, tag="session_info"):
    name: str | None = None


class LabelEntry(_OnDisk, frozen=True, kw_only=True, tag="label"):
    target_id: str = ""
    label: str | UnsetType | None = UNSET


class CustomEntry(_OnDisk, Generic[Spelling], frozen=True, kw_only=True, tag="custom"):
    custom_type: str = ""
    data: Any = UNSET
    usage: Spelling | UnsetType | None = UNSET


ReadEntry: TypeAlias = (
    MessageEntry[Spelled]
    | CompactionEntry[SpelledUsage]
    | ContextEditEntry
    | UsageEntry[SpelledUsage]
    | BranchSummaryEntry
    | CustomMessageEntry[SpelledContent]
    | ModelChangeEntry
    | ThinkingLevelChangeEntry
    | SessionInfoEntry
    | LabelEntry
    | CustomEntry[SpelledUsage]
)
if TYPE_CHECKING:
    from linnet.wire.pi import frames

    WrittenEntry: TypeAlias = (
        MessageEntry[frames.Message]
        | CompactionEntry[frames.Usage]
        | ContextEditEntry
        | UsageEntry[frames.Usage]
        | BranchSummaryEntry
        | CustomMessageEntry[list[frames.UserBlock]]
        | ModelChangeEntry
        | ThinkingLevelChangeEntry
        | SessionInfoEntry
        | LabelEntry
        | CustomEntry[frames.Usage]
    )


class Said(Struct, frozen=True):
    """Something that belongs to the conversation: a message, a summary of a branch, or a note of an extension."""

    message: messages.Message


class Compacted(Struct, frozen=True):
    result: Compaction


class Edited(Struct, frozen=True):
    """From here on the model is not shown an earlier entry as it was."""

    target: str
    content: SpelledContent | None = None  # What it is shown instead; None if the entry is left out.


class ModelChanged(Struct, frozen=True):
    provider: str
    model: str


class ThinkingChanged(Struct, frozen=True):
    level: str


class Named(Struct, frozen=True):
    """The session got a name."""

    name: str  # An empty one takes the name away.


class Labelled(Struct, frozen=True):
    """Another entry got a bookmark."""

    target: str
    label: str  # An empty one takes the bookmark away.


class Moved(Struct, frozen=True):
    """The conversation went on from the parent of this entry. A custom entry of linnet's."""


class Ran(Struct, frozen=True):
    """A command ended while the agent was at work, and a later entry adds it to the conversation. A custom entry of
    linnet's: if the process ends before that, the command is not lost.
    """

    run: messages.BashRun


class Spent(Struct, frozen=True):
    """Something was paid for whose messages are not stored. In the format of 0.73 a custom entry of linnet's."""

    usage: messages.Usage
    kind: str = ""  # What for, in a word. The others are not known, either, where 0.73 is written.
    provider: str = ""
    model: str = ""


class Custom(Struct, frozen=True):
    """An extension stores something for itself."""

    kind: str
    data: Any
    usage: messages.Usage | None = None  # What the extension paid for it.


class Unknown(Struct, frozen=True):
    """An entry of a later version, or one that cannot be understood. Its line stays in the file as it is."""


Content: TypeAlias = (
    Said
    | Compacted
    | Edited
    | ModelChanged
    | ThinkingChanged
    | Named
    | Labelled
    | Moved
    | Ran
    | Spent
    | Custom
    | Unknown
)


class Entry(Struct, frozen=True):
    """An entry of a session."""

    id: str
    parent: str | None
    time: str
    type: str  # As the file calls it.
    content: Content
    line: bytes  # What the file says, without its line end.
