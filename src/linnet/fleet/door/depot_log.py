"""The events of an agent that runs elsewhere, as they come: a `Log` for those who follow it."""

from collections.abc import Callable
from threading import Lock

from linnet.core.events import Event
from linnet.core.fleet.records import Row
from linnet.core.loop.opening import Opening
from linnet.depot.depot import Depot
from linnet.eventlog.followed import Numbered
from linnet.eventlog.recent import Recent
from linnet.eventlog.spelling import Reader, Unreadable
from linnet.fleet.door.older_rows import OlderRows


class DepotLog:
    """Invariant: numbers only grow. One thread at a time calls `take`; any may call the rest.

    `_lock` guards all of it, and is held for a moment only.
    """

    def __init__(self, depot: Depot, agent: str) -> None:
        self._depot = depot
        self._agent = agent
        self._lock = Lock()
        self._reader = Reader()
        self._opening = Opening()
        self._recent = Recent()
        self._listeners: list[Callable[[], None]] = []
        self._told = 0
        self._place = -1  # Of the last record that was taken; -1 if none was.

    @property
    def head(self) -> int:
        return self._told

    @property
    def told(self) -> int:
        return self._told

    def take(self, row: Row) -> None:
        """Take the next record; the first one that is taken is marked, or the very first of all. Raises Unreadable."""
        with self._lock:
            if self._place >= 0 and row.place != self._place + 1:  # Some between were dropped before they were read.
                self._recent.clear()
                self._opening = Opening()
            elif self._place < 0 and not row.marked and row.place > 1:
                raise Unreadable("it does not begin with a mark")
            anew = self._place < 0 or row.place != self._place + 1
            if row.marked:
                self._reader = Reader()
            for line in row.body.splitlines(keepends=True):
                said, happened = self._reader.read(line)
                if said.n:
                    self._add(Numbered(said.n, happened, said.p))
                elif anew:
                    self._opening.apply(happened)
            self._place, self._told = row.place, max(self._told, row.last)
            listeners = self._listeners
        for tell in listeners:
            tell()

    def live(self) -> tuple[int, list[Event]]:
        with self._lock:
            return self._told, self._opening.kept

    def opening_after(self, number: int) -> list[Event] | None:
        with self._lock:
            return self._opening.kept if number == self._told else None

    def recent(self, after: int) -> list[Numbered] | None:
        with self._lock:
            if after >= self._told:
                return []
            return self._recent.since(after)

    def older(self, wake: Callable[[], None]) -> OlderRows:
        return OlderRows(self._depot, self._agent, wake)

    def listen(self, tell: Callable[[], None]) -> None:
        with self._lock:
            self._listeners = [*self._listeners, tell]

    def unlisten(self, tell: Callable[[], None]) -> None:
        with self._lock:
            self._listeners.remove(tell)

    def _add(self, batch: Numbered) -> None:
        if not batch.parent:
            self._opening.apply(batch.events)
        self._recent.add([batch])
