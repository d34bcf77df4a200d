"""What a handler is told, one event after the other, in order, without holding up whoever tells it."""

from collections import deque
from collections.abc import Callable
from threading import Condition

from linnet.core.extensions.extension_events import Observed
from linnet.extensions.python.workers import Workers

ROOM = 1000  # So many events may wait; of those that may be left out, no more.


class Mailbox:
    """Invariant: `deliver` is called with each event in the order they came, one at a time."""

    def __init__(self, workers: Workers, deliver: Callable[[Observed], None]) -> None:
        """`deliver` never raises, and returns in time."""
        self._workers = workers
        self._deliver = deliver
        self._changed = Condition()
        self._waiting: deque[Observed] = deque()
        self._at_work = False

    def put(self, event: Observed) -> None:
        """Returns at once. Never raises."""
        with self._changed:
            if event.passing and len(self._waiting) >= ROOM:
                return
            self._waiting.append(event)
            if self._at_work:
                return
            self._at_work = True
        self._workers.begin(self._work)

    def wait(self, patience: float) -> None:
        """Until everything was delivered, or the time is over."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting and not self._at_work, patience)

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    self._at_work = False
                    self._changed.notify_all()
                    return
                event = self._waiting.popleft()
            self._deliver(event)
