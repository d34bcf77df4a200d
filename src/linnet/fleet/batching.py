"""Makes batches of what an agent decides: each a beginning of what is left, whole or not at all."""

from collections.abc import Sequence
from typing import TypeAlias, assert_never

from msgspec import Struct

from linnet.core.events import Event, JobStarted
from linnet.core.fleet.records import Answered, Batch, Effect, Entries, Row
from linnet.core.loop.opening import Opening
from linnet.eventlog.numbering import numbered
from linnet.eventlog.spelling import UNTOLD, Writer

MOST_BYTES = 256 * 1024  # In one record, about.
MOST_EVENTS = 4096
_SILENT = frozenset((JobStarted, *UNTOLD))
"""Kinds of events that no client is told of. That a prompt begins is written with the answer that says so."""
MARK = 512 * 1024  # Bytes after which a record begins with what an encoder has to skip.


class Happened(Struct, frozen=True):
    """Events, the first of which has this number."""

    first: int
    events: Sequence[Event]


class Made(Struct, frozen=True):
    """A session that is new."""

    key: str
    header: bytes
    lines: Sequence[bytes]


class Added(Struct, frozen=True):
    """A line of a session."""

    key: str
    line: bytes


class Begun(Struct, frozen=True):
    """A command that begins."""

    number: int


class Standing(Struct, frozen=True):
    """How the agent is now."""

    record: bytes
    working: bool


Item: TypeAlias = Happened | Answered | Made | Added | Begun | Standing | Effect


class Batching:
    """Invariant: `place` and `last` are those of the last record that was made."""

    def __init__(self, place: int, last: int, opening: Opening) -> None:
        """`opening` is what was told before, and belongs to this object from now on."""
        self.place = place
        self.last = last
        self._opening = opening
        self._writer = Writer()
        self._unmarked = MARK  # Bytes since the last mark: the first record of an owner has one.
        self._heads: dict[str, tuple[int, int]] = {}  # Epoch and head of each session that is written to.

    @property
    def opened(self) -> list[Event]:
        """Return what an encoder has to skip to go on after the last record."""
        return self._opening.kept

    def owns(self, key: str, epoch: int, head: int) -> None:
        """Take note that a session that was there before is ours."""
        self._heads[key] = epoch, head

    def batch(self, items: Sequence[Item], now: int) -> tuple[Batch, int]:
        """Return what is written next, and how many of the items that are. There has to be one."""
        count = _whole(items)
        row = self._row(items[:count], now)
        standing = [each for each in items[:count] if isinstance(each, Standing)]
        batch = Batch(
            row=row,
            entries=self._entries(items[:count]),
            begun=[each.number for each in items[:count] if isinstance(each, Begun)],
            effects=[each for each in items[:count] if isinstance(each, Effect)],
            record=standing[-1].record if standing else None,
            working=standing[-1].working if standing else None,
        )
        return batch, count

    def _row(self, items: Sequence[Item], now: int) -> Row:
        happened = [each for each in items if isinstance(each, Happened)]
        runs = [run for each in happened for run in numbered(each.events, each.first)]
        begins = any(isinstance(event, JobStarted) for each in happened for event in each.events)
        marked = bool(runs) and (begins or self._unmarked >= MARK)
        body = b""
        if marked:
            self._writer = Writer()
            opening = self._opening.kept
            body = self._writer.line(opening, 0, now) if opening else b""
        body += b"".join([self._writer.line(each.events, each.first, now) for each in runs])
        self._unmarked = len(body) if marked else self._unmarked + len(body)
        for each in happened:
            self._opening.apply(each.events)
        self.place += 1
        self.last = runs[-1].last if runs else self.last
        answers = tuple(each for each in items if isinstance(each, Answered))
        return Row(self.place, runs[0].first if runs else 0, self.last, body, marked, answers)

    def _entries(self, items: Sequence[Item]) -> list[Entries]:
        """Return what is added to each session, all of one session together."""
        headers: dict[str, bytes] = {}
        lines: dict[str, list[bytes]] = {}
        for item in items:
            match item:
                case Made(key, header, first):
                    headers[key], lines[key], self._heads[key] = header, list(first), (1, 0)
                case Added(key, line):
                    lines.setdefault(key, []).append(line)
                case Happened() | Answered() | Begun() | Standing() | Effect():
                    pass
                case _:
                    assert_never(item)
        entries: list[Entries] = []
        for key, added in lines.items():
            epoch, head = self._heads[key]
            entries.append(Entries(key, epoch, head, added, headers.get(key, b"")))
            self._heads[key] = epoch, head + len(added)
        return entries


def _whole(items: Sequence[Item]) -> int:
    """Return how many items fit into one record: events come before answers there."""
    events = size = 0
    answered = False
    for at, item in enumerate(items):
        if isinstance(item, Happened):
            events += len(item.events)
            speaks = answered and not _SILENT.issuperset(map(type, item.events))
            if at and (speaks or events > MOST_EVENTS or size > MOST_BYTES):
                return at
        elif isinstance(item, Answered):
            answered = True
            size += len(item.line)
        elif isinstance(item, Added):
            size += len(item.line)
    return len(items)
