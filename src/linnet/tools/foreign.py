"""Functions that others wrote, called in such a way that none of them holds up an abort."""

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, Protocol, TypeAlias, TypeVar

from linnet.core.cancel import Cancel
from linnet.errors import Cancelled, ToolFailed
from linnet.tools.loop import Loop

T = TypeVar("T")
Outcome: TypeAlias = tuple[Any, Exception | None]
"""What a function returned, or what it raised."""
Task: TypeAlias = tuple[Callable[[], Any], Callable[[Outcome], None]]


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
        self._threads = _Threads()

    def call(self, function: Callable[..., Any], cancel: Cancel, *args: Any, **keywords: Any) -> Any:
        """What it returns, or raises; if that is to be awaited, what comes of it. Raises Cancelled."""
        if inspect.iscoroutinefunction(function):
            return self._await(lambda: function(*args, **keywords), cancel)
        outcomes: SimpleQueue[Outcome] = SimpleQueue()
        with cancel.interrupting(lambda: outcomes.put((None, None))):
            self._threads.begin(lambda: function(*args, **keywords), outcomes.put)
            value, fault = outcomes.get()
        if fault is not None:
            raise fault
        return self._await(lambda: value, cancel) if inspect.isawaitable(value) else value

    def begin(self, function: Callable[[], T]) -> "Future[T]":
        """Call a plain function in another thread; whoever wants to knows what comes of it."""
        future: Future[T] = Future()

        def settle(outcome: Outcome) -> None:
            value, fault = outcome
            with suppress(InvalidStateError):  # Nobody waits for it any more.
                if fault is None:
                    future.set_result(value)
                else:
                    future.set_exception(fault)

        self._threads.begin(function, settle)
        return future

    def close(self) -> None:
        """Threads end as soon as they have nothing to do."""
        self._threads.close()
        self._loop.close()

    def __del__(self) -> None:
        self._threads.close()  # Of a runtime that nobody closed, nothing is left waiting.

    def _await(self, work: Callable[[], Awaitable[Any]], cancel: Cancel) -> Any:
        cancel.check()
        future = self._loop.submit(lambda: _contained(work()))

        def interrupt() -> None:
            future.cancel()

        try:
            with cancel.interrupting(interrupt):
                return future.result()
        except CancelledError:
            cancel.check()
            raise ToolFailed("it was cancelled") from None
        except Cancelled:
            interrupt()  # There was an abort before it could be interrupted.
            raise


class _Threads:
    """Invariant: a thread that has nothing to do is in `_idle`, and ends with `close`."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._idle: list[SimpleQueue[Task | None]] = []
        self._closed = False

    def begin(self, function: Callable[[], Any], tell: Callable[[Outcome], None]) -> None:
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is None:
            inbox = SimpleQueue()
            thread = Thread(target=self._work, args=(inbox,), name="linnet-foreign", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # The system gives no thread: then whoever asks waits.
                tell(_tried(function))
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
            outcome = _tried(function)
            with self._lock:  # Before anybody hears of the outcome: the next call finds this thread idle.
                if self._closed:
                    inbox.put(None)
                else:
                    self._idle.append(inbox)
            tell(outcome)
            del task, function, tell, outcome  # Nothing of theirs is kept alive until the next call.


async def _contained(work: Awaitable[T]) -> T:
    """What would end the loop, and with it everything else that runs there, is a failure like any other."""
    try:
        return await work
    except (SystemExit, KeyboardInterrupt) as fault:
        raise ToolFailed(_named(fault)) from fault


def _tried(function: Callable[[], Any]) -> Outcome:
    try:
        return function(), None
    except Exception as fault:
        return None, fault
    except BaseException as fault:  # It would end the thread, and whoever waits would wait for ever.
        return None, ToolFailed(_named(fault))


def _named(fault: BaseException) -> str:
    return f"{type(fault).__name__}: {fault}" if str(fault) else type(fault).__name__
