"""What can happen to what a depot keeps. A store does each of them with one statement, and those of one decision in one
transaction.
"""

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from linnet.core.fleet.records import Answered, Asked, Effect, Row


class Added(Struct, frozen=True):
    agent: str
    record: bytes
    labels: frozenset[str]


class Removed(Struct, frozen=True):
    agent: str


class Queued(Struct, frozen=True):
    agent: str
    number: int
    asked: Asked


class Taken(Struct, frozen=True):
    """A worker owns it from now on, and whoever did before is refused."""

    agent: str
    epoch: int
    worker: str
    request: str
    """Which request of the worker's it was given to: that one, repeated, is given it again."""
    until: int
    lost: bool
    losses: int


class Extended(Struct, frozen=True):
    agent: str
    until: int


class LetGo(Struct, frozen=True):
    agent: str
    record: bytes


class SetAside(Struct, frozen=True):
    """Nobody owns it from now on, and whoever did is refused."""

    agent: str
    epoch: int
    why: str


class Told(Struct, frozen=True):
    agent: str
    epoch: int
    row: Row
    before: int
    """The number of the last event before it."""

    @property
    def size(self) -> int:
        """Return how many bytes of what is kept are this record's."""
        return len(self.row.body) + sum(len(each.line) for each in self.row.answers)


class Begun(Struct, frozen=True):
    agent: str
    epoch: int
    number: int


class Answer(Struct, frozen=True):
    agent: str
    place: int
    answered: Answered


class Noted(Struct, frozen=True):
    """A row of the ledger is there, or is as this says."""

    agent: str
    place: int
    effect: Effect


class Became(Struct, frozen=True):
    agent: str
    record: bytes
    working: bool


class Moved(Struct, frozen=True):
    """Something was done that nobody does again; if it is `done`, it was more than said."""

    agent: str
    done: bool


class Forgotten(Struct, frozen=True):
    """Records before this place are not kept any more, nor the answers and effects that were written with them."""

    agent: str
    before: int


class Made(Struct, frozen=True):
    key: str
    header: bytes
    lines: Sequence[bytes]


class Opened(Struct, frozen=True):
    """Somebody else owns the session from now on."""

    key: str
    epoch: int


class Grew(Struct, frozen=True):
    key: str
    lines: Sequence[bytes]


class Discarded(Struct, frozen=True):
    key: str


Change: TypeAlias = (
    Added
    | Removed
    | Queued
    | Taken
    | Extended
    | LetGo
    | SetAside
    | Told
    | Begun
    | Answer
    | Noted
    | Became
    | Moved
    | Forgotten
    | Made
    | Opened
    | Grew
    | Discarded
)
