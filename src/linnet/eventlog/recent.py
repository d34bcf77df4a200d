"""The last events of an agent, in memory, for those who keep up."""

from collections import deque
from collections.abc import Iterable

from linnet.eventlog.followed import Numbered

MOST = 4096  # Events.


class Recent:
    """Not safe for several threads: whoever has it has a lock."""

    def __init__(self) -> None:
        self._batches: deque[Numbered] = deque()
        self._events = 0

    def add(self, batches: Iterable[Numbered]) -> None:
        for batch in batches:
            self._batches.append(batch)
            self._events += len(batch.events)
        while self._events > MOST and len(self._batches) > 1:
            self._events -= len(self._batches.popleft().events)

    def clear(self) -> None:
        self._batches.clear()
        self._events = 0

    def since(self, after: int) -> list[Numbered] | None:
        """Return what came after this number, if all of that is here; None if it is not. Something did come."""
        if not self._batches or after < self._batches[0].first - 1:
            return None
        found: list[Numbered] = []
        for batch in reversed(self._batches):
            if batch.last <= after:
                break
            found.append(batch)
        return found[::-1]
