"""Functions that others wrote, called in such a way that none of them holds up an abort."""

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, Protocol, TypeAlias, TypeVar

from linnet.core.cancel import Cancel
from linnet.errors import ToolFailed
from linnet.tools.loop import Loop

T = TypeVar("T")
Task: TypeAlias = "tuple[Callable[[], Any], Future[Any]]"
IDLE = 10.0  # Seconds after which a thread that is not needed ends.


class EventLoop(Protocol):
    def submit(self, work: Callable[[], Coroutine[Any, Any, T]]) -> "Future[T]":
        """Begin this in the loop. To cancel the future is to cancel the work. Raises Closed."""

    def close(self) -> None: ...


class Foreign:
    """Plain functions are called in threads that are kept for the next call, coroutines in an event loop.

    Invariant: whoever calls waits until the function has returned or there is an abort, and no longer. A coroutine is
    then cancelled; what a plain function is still doing it does unheard.
    """

    def __init__(self, loop: EventLoop | None = None) -> None:
        self._loop: EventLoop = loop or Loop()
        self._lock = Lock()
        self._idle: list[SimpleQueue[Task | None]] = []
        self._closed = False

    def call(self, function: Callable[..., Any], cancel: Cancel, *args: Any, **keywords: Any) -> Any:
        """What it returns, or raises; if that is to be awaited, what comes of it. Raises Cancelled."""
        cancel.check()
        if inspect.iscoroutinefunction(function):
            return _outcome(self._loop.submit(lambda: _contained(function(*args, **keywords))), cancel)
        value = _outcome(self.begin(lambda: function(*args, **keywords)), cancel)
        if inspect.isawaitable(value):
            return _outcome(self._loop.submit(lambda: _contained(value)), cancel)
        return value

    def begin(self, function: Callable[[], T]) -> "Future[T]":
        """Call it in another thread."""
        future: Future[T] = Future()
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is None:
            inbox = SimpleQueue()
            thread = Thread(target=self._work, args=(inbox,), name="linnet-foreign", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # The system gives no thread: then whoever asks waits.
                _carry_out(function, future)
                return future
        inbox.put((function, future))
        return future

    def close(self) -> None:
        """Threads end as soon as they have nothing to do."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for inbox in idle:
            inbox.put(None)
        self._loop.close()

    def _work(self, inbox: "SimpleQueue[Task | None]") -> None:
        while True:
            try:
                task = inbox.get(timeout=IDLE)
            except Empty:
                with self._lock:
                    if inbox not in self._idle:
                        continue  # Somebody has just taken it to put a task in.
                    self._idle.remove(inbox)
                return
            if task is None:
                return
            function, future = task
            value, fault = _tried(function)
            with self._lock:  # Before anybody hears of the outcome: the next call finds this thread idle.
                closed = self._closed
                if not closed:
                    self._idle.append(inbox)
            _settle(future, value, fault)
            del task, function, future, value, fault  # Nothing of theirs is kept alive until the next call.
            if closed:
                return


def _outcome(future: "Future[T]", cancel: Cancel) -> T:
    def interrupt() -> None:
        future.cancel()

    with cancel.interrupting(interrupt):
        try:
            return future.result()
        except CancelledError:
            cancel.check()
            raise ToolFailed("it was cancelled") from None


async def _contained(work: Awaitable[T]) -> T:
    """What would end the loop, and with it everything else that runs there, is a failure like any other."""
    try:
        return await work
    except (SystemExit, KeyboardInterrupt) as fault:
        raise ToolFailed(_named(fault)) from fault


def _carry_out(function: Callable[[], T], future: "Future[T]") -> None:
    _settle(future, *_tried(function))


def _tried(function: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return function(), None
    except Exception as fault:
        return None, fault
    except BaseException as fault:  # It would end the thread, and whoever waits would wait for ever.
        return None, ToolFailed(_named(fault))


def _settle(future: "Future[Any]", value: Any, fault: Exception | None) -> None:
    with suppress(InvalidStateError):  # Nobody waits for it any more.
        if fault is None:
            future.set_result(value)
        else:
            future.set_exception(fault)


def _named(fault: BaseException) -> str:
    return f"{type(fault).__name__}: {fault}" if str(fault) else type(fault).__name__
