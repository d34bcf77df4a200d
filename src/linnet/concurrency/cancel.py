"""How an abort reaches a thread that is blocked in a read, a wait or a sleep."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock

from linnet.errors import Cancelled
from linnet.logs import broke


class CancelToken:
    """Invariant: once set, every blocked body has been interrupted, and no later one starts."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._flag = Event()
        self._actions: list[Callable[[], None]] = []

    @property
    def is_set(self) -> bool:
        return self._flag.is_set()

    def set(self) -> None:
        with self._lock:
            self._flag.set()
            actions, self._actions = self._actions, []
        for action in actions:
            try:
                action()
            except Exception:  # It may be anybody's. The others would block for ever, and whoever aborts would break.
                broke(__name__, "what was to interrupt something broke")

    def check(self) -> None:
        if self._flag.is_set():
            raise Cancelled

    def sleep(self, seconds: float) -> None:
        if self._flag.wait(seconds):
            raise Cancelled

    @contextmanager
    def interrupting(self, action: Callable[[], None]) -> Iterator[None]:
        with self._lock:
            self.check()
            self._actions.append(action)
        try:
            yield
        except Exception:
            self.check()
            raise
        finally:
            with self._lock:
                if action in self._actions:
                    self._actions.remove(action)
        self.check()
