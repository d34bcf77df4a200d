"""Events of one agent that are read from its files."""

from bisect import bisect_right
from collections.abc import Callable

from linnet.core.events import Event
from linnet.eventlog.followed import Numbered
from linnet.eventlog.segment import Reading, firsts
from linnet.eventlog.spelling import Unreadable

MOST_AT_ONCE = 1024  # Events, about: one who is far behind lets others have their turn.


class OlderFiles:
    """Reads a folder of files, which others write to and drop. One thread at a time calls."""

    def __init__(self, folder: str, readable: Callable[[int], int | None]) -> None:
        """`readable` returns how many bytes are whole lines of the file that begins with a number; None: all."""
        self._folder = folder
        self._readable = readable
        self._reading: Reading | None = None
        self._file = 0  # The number with which that file begins.
        self._position = 0  # The number of the event that was read last.
        self._pending: list[Numbered] = []  # Read, and not handed out.
        self.ended = False

    def begin(self, after: int) -> list[Event] | None:
        self._position = after
        try:
            return self._search()
        except (OSError, Unreadable):
            return None

    def go_on(self, after: int) -> bool:
        return self.begin(after) is not None

    def read(self) -> list[Numbered] | None:
        if self._pending:
            found, self._pending = self._pending, []
        else:
            try:
                more = self._more()
            except (OSError, Unreadable):
                return None
            if more is None:
                return None
            found = more
        if found:
            self._position = max(self._position, found[-1].last)
        return found

    def close(self) -> None:
        self._pending = []
        if self._reading is not None:
            self._reading.close()
            self._reading = None

    def _search(self) -> list[Event] | None:
        """Open the file with the event after `_position`, and return what comes before that in the file."""
        starts = firsts(self._folder)
        if not starts:
            return None
        start = starts[max(bisect_right(starts, self._position) - 1, 0)]
        reading = self._open(start)
        if self._position < start - 1 or (self._position < start and not reading.header.whole):
            return None
        skipped: list[Event] = []
        for batch in reading.batches(self._readable(start)):
            count = self._position - batch.first + 1 if batch.first else len(batch.events)
            skipped += batch.events[:count] if count > 0 and not batch.parent else ()
            if batch.first and batch.last > self._position:
                self._pending.append(batch)
                break
        return skipped

    def _more(self) -> list[Numbered] | None:
        """Return more of the file, or of those that follow it; None if one is missing between."""
        while self._reading is not None:
            # Asked before the file is read: if there is another, nothing will be added to this one.
            later = [start for start in firsts(self._folder) if start > self._file]
            found: list[Numbered] = []
            count = 0
            for batch in self._reading.batches(None if later else self._readable(self._file)):
                if batch.first:  # Or else it is what an encoder has to know, and ours does.
                    found.append(batch)
                    count += len(batch.events)
                if count >= MOST_AT_ONCE:
                    break
            if found:
                return found
            self.close()
            if not later:
                break
            header = self._open(later[0]).header
            if not header.whole or self._position < later[0] - 1:  # The file between both was dropped.
                return None
        self.ended = True
        return []

    def _open(self, start: int) -> Reading:
        self._reading, self._file = Reading(self._folder, start), start
        return self._reading
