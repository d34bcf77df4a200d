"""The interface of a dialect: one protocol's way to read commands, to answer them, and to tell what happens."""

from collections.abc import Iterable, Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Raw, Struct

from linnet.core.commands import Answer, Command
from linnet.core.events import Event
from linnet.errors import LinnetError
from linnet.wire.jsonl import Overlong

Buffers: TypeAlias = Sequence[bytes | bytearray]
"""Bytes that are written as if they were one. A bytearray may change as soon as the next buffers are asked for."""

Moment: TypeAlias = Literal["accepted", "heard", "started", "finished"]
"""When a command that takes its time is answered. `heard` is when it is accepted, and extensions that want to be asked
about a prompt were asked.
"""


class Asked(Struct, frozen=True):
    """A command as it was sent."""

    id: Raw
    """The client's own bytes, echoed as they came; empty if there was none."""
    name: str
    command: Command
    session: str = ""
    """Which session of the connection it is for. Protocols with one session for each connection leave it empty."""


class Rejected(Struct, frozen=True):
    """A line that is no command. It is answered all the same."""

    id: Raw
    name: str
    reason: str


class Opened(Struct, frozen=True):
    """The session that a prompt from the command line is said in."""

    id: str
    timestamp: str
    cwd: str
    file: str | None  # Where it is kept; None if it is in memory only.


class Encoder(Protocol):
    """Puts what happens in one session into lines, for one client that watches it.

    Invariant: what it prints is a function of the events since a mark (`core/loop/open_work.py`), and of what its
    client has set by then. Nothing is counted or made up here: ids and times come with the events. So a fresh encoder
    that has skipped the events since a mark prints what one would that was there all the time. And of the pieces of
    replies each has one line, or none of that kind has: so a line's place says which piece it is.
    """

    def encode(self, events: Sequence[Event]) -> Iterable[Buffers]:
        """Yield the lines of these events, each made when it is asked for: a slow reader must not fill the memory."""

    def skip(self, events: Iterable[Event]) -> None:
        """Take in these events without a line: the client has been told of them before."""


class Dialect(Protocol):
    """The protocol that one client speaks. It remembers what the client has set, and nothing that happens."""

    @property
    def name(self) -> str:
        """Return what it is called on a command line."""

    @property
    def asks(self) -> bool:
        """Return whether its clients can be asked something."""

    @property
    def finishes(self) -> bool:
        """Return whether what was asked for is finished when the client's input has ended. If not, it is cut short."""

    def decode(self, line: bytes | Overlong) -> Asked | Rejected:
        """Return the command in a line, or why there is none. Never raises."""

    def moment(self, command: Command) -> Moment:
        """Return when a command that takes its time is answered."""

    def answer(self, asked: Asked, answer: Answer) -> bytes:
        """Return the line that answers a command that succeeded; empty in a dialect that has no answers."""

    def heed(self, asked: Asked) -> None:
        """Take over what a command that succeeded sets about how its client is told things. Called where its answer
        stands among the lines: those that are made from then on go by it.
        """

    def refuse(self, asked: Asked | Rejected, reason: str, code: str = "") -> bytes:
        """Return the line that answers a command that was refused or failed; `code` is one word for programs, where
        there is one.
        """

    def explain(self, error: LinnetError) -> str:
        """Return the reason for a refusal, in the words that the protocol's clients know."""

    def session(self, opened: Opened) -> bytes:
        """Return the line that comes before the events of a prompt from the command line; empty if there is none."""

    def warm(self) -> None:
        """Import what the first prompt will need and the first answer does not."""

    def encoder(self, session: str = "") -> Encoder:
        """Return a fresh encoder, for a session that the client watches from now on and calls by this name."""
