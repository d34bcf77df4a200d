"""One reader of an agent's events: from the number that it saw last, at its own speed."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from linnet.core.events import Event
from linnet.eventlog.followed import Log, Numbered, Older


class Gap(Struct, frozen=True):
    """What came after this number cannot be told any more. Whoever hears it asks how things are, and goes on from now
    with `Cursor.join`.
    """

    after: int


class Cursor:
    """Invariant: whatever comes after `position` will be handed out, in order, or there will be a gap. One thread at a
    time may call.
    """

    def __init__(self, log: Log, wake: Callable[[], None] = lambda: None) -> None:
        """`wake` is called in any thread when there is more of what is not in memory; the log tells of what is new."""
        self._log = log
        self._wake = wake
        self.position = 0
        """The number of the event that was handed out last."""
        self._older: Older | None = None
        self._later: list[Numbered] = []  # Taken, and put back.

    def join(self) -> list[Event]:
        """Go on with what comes from now on. Return what an encoder has to skip before."""
        self.close()
        self.position, opening = self._log.live()
        return opening

    def seek(self, after: int) -> list[Event] | Gap:
        """Go on after this number; 0 is the beginning. Return what an encoder has to skip before. May wait for it."""
        self.close()
        self.position = after
        opening = self._log.opening_after(after)
        if opening is not None:
            return opening
        if after > self._log.head:
            return Gap(after)
        self._older = self._log.older(self._wake)
        skipped = self._older.begin(after)
        return self._lost() if skipped is None else skipped

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

    @property
    def waits(self) -> bool:
        """Return whether there is more that is not at hand yet."""
        return self._older is not None

    def close(self) -> None:
        """Let go of what is read from, if anything is. Idempotent."""
        self._later = []
        if self._older is not None:
            self._older.close()
            self._older = None

    def _take(self) -> list[Numbered] | Gap:
        if self._later:
            later, self._later = self._later, []
            return self._handed(later)
        if self._older is None:
            recent = self._log.recent(self.position)
            if recent is not None:
                return self._handed(recent)
            self._older = self._log.older(self._wake)
            if not self._older.go_on(self.position):
                return self._lost()
        return self._read(self._older)

    def _read(self, older: Older) -> list[Numbered] | Gap:
        while (found := older.read()) is not None:
            if new := self._handed(found):
                return new
            if older.ended:
                self.close()
                return self._take()  # What was read had come by then, and more may have.
            if not found:
                return []
        return self._lost()

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
