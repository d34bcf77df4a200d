"""The token by which an abort interrupts threads that are blocked in a read, a wait or a sleep."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock

from linnet.errors import Cancelled
from linnet.logs import broke


class CancelToken:
    """A Cancel that any thread can set, once and for all.

    Invariant: once the first `set` has returned, the action of every body that was inside `interrupting` has been
    called, and no later body starts.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._flag = Event()
        self._actions: list[Callable[[], None]] = []

    @property
    def is_set(self) -> bool:
        return self._flag.is_set()

    def set(self) -> None:
        """Abort: wake those who `sleep`, and call each action of `interrupting` in this thread. Idempotent."""
        with self._lock:
            self._flag.set()
            actions, self._actions = self._actions, []
        for action in actions:  # Without the lock: an action may wait for a thread that is about to take it.
            try:
                action()
            except Exception:  # It may be anybody's. The others would block for ever, and whoever aborts would break.
                broke(__name__, "what was to interrupt something broke")

    def check(self) -> None:
        """Raise Cancelled if there was an abort."""
        if self._flag.is_set():
            raise Cancelled

    def sleep(self, seconds: float) -> None:
        """Wait so long. Raises Cancelled as soon as there is an abort."""
        if self._flag.wait(seconds):
            raise Cancelled

    @contextmanager
    def interrupting(self, action: Callable[[], None]) -> Iterator[None]:
        """Call `action` if an abort comes while the body runs. Raises Cancelled before, in or after the body if so.

        The action may still be running, or be about to, when the body has been left: it must bear that.
        """
        with self._lock:
            self.check()  # Under the lock, so that `set` either finds the action or is seen here.
            self._actions.append(action)
        try:
            yield
        except Exception:
            self.check()  # What an interrupted body raises is the abort's doing.
            raise
        finally:
            with self._lock:
                if action in self._actions:
                    self._actions.remove(action)
        self.check()
