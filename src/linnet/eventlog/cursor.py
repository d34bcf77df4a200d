"""One reader of an agent's events: from the number that it saw last, at its own speed."""

from bisect import bisect_right
from collections.abc import Sequence

from msgspec import Struct

from linnet.core.events import Event
from linnet.eventlog.event_log import EventLog
from linnet.eventlog.segment import Numbered, Reading, firsts
from linnet.eventlog.spelling import Unreadable

MOST_AT_ONCE = 1024  # Events, about: one who is far behind lets others have their turn.


class Gap(Struct, frozen=True):
    """What came after this number cannot be told any more. Whoever hears it asks how things are, and goes on from now
    with `Cursor.join`.
    """

    after: int


class Cursor:
    """Invariant: whatever comes after `position` will be handed out, in order, or there will be a gap. One thread at a
    time may call.
    """

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self.position = 0
        """The number of the event that was handed out last."""
        self._reading: Reading | None = None
        self._file = 0  # The number with which that file begins.
        self._pending: list[Numbered] = []  # Read, and not handed out.
        self._later: list[Numbered] = []  # Taken, and put back.

    def join(self) -> list[Event]:
        """Go on with what comes from now on. Return what an encoder has to skip before."""
        self.close()
        self.position, opening = self._log.live()
        return opening

    def seek(self, after: int) -> list[Event] | Gap:
        """Go on after this number; 0 is the beginning. Return what an encoder has to skip before."""
        self.close()
        self.position = after
        opening = self._log.opening_after(after)
        if opening is not None:
            return opening
        return Gap(after) if after > self._log.head else self._search()

    def take(self, upto: int | None = None) -> list[Numbered] | Gap:
        """Return what comes next: nothing, if that is yet to happen. With `upto`, nothing that comes after that number:
        it stays for the next call.
        """
        before = self.position
        found = self._take()
        if upto is None or isinstance(found, Gap) or not found or found[-1].last <= upto:
            return found
        # What comes later was handed out too early: it is what comes next.
        early = [_until(batch, upto) for batch in found if batch.first <= upto]
        self._later = [_cropped(batch, upto) for batch in found if batch.last > upto]
        self.position = early[-1].last if early else before
        return early

    def _take(self) -> list[Numbered] | Gap:
        if self._later:
            later, self._later = self._later, []
            return self._handed(later)
        if self._reading is None:
            recent = self._log.recent(self.position)
            if recent is not None:
                return self._handed(recent)
            found = self._search()
            if isinstance(found, Gap):
                return found
        if self._pending:
            pending, self._pending = self._pending, []
            return self._handed(pending)
        try:
            return self._read()
        except (OSError, Unreadable):
            return self._lost()

    def close(self) -> None:
        """Let go of the file, if one is open. Idempotent."""
        self._pending, self._later = [], []
        if self._reading is not None:
            self._reading.close()
            self._reading = None

    def _search(self) -> list[Event] | Gap:
        """Open the file with the event after `position`, and return what comes before that in the file."""
        try:
            starts = firsts(self._log.folder)
            if not starts:
                return self._lost()
            start = starts[max(bisect_right(starts, self.position) - 1, 0)]
            reading = self._open(start)
            if self.position < start - 1 or (self.position < start and not reading.header.whole):
                return self._lost()
            skipped: list[Event] = []
            for batch in reading.batches(self._log.readable(start)):
                count = self.position - batch.first + 1 if batch.first else len(batch.events)
                skipped += batch.events[:count] if count > 0 and not batch.parent else ()
                if batch.first and batch.last > self.position:
                    self._pending.append(batch)
                    break
        except (OSError, Unreadable):
            return self._lost()
        return skipped

    def _read(self) -> list[Numbered] | Gap:
        """Return more of the file, or of those that follow it."""
        while self._reading is not None:
            # Asked before the file is read: if there is another, nothing will be added to this one.
            later = [start for start in firsts(self._log.folder) if start > self._file]
            found: list[Numbered] = []
            count = 0
            for batch in self._reading.batches(None if later else self._log.readable(self._file)):
                if batch.first:  # Or else it is what an encoder has to know, and ours does.
                    found.append(batch)
                    count += len(batch.events)
                if count >= MOST_AT_ONCE:
                    break
            if found:
                return self._handed(found)
            if not later:
                self.close()
                return []
            self.close()
            header = self._open(later[0]).header
            if not header.whole or self.position < later[0] - 1:  # The file between both was dropped.
                return self._lost()
        return []

    def _open(self, start: int) -> Reading:
        self._reading, self._file = Reading(self._log.folder, start), start
        return self._reading

    def _handed(self, batches: Sequence[Numbered]) -> list[Numbered]:
        """Take note that these are handed out, but for those that were before."""
        new = [_cropped(batch, self.position) for batch in batches if batch.last > self.position]
        if new:
            self.position = new[-1].last
        return new

    def _lost(self) -> Gap:
        self.close()
        return Gap(self.position)


def _cropped(batch: Numbered, after: int) -> Numbered:
    """Return what comes after this number."""
    if batch.first > after:
        return batch
    return Numbered(after + 1, batch.events[after + 1 - batch.first :], batch.parent)


def _until(batch: Numbered, upto: int) -> Numbered:
    """Return what comes up to this number."""
    if batch.last <= upto:
        return batch
    return Numbered(batch.first, batch.events[: upto + 1 - batch.first], batch.parent)
