"""A queue of events for the handlers of one extension: delivered in order, without holding up whoever tells them."""

from collections import deque
from collections.abc import Callable
from threading import Condition

from linnet.core.extensions.extension_events import Observed
from linnet.extensions.python.workers import Workers

ROOM = 1000  # So many events may wait; of those that may be left out, no more.


class Mailbox:
    """Invariant: `deliver` is called with each event in the order they came, one at a time, in a worker's thread."""

    def __init__(self, workers: Workers, deliver: Callable[[Observed], None]) -> None:
        """`deliver` must never raise, and must return in time."""
        self._workers = workers
        self._deliver = deliver
        self._changed = Condition()
        self._waiting: deque[Observed] = deque()
        self._at_work = False  # Whether a thread is delivering, or about to.

    def put(self, event: Observed) -> None:
        """Take an event to be delivered; one that may be left out is dropped when many wait. Returns at once."""
        with self._changed:
            if event.passing and len(self._waiting) >= ROOM:
                return
            self._waiting.append(event)
            if self._at_work:
                return
            self._at_work = True
        self._workers.begin(self._work)

    def wait(self, patience: float) -> None:
        """Wait until everything was delivered, `patience` seconds at most."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting and not self._at_work, patience)

    def _work(self) -> None:
        """Deliver what waits until there is nothing. Runs in a worker's thread."""
        while True:
            with self._changed:
                if not self._waiting:
                    self._at_work = False
                    self._changed.notify_all()
                    return
                event = self._waiting.popleft()
            self._deliver(event)
