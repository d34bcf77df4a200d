"""Threads that call functions which others wrote, and are kept for the next one."""

from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeAlias

from linnet.errors import ToolFailed

Outcome: TypeAlias = tuple[Any, Exception | None]
"""What a function returned, or what it raised."""
Task: TypeAlias = tuple[Callable[[], Any], Callable[[Outcome], None]]


class Threads:
    """Invariant: a thread that has nothing to do is in `_idle`, and ends with `close`."""

    def __init__(self, name: str = "linnet-foreign") -> None:
        self._name = name
        self._lock = Lock()
        self._idle: list[SimpleQueue[Task | None]] = []
        self._closed = False

    def begin(self, function: Callable[[], Any], tell: Callable[[Outcome], None]) -> None:
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is None:
            inbox = SimpleQueue()
            thread = Thread(target=self._work, args=(inbox,), name=self._name, daemon=True)
            try:
                thread.start()
            except RuntimeError:  # The system gives no thread: then whoever asks waits.
                tell(tried(function))
                return
        inbox.put((function, tell))

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for inbox in idle:
            inbox.put(None)

    def _work(self, inbox: "SimpleQueue[Task | None]") -> None:
        while (task := inbox.get()) is not None:
            function, tell = task
            outcome = tried(function)
            with self._lock:  # Before anybody hears of the outcome: the next call finds this thread idle.
                if self._closed:
                    inbox.put(None)
                else:
                    self._idle.append(inbox)
            tell(outcome)
            del task, function, tell, outcome  # Nothing of theirs is kept alive until the next call.


def tried(function: Callable[[], Any]) -> Outcome:
    try:
        return function(), None
    except Exception as fault:
        return None, fault
    except BaseException as fault:  # It would end the thread, and whoever waits would wait for ever.
        return None, ToolFailed(named(fault))


def named(fault: BaseException) -> str:
    return f"{type(fault).__name__}: {fault}" if str(fault) else type(fault).__name__
