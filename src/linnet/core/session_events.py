"""Events about a session as a whole: which one it is, what it was named, what it keeps; and what a compaction is."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from linnet.core.messages import Message, Summary, SystemMessage, Usage

Entered: TypeAlias = Literal["startup", "new", "resume", "branch", "clone"]


class Compaction(Struct, frozen=True):
    """The result of a compaction: the summary, and how much of the conversation it leaves as it was."""

    summary: Summary  # Stands for everything but the newest `kept` messages.
    kept: int
    first_kept: str  # The id of the first of them.
    read_files: tuple[str, ...]
    modified_files: tuple[str, ...]
    total: Usage
    system: SystemMessage | None = None
    """What the model was told before the conversation by then, all of it, where a session keeps that."""
    usage: Usage = Usage()
    """Tokens and money that the summary cost by itself."""
    tokens_after: int = 0
    """About how many tokens the conversation has after it."""
    by_extension: bool = False
    """An extension wrote the summary."""


class Past(Struct, frozen=True):
    """The earlier messages of a conversation that is gone on with, read when they are first needed."""

    ids: Sequence[str] = ()
    read: Callable[[], Sequence[tuple[str, Message]]] = tuple
    """Returns the ids with their messages. Called when somebody first wants to know."""
    last_compaction: Compaction | None = None
    compacted: bool = False  # Nothing was said since the last compaction.
    system_messages: int = 0  # So many of them are SystemMessage.


class Cleared(Struct, frozen=True):
    """The conversation is empty. A run that goes on works on what was there, and leaves no trace in the new one."""


class Navigated(Struct, frozen=True):
    """The conversation goes on from another entry of the same session."""

    leaf: str | None
    past: Past


class SessionEntered(Struct, frozen=True, kw_only=True):
    """The conversation goes on in this session."""

    session_id: str
    reason: Entered = "startup"
    file: str | None = None  # Where the session is kept; None if it is in memory only.
    past: Past = Past()
    spent: Usage = Usage()


class SessionNamed(Struct, frozen=True):
    name: str


class SessionFailed(Struct, frozen=True):
    """What was said last could not be saved. The conversation goes on unsaved."""

    path: str
    error: str


class StateKept(Struct, frozen=True):
    """An extension keeps this in the session, for itself: plain JSON."""

    owner: str
    data: Any


class FailureForgotten(Struct, frozen=True):
    """The last reply failed for want of room, and is left out of the conversation from here on."""


class EntryAppended(Struct, frozen=True):
    """The session has an entry that no other event shows to clients: what an extension keeps, or a change of what the
    model is shown.
    """

    line: bytes  # As in the session's file, without a line end.
