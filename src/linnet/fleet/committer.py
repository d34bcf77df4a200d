"""Commits what an agent decides, in its order, in a thread that is there while something waits."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import islice
from threading import Condition, Lock
from typing import TYPE_CHECKING

from linnet.core.events import Event
from linnet.core.fleet.records import Batch, Claim
from linnet.core.loop.opening import Opening
from linnet.depot.depot import Depot
from linnet.errors import Closed, LinnetError, LogUnavailable, SessionError
from linnet.fleet.batching import Batching, Happened, Item
from linnet.runtime.error_report import as_error, hand_over

if TYPE_CHECKING:
    from linnet.core.cancel import Cancel

ROOM = 4096  # Items that wait, above which a run waits, too.
DELAYS = (0.05, 1.0)  # Seconds before what could not be committed is tried again: at first, and at most, doubling.
NEVER = 1 << 62  # What is never committed.
GONE = "this worker owns the agent no more"


class Committer:
    """Invariants: what is in the depot is a beginning of what was added. After a fault nothing is written any more.

    `_changed` guards the queue. It may be taken while the session's lock is held, and nothing else is taken under it.
    """

    def __init__(
        self,
        depot: Depot,
        claim: Claim,
        opening: Opening,
        clock: Callable[[], int],
        lost: Callable[[LinnetError], None],
    ) -> None:
        """`lost` is called once, in any thread, if somebody else owns the agent by now or it cannot go on."""
        self._depot = depot
        self._hold = claim.hold
        self._clock = clock
        self._lost = lost
        self._changed = Condition(Lock())
        self._items: deque[Item] = deque()
        self._batching = Batching(claim.place, claim.last, opening)
        self._head = claim.last
        self._added = 0
        self._committed = 0
        self._at_work = False
        self._sealed = False
        self._together = 0  # Who adds what belongs into one batch,
        self._awaited = 0  # and who waits for what they added, which must not wait for each other.
        self._fault: LinnetError | None = None
        self._record: bytes | None = None  # That was written last.

    @property
    def head(self) -> int:
        """Return the number of the last event that was added."""
        return self._head

    @property
    def opened(self) -> list[Event]:
        """Return what was open before anything was added. To be asked before that."""
        return self._batching.opened

    @property
    def is_behind(self) -> bool:
        return len(self._items) > ROOM

    def happened(self, events: Sequence[Event]) -> None:
        """Add these events, with the numbers that follow."""
        with self._changed:
            first, self._head = self._head + 1, self._head + len(events)
            self._add_locked(Happened(first, events))

    def add(self, *items: Item) -> int:
        """Add these, and return what to wait for. Never blocks, never raises."""
        with self._changed:
            for item in items:
                self._add_locked(item)
            return NEVER if self._sealed else self._added

    @contextmanager
    def together(self) -> Iterator[None]:
        """Have what is added within be in one batch, as far as it fits into one, unless somebody waits for some of it
        meanwhile.
        """
        with self._changed:
            self._together += 1
        try:
            yield
        finally:
            with self._changed:
                self._together -= 1
                self._changed.notify_all()

    def owns(self, key: str, epoch: int, head: int) -> None:
        """Take note that a session that was there before is ours. Nothing that waits may be for it."""
        with self._changed:
            self._batching.owns(key, epoch, head)

    def wait(self, upto: int, cancel: "Cancel | None" = None) -> None:
        """Wait until all up to there is committed, or an abort comes. Raises LinnetError if it will not be."""
        with nullcontext() if cancel is None else cancel.interrupting(self._notify), self._changed:
            self._awaited += 1
            self._changed.notify_all()
            self._changed.wait_for(
                lambda: (
                    upto == NEVER
                    or self._committed >= upto
                    or self._fault is not None
                    or (cancel is not None and cancel.is_set)
                )
            )
            self._awaited -= 1
            if upto == NEVER or (self._committed < upto and self._fault is not None):
                raise Closed(GONE) from self._fault

    def pace(self, cancel: "Cancel") -> None:
        """Wait until there is room for more, or an abort comes."""
        if self.is_behind:
            with cancel.interrupting(self._notify), self._changed:
                self._changed.wait_for(lambda: not self.is_behind or self._fault is not None or cancel.is_set)

    def seal(self) -> None:
        """Take nothing more: what was added by now is the end. Idempotent."""
        with self._changed:
            self._sealed = True
            self._changed.notify_all()

    def flush(self) -> None:
        """Wait until all is committed. Raises LinnetError if it will not be. Not in the thread that commits."""
        with self._changed:
            upto = self._added
        self.wait(upto)

    def abandon(self, error: LinnetError) -> None:
        """Write nothing any more. Idempotent."""
        with self._changed:
            self._stop_locked(error)

    def finish(self, error: LinnetError) -> bytes | None:
        """Write nothing any more, and return the record that was written last; None if none was. Blocks for as long as
        the depot takes for what is under way. Not in the thread that commits.
        """
        with self._changed:
            self._stop_locked(error)
            self._changed.wait_for(lambda: not self._at_work)
            return self._record

    def _add_locked(self, item: Item) -> None:
        if self._fault is not None or self._sealed:
            return
        self._items.append(item)
        self._added += 1
        if self._at_work:
            return
        self._at_work = True
        try:
            hand_over("linnet-commit", self._work)
        except LinnetError as error:
            self._stop_locked(error)

    def _stop_locked(self, error: LinnetError) -> bool:
        """Return whether this is the first reason to stop."""
        if self._fault is not None:
            return False
        self._fault = error
        self._items.clear()
        self._changed.notify_all()
        return True

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _work(self) -> None:
        while (items := self._next()) is not None:
            batch, count = self._batching.batch(items, self._clock())
            try:
                self._commit(batch)
            except Exception as fault:
                error = as_error(fault, "what an agent decided could not be committed")
                with self._changed:
                    is_first = self._stop_locked(error)
                if is_first:
                    self._lost(error)
                continue
            with self._changed:
                self._record = self._record if batch.record is None else batch.record
                if self._fault is None:
                    for _ in range(count):
                        self._items.popleft()
                self._committed += count
                self._changed.notify_all()

    def _next(self) -> list[Item] | None:
        """Return what waits, from the first on; None if nothing does, and then the thread ends."""
        with self._changed:
            self._changed.wait_for(lambda: not self._together or self._awaited or self._fault is not None)
            if not self._items or self._fault is not None:
                self._at_work = False
                self._changed.notify_all()
                return None
            return list(islice(self._items, ROOM))

    def _commit(self, batch: Batch) -> None:
        """Commit until it is known what became of it. Raises SessionError if it is refused."""
        delay, longest = DELAYS
        while True:
            try:
                self._depot.commit(self._hold, batch)
                return
            except LogUnavailable as error:
                with self._changed:
                    if self._changed.wait_for(lambda: self._fault is not None, delay):
                        raise SessionError(GONE) from error
            delay = min(delay * 2, longest)
