"""Python's garbage collector in a process that has many agents.

A pass over everything stops all threads, for 115 ms where 1,000 agents are awake, and by itself it comes at any moment,
such as that at which many begin to work. So what has survived is looked at in portions while agents work, and as a
whole when none does.
"""

import gc
from collections.abc import Callable
from threading import Event, Thread

from linnet.runtime.error_report import start

EVERY = 0.5  # Seconds between two looks: what is made in that time is a portion.
PASSES = 10  # Over what is new, before what survived them is looked at: Python's own number.
WORTH = 1.25  # How many times what was there after the last whole pass must be there for the next one,
OVERDUE = 3.0  # and for one although agents work.
NEVER = 2**31 - 1


class GarbageCollection:
    """Invariant: the collector never looks at everything by itself. For a process that is linnet's own."""

    def __init__(self, is_quiet: Callable[[], bool]) -> None:
        """`is_quiet` says whether no agent works, so that a pause is in nobody's way."""
        self._is_quiet = is_quiet
        self._stopping = Event()
        self._whole = 0  # Objects that were left by the last pass over everything.

    def begin(self) -> None:
        """Turn the collector on, and begin to look. Raises LinnetError if the system gives no thread."""
        gc.freeze()  # What is loaded by now stays.
        gc.set_threshold(*gc.get_threshold()[:2], NEVER)
        gc.enable()
        self._whole = gc.get_freeze_count()
        start(Thread(target=self._run, name="linnet-garbage", daemon=True))

    def stop(self) -> None:
        """Look no more."""
        self._stopping.set()

    def look(self) -> None:
        """Collect what is garbage of what came since the last look, if that is worth it; of everything, if that is."""
        if gc.get_count()[2] < PASSES:
            return
        grown = gc.get_freeze_count() / max(self._whole, 1)
        whole = grown > OVERDUE or (grown > WORTH and self._is_quiet())
        if whole:
            gc.unfreeze()
        gc.collect()
        gc.freeze()
        if whole:
            self._whole = gc.get_freeze_count()

    def _run(self) -> None:
        while not self._stopping.wait(EVERY):
            self.look()
