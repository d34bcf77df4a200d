"""Something to be done in a thread whenever there may be a reason, and once more if another one came meanwhile."""

from collections.abc import Callable
from threading import Lock

from linnet.errors import LinnetError
from linnet.runtime.error_report import hand_over


class Poked:
    """Invariant: after each poke there is a whole look, and no two looks at once."""

    def __init__(self, name: str, look: Callable[[], None]) -> None:
        """`name` is that of the thread, which is there while it looks. `look` must not raise."""
        self._name = name
        self._look = look
        self._lock = Lock()  # Guards what follows.
        self._poked = False
        self._at_work = False
        self._stopped = False

    @property
    def at_work(self) -> bool:
        return self._at_work

    @property
    def stopped(self) -> bool:
        return self._stopped

    def poke(self) -> None:
        """Have it looked. Never blocks."""
        with self._lock:
            self._poked = True
            if self._at_work or self._stopped:
                return
            self._at_work = True
        try:
            hand_over(self._name, self._run)
        except LinnetError:  # Whoever polls comes again.
            with self._lock:
                self._at_work = False

    def stop(self) -> None:
        """Begin no look any more. Never blocks."""
        self._stopped = True

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._poked or self._stopped:
                    self._at_work = False
                    return
                self._poked = False
            self._look()
