"""Tells listeners which agents have changed, in a thread of its own: whoever changes something waits for nobody."""

from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock, Thread


class Hints:
    """Invariant: there is a thread while there are listeners."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._listeners: list[Callable[[str], None]] = []
        self._queue: SimpleQueue[str | None] | None = None

    def give(self, agent: str) -> None:
        """Have everybody told of this agent, soon."""
        with self._lock:
            if self._queue is not None:
                self._queue.put(agent)

    def listen(self, tell: Callable[[str], None]) -> Callable[[], None]:
        """Have this function called with the ids, until what is returned is called. It must not raise."""
        with self._lock:
            self._listeners = [*self._listeners, tell]
            if self._queue is None:
                self._queue = SimpleQueue()
                Thread(target=self._tell, args=(self._queue,), name="linnet-hints", daemon=True).start()
        return lambda: self._unlisten(tell)

    def close(self) -> None:
        """Tell nobody anything any more. Idempotent."""
        with self._lock:
            self._listeners = []
            self._end_locked()

    def _unlisten(self, tell: Callable[[str], None]) -> None:
        with self._lock:
            self._listeners = [each for each in self._listeners if each is not tell]
            if not self._listeners:
                self._end_locked()

    def _end_locked(self) -> None:
        if self._queue is not None:
            self._queue.put(None)
            self._queue = None

    def _tell(self, queue: "SimpleQueue[str | None]") -> None:
        while (agent := queue.get()) is not None:
            for tell in self._listeners:
                tell(agent)
