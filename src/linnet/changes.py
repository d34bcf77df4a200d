"""A condition variable that Ctrl-C may interrupt at any point.

`threading.Condition` does not survive that: an interrupt in its Python code leaves the lock taken, or released twice.
"""

import time
from collections.abc import Callable
from threading import Lock, RLock

SLICE = 0.5  # Nobody blocks for more seconds at a time: Python does not see a Ctrl-C that came just before it blocked.


class Changes:
    """A lock, and the news that something under it has changed.

    Invariant: whoever waits looks again after each `tell`. Everything that `ready` looks at is under `lock`.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        self._waiting: set[Lock] = set()

    def tell(self) -> None:
        """Wake whoever waits. Whoever calls this holds the lock."""
        while self._waiting:
            self._waiting.pop().release()

    def wait_for(self, ready: Callable[[], bool], seconds: float | None) -> bool:
        """Block until `ready`, which is called under the lock. Return whether that came to be within so many seconds.

        Whoever calls this does not hold the lock.
        """
        end = None if seconds is None else time.monotonic() + seconds
        waiting = Lock()
        try:
            while True:
                with self.lock:
                    if ready():
                        return True
                    waiting.acquire(blocking=False)  # `tell` releases it, and may just have done so too late.
                    self._waiting.add(waiting)
                left = SLICE if end is None else min(SLICE, end - time.monotonic())
                if left <= 0:
                    return False
                waiting.acquire(timeout=left)
        finally:
            with self.lock:
                self._waiting.discard(waiting)
