"""Events that are not in a door's memory any more, read from the depot for one reader."""

from collections.abc import Callable, Iterator
from time import sleep

from linnet.core.events import Event
from linnet.core.fleet.records import Row
from linnet.depot.depot import Depot
from linnet.errors import LinnetError, LogUnavailable
from linnet.eventlog.followed import Numbered
from linnet.eventlog.spelling import Reader, Unreadable
from linnet.runtime.error_report import hand_over

AT_ONCE = 16  # Records.


class OlderRows:
    """Reads ahead in a thread, so that whoever reads never waits for a database. `Older` says what the methods do."""

    def __init__(self, depot: Depot, agent: str, wake: Callable[[], None]) -> None:
        self._depot = depot
        self._agent = agent
        self._wake = wake
        self._reader = Reader()
        self._place = 0  # Of the last record that was read.
        self._position = 0  # The number of the event that was read last.
        self._pending: list[Numbered] = []
        self._fetching = False
        self._lost = False
        self._closed = False
        self.ended = False

    def begin(self, after: int) -> list[Event] | None:
        self._position = after
        try:
            return self._search()
        except Unreadable:
            return None

    def go_on(self, after: int) -> bool:
        self._position = after
        self._fetch(self._go_on)
        return True

    def read(self) -> list[Numbered] | None:
        if self._fetching:
            return []
        if self._pending:
            found, self._pending = self._pending, []
            self._position = max(self._position, found[-1].last)
            return found
        if self._lost:
            return None
        if not self.ended:
            self._fetch(self._more)
        return []

    def close(self) -> None:
        self._closed = True
        self._pending = []

    def _fetch(self, read: Callable[[], None]) -> None:
        def fetch() -> None:
            delay = 0.05
            while not self._closed:
                try:
                    read()
                    break
                except LogUnavailable:
                    sleep(delay)  # It is not lost, and whoever reads has time.
                    delay = min(delay * 2, 1.0)
                except LinnetError:
                    self._lost = True
                    break
            self._fetching = False
            if not self._closed:
                self._wake()

        self._fetching = True
        try:
            hand_over("linnet-older", fetch)
        except LinnetError:
            self._fetching, self._lost = False, True

    def _search(self) -> list[Event]:
        """Return what an encoder has to skip before the next event, and have what comes after it be pending. Raises
        LinnetError.
        """
        place = self._depot.marked(self._agent, self._position)
        if place is None:
            raise Unreadable("it is not kept any more")
        self._place = place - 1
        skipped: list[Event] = []
        first = True
        while not self._pending:
            rows = self._rows()
            if not rows:
                self.ended = True
                break
            for row in rows:
                for batch in self._batches(row):
                    if batch.first == 0:
                        skipped += batch.events if first else ()
                    elif batch.last <= self._position:
                        skipped += batch.events if not batch.parent else ()
                    else:
                        count = max(0, self._position - batch.first + 1)
                        skipped += batch.events[:count] if not batch.parent else ()
                        self._pending.append(batch)
                first = False
        return skipped

    def _go_on(self) -> None:
        self._search()

    def _more(self) -> None:
        rows = self._rows()
        self.ended = not rows
        for row in rows:
            self._pending += [batch for batch in self._batches(row) if batch.first]

    def _rows(self) -> list[Row]:
        """Return the next records. Raises Unreadable if some before them were dropped."""
        rows = self._depot.told(self._agent, self._place, AT_ONCE)
        if rows and rows[0].place != self._place + 1:
            raise Unreadable("it is not kept any more")
        self._place = rows[-1].place if rows else self._place
        return rows

    def _batches(self, row: Row) -> Iterator[Numbered]:
        if row.marked:
            self._reader = Reader()
        for line in row.body.splitlines(keepends=True):
            said, happened = self._reader.read(line)
            yield Numbered(said.n, happened, said.p)
