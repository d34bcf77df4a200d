"""What a depot keeps, and what is handed over with it. Pure."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

Kind: TypeAlias = Literal["line", "snapshot", "denies", "forget", "end_input", "abort"]
"""What a command in the inbox is: a line of a dialect; or what a door asks for itself: a snapshot, whether a call would
be denied, that the tools of a connection are forgotten, that a client sends nothing any more, that what runs is ended.
"""


class Hold(Struct, frozen=True):
    """That a worker owns an agent: every write names it, and one that is not the newest is refused."""

    agent: str
    epoch: int


class Asked(Struct, frozen=True, kw_only=True):
    """A command in an agent's inbox. What repeats the name of another one is that one."""

    client: str
    """Who asks: a client that named itself, or the id of a connection."""
    name: str
    """The client's name for it: a UUID of the door's, if the client gave none."""
    kind: Kind = "line"
    dialect: str = ""
    """The name of the one in which its line is read and answered."""
    role: Literal["drive", "watch"] = "drive"
    line: bytes = b""
    owner: str = ""
    """The connection that it came on: tools that it declares go when that goes."""
    digest: str = ""
    """What the line says, in short: the same name with another digest is refused."""


class Waiting(Struct, frozen=True):
    """A command that is not answered."""

    number: int
    """It grows with each command of the agent."""
    asked: Asked
    begun: int = 0
    """The epoch of the worker that began it; 0 if none did."""


class Answered(Struct, frozen=True):
    """The answer to a command, in its place in what the agent tells."""

    command: int
    """Its number; 0 for a mark that answers none: that the agent rests."""
    client: str
    name: str
    line: bytes
    busy: bool = False
    """Something runs or waits to run when this is answered."""


class Row(Struct, frozen=True):
    """One record of what an agent tells: events that follow each other, then answers to commands; each may be none."""

    place: int
    """Counts the records of an agent, from 1, without a gap."""
    first: int = 0
    """The number of the first event; 0 if there is none."""
    last: int = 0
    """The number of the last event, here or before."""
    body: bytes = b""
    """Lines as in a file of events (`eventlog.spelling`)."""
    marked: bool = False
    """The body begins with what an encoder has to skip; whoever reads may begin here."""
    answers: tuple[Answered, ...] = ()
    time: int = 0
    """When it was written, by the depot's clock, in milliseconds since 1970."""


class Entries(Struct, frozen=True):
    """Lines to add to a session, all or none, if it has exactly `head` of them and this owner's epoch is the newest."""

    key: str
    epoch: int
    head: int
    lines: Sequence[bytes]
    header: bytes = b""
    """Not empty for a session that is made: `head` and `epoch` are 0 and 1 then."""


class Effect(Struct, frozen=True):
    """A row of the ledger: a tool's call that begins, or that has ended."""

    call: str
    """The id of the call, made unique: with its session and the place of its reply."""
    tool: str
    state: Literal["begun", "done"]
    repeatable: bool = False
    """It may be run again after it began and nobody knows how it ended."""
    result: bytes = b""
    """The result, as JSON, once it is done."""
    epoch: int = 0


class Batch(Struct, frozen=True, kw_only=True):
    """Everything that an agent decided in one go, written as a whole or not at all. The place of its row is its own."""

    row: Row
    entries: Sequence[Entries] = ()
    begun: Sequence[int] = ()
    """Numbers of commands that begin."""
    effects: Sequence[Effect] = ()
    record: bytes | None = None
    """How the agent is now (`serve.agents.record`), if that changed."""
    working: bool | None = None
    """Whether a prompt or a compaction is open, if that changed: such an agent is taken up when its owner is gone."""


class Claim(Struct, frozen=True):
    """An agent that a worker was given, with all it has to know to go on."""

    hold: Hold
    record: bytes
    working: bool
    place: int
    """The place of the last record that it told."""
    last: int
    """The number of its last event."""
    lost: bool
    """Somebody owned it before and did not let go."""


class Shown(Struct, frozen=True):
    """An agent as a door shows it."""

    id: str
    record: bytes
    working: bool
    owner: str
    """The name of the worker that owns it; empty if none does."""
    last: int
    parked: str = ""
    """Why it is set aside: it has killed its workers too often."""
