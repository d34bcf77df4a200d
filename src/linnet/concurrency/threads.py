"""Threads that are kept for the next thing to do: a new one waits for a processor, one that waits is there at once."""

import os
from _queue import SimpleQueue  # `queue` imports `heapq` besides, for queues of other kinds.
from collections import deque
from collections.abc import Callable
from functools import partial
from threading import Thread, current_thread
from typing import Any, TypeAlias

from linnet.errors import ToolFailed

Outcome: TypeAlias = tuple[Any, Exception | None]
"""What a function returned, or what it raised."""
Task: TypeAlias = tuple[Callable[[], Any], Callable[[Outcome], None], str]
Inbox: TypeAlias = "SimpleQueue[Task | None]"
KEPT = 2  # One that sees to what is left of the last run, and one for the next.


class Threads:
    """Invariants: a thread that has nothing to do is in `_idle`, at most `most` of them, none after `close`; it holds
    nothing of what it did. Nothing waits for a thread: where none is idle, one is started.

    Takes no lock: one that another thread holds while the process is forked is never released in the child.
    """

    def __init__(self, name: str = "linnet-foreign", most: int | None = None) -> None:
        self._name = name
        self._most = most
        self._process = os.getpid()
        self._idle: deque[Inbox] = deque()
        self._closed = False

    def begin(self, function: Callable[[], Any], tell: Callable[[Outcome], None]) -> None:
        """Call the function in a thread, and tell what came of it. Where the system gives no thread, do it here."""
        try:
            self.hand_over(function, tell)
        except RuntimeError:
            tell(tried(function))

    def hand_over(
        self, function: Callable[[], Any], tell: Callable[[Outcome], None] = lambda outcome: None, name: str = ""
    ) -> None:
        """Call the function in a thread, which has this name meanwhile, and tell what came of it.

        Raises RuntimeError if the system gives no thread.
        """
        self._forget_parent()
        try:
            inbox = self._idle.pop()
        except IndexError:
            inbox = self._started()
        inbox.put((function, tell, name or self._name))

    def park(self, count: int = 1) -> None:
        """See that at least this many wait. Raises RuntimeError if the system gives no thread."""
        self._forget_parent()
        for _ in range(count - len(self._idle)):
            self._wait(self._started())

    def close(self) -> None:
        """End the threads that are idle, and each that is at work as soon as it is done. Idempotent."""
        self._closed = True
        self._end_idle(0)

    def _forget_parent(self) -> None:
        """A process that was forked off has none of its parent's threads."""
        if self._process != os.getpid():
            self._idle, self._process = deque(), os.getpid()  # In this order: another thread may look in between.

    def _started(self) -> Inbox:
        inbox: Inbox = SimpleQueue()
        Thread(target=self._work, args=(inbox,), name=self._name, daemon=True).start()
        return inbox

    def _wait(self, inbox: Inbox) -> None:
        self._idle.append(inbox)
        if self._closed:  # It may have been closed before this one was in the list.
            self._end_idle(0)
        elif self._most is not None:
            self._end_idle(self._most)

    def _end_idle(self, kept: int) -> None:
        while len(self._idle) > kept:
            try:
                self._idle.popleft().put(None)
            except IndexError:  # Another thread was quicker.
                return

    def _work(self, inbox: Inbox) -> None:
        thread = current_thread()
        while (task := inbox.get()) is not None:
            function, tell, thread.name = task
            outcome = tried(function)
            thread.name = self._name
            self._wait(inbox)  # Before anybody hears of the outcome: the next call finds this thread idle.
            tried(partial(tell, outcome))  # If this thread ended, whatever it is handed next would never be done.
            del task, function, tell, outcome  # Nothing of theirs is kept alive until the next call.


parked = Threads("linnet-parked", KEPT)
"""For all sessions of the process: what begins under a session's lock, and is not to wait for a new thread there."""


def tried(function: Callable[[], Any]) -> Outcome:
    try:
        return function(), None
    except Exception as fault:
        return None, fault
    except BaseException as fault:  # It would end the thread, and whoever waits would wait for ever.
        return None, ToolFailed(named(fault))


def named(fault: BaseException) -> str:
    return f"{type(fault).__name__}: {fault}" if str(fault) else type(fault).__name__
