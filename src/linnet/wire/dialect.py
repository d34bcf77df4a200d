"""What a protocol on the pipe is: a way to read commands, to answer them, and to tell what happens."""

from collections.abc import Iterable, Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Raw, Struct

from linnet.core.commands import Answer, Command
from linnet.core.events import Event
from linnet.errors import LinnetError
from linnet.wire.jsonl import Overlong

Buffers: TypeAlias = Sequence[bytes | bytearray]
"""Written as if they were one. A bytearray may change as soon as the next buffers are asked for."""

Moment: TypeAlias = Literal["accepted", "started", "finished"]


class Asked(Struct, frozen=True):
    """A command as it was sent. `id` is the client's own bytes, echoed as they came; empty if there was none."""

    id: Raw
    name: str
    command: Command


class Rejected(Struct, frozen=True):
    """A line that is no command. It is answered all the same."""

    id: Raw
    name: str
    reason: str


class Opened(Struct, frozen=True):
    """The session that a prompt from the command line is said in. `file` is where it is kept, if it is."""

    id: str
    timestamp: str
    cwd: str
    file: str | None


class Dialect(Protocol):
    @property
    def asks(self) -> bool:
        """Whether its clients can be asked something."""

    def decode(self, line: bytes | Overlong) -> Asked | Rejected:
        """Never raises."""

    def moment(self, command: Command) -> Moment:
        """Return when a command is answered that takes its time."""

    def answer(self, asked: Asked, answer: Answer) -> bytes:
        """Return the line that answers a command that succeeded; empty in a dialect that has no answers."""

    def refuse(self, asked: Asked | Rejected, reason: str) -> bytes:
        """Return the line that answers a command that was refused or failed."""

    def explain(self, error: LinnetError) -> str:
        """Return the reason for a refusal, in the words that the protocol's clients know."""

    def session(self, opened: Opened) -> bytes:
        """Return the line that comes before the events of a prompt from the command line; empty if there is none."""

    def encode(self, events: Sequence[Event]) -> Iterable[Buffers]:
        """Yield lines for what happened, made as they are asked for: a slow reader must not fill the memory."""
