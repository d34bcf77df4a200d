"""A pool of threads that never makes work wait: an idle thread takes it, or a new one is started.

Idle threads are kept because they begin at once, while a new one has to wait for a processor.
"""

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
"""What to call, whom to tell of its outcome, and the name of the thread meanwhile."""
Inbox: TypeAlias = "SimpleQueue[Task | None]"
"""Where one thread waits for its next task; None ends it."""
KEPT = 2  # One that sees to what is left of the last run, and one for the next.


class Threads:
    """Calls functions in threads of its own; any thread may ask it to.

    Invariants: a thread that has nothing to do is in `_idle`, at most `most` of them, none after `close`; it holds no
    reference to what it did.

    Takes no lock: one that another thread holds while the process is forked is never released in the child. It relies
    on `append`, `pop` and `popleft` of a deque being atomic.
    """

    def __init__(self, name: str = "linnet-foreign", most: int | None = None) -> None:
        """`name` is that of idle threads, and `most` the number that is kept; None is all."""
        self._name = name
        self._most = most
        self._process = os.getpid()
        self._idle: deque[Inbox] = deque()
        self._closed = False

    def begin(self, function: Callable[[], Any], tell: Callable[[Outcome], None]) -> None:
        """Call the function in a thread, which then calls `tell` with the outcome.

        Where the system gives no thread, both are called in this one.
        """
        try:
            self.hand_over(function, tell)
        except RuntimeError:
            tell(tried(function))

    def hand_over(
        self, function: Callable[[], Any], tell: Callable[[Outcome], None] = lambda outcome: None, name: str = ""
    ) -> None:
        """Call the function in a thread, which has this name meanwhile and then calls `tell` with the outcome.

        Raises RuntimeError if the system gives no thread.
        """
        self._forget_parent()
        try:
            inbox = self._idle.pop()  # The last to become idle, so that the oldest are those that `_end_idle` ends.
        except IndexError:
            inbox = self._started()
        inbox.put((function, tell, name or self._name))

    def park(self, count: int = 1) -> None:
        """See that at least this many threads are idle. Raises RuntimeError if the system gives no thread."""
        self._forget_parent()
        for _ in range(count - len(self._idle)):
            self._wait(self._started())

    def close(self) -> None:
        """End the threads that are idle, and each that is at work as soon as it is done. Idempotent."""
        self._closed = True
        self._end_idle(0)

    def _forget_parent(self) -> None:
        """Empty the list of idle threads in a process that was forked off: it has none of its parent's threads."""
        if self._process != os.getpid():
            self._idle, self._process = deque(), os.getpid()  # In this order: another thread may look in between.

    def _started(self) -> Inbox:
        """Start a thread, and return its inbox, which is not in `_idle` yet."""
        inbox: Inbox = SimpleQueue()
        Thread(target=self._work, args=(inbox,), name=self._name, daemon=True).start()
        return inbox

    def _wait(self, inbox: Inbox) -> None:
        """Add the thread of this inbox to the idle ones, and end those that are too many."""
        self._idle.append(inbox)
        if self._closed:  # After `append`: `close` may have emptied the list just before.
            self._end_idle(0)
        elif self._most is not None:
            self._end_idle(self._most)

    def _end_idle(self, kept: int) -> None:
        """End idle threads, the oldest first, until no more than `kept` are left."""
        while len(self._idle) > kept:
            try:
                self._idle.popleft().put(None)
            except IndexError:  # Another thread was quicker.
                return

    def _work(self, inbox: Inbox) -> None:
        """Do the tasks of this inbox, in a thread of its own, until it is told to end."""
        thread = current_thread()
        while (task := inbox.get()) is not None:
            function, tell, thread.name = task
            outcome = tried(function)
            thread.name = self._name
            self._wait(inbox)  # Before anybody hears of the outcome: the next call finds this thread idle.
            tried(partial(tell, outcome))  # If this thread ended, whatever it is handed next would never be done.
            del task, function, tell, outcome  # Nothing of theirs is kept alive until the next call.


parked = Threads("linnet-parked", KEPT)
"""Threads of all sessions of the process, for work that is begun while a session's lock is held: nobody should wait
there for the start of a new thread."""


def tried(function: Callable[[], Any]) -> Outcome:
    """Call the function, and return what it returns or raises; what is no Exception is made a ToolFailed."""
    try:
        return function(), None
    except Exception as fault:
        return None, fault
    except BaseException as fault:  # It would end the thread, and whoever waits would wait for ever.
        return None, ToolFailed(named(fault))


def named(fault: BaseException) -> str:
    """Return the name of the exception's class, and its words if it has any."""
    return f"{type(fault).__name__}: {fault}" if str(fault) else type(fault).__name__
