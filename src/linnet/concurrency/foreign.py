"""Calls functions of others, plain or asynchronous, such that none of them holds up an abort."""

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar

from linnet.concurrency.loop import Loop
from linnet.concurrency.threads import Outcome, Threads, named
from linnet.core.cancel import Cancel
from linnet.errors import Cancelled, ToolFailed

T = TypeVar("T")


class EventLoop(Protocol):
    """Where coroutines run: linnet's own loop, or that of the program that uses the SDK."""

    def submit(self, work: Callable[[], Coroutine[Any, Any, T]]) -> "Future[T]":
        """Begin this in the loop, and return its future; to cancel that is to cancel the work. Raises Closed."""

    def close(self) -> None: ...


class Foreign:
    """Calls plain functions in threads that are kept for the next call, and coroutines in an event loop.

    Invariant: whoever calls waits until the function has returned or there is an abort, and no longer. An abort cancels
    a coroutine; a plain function runs on, and what it returns is dropped.
    """

    def __init__(self, loop: EventLoop | None = None) -> None:
        self._loop: EventLoop = loop or Loop()
        self._threads = Threads()

    def call(self, function: Callable[..., Any], cancel: Cancel, *args: Any, **keywords: Any) -> Any:
        """Return what the function returns, awaited if it is awaitable, or raise what it raises. Raises Cancelled."""
        if inspect.iscoroutinefunction(function):
            return self._await(lambda: function(*args, **keywords), cancel)
        outcomes: SimpleQueue[Outcome] = SimpleQueue()
        with cancel.interrupting(lambda: outcomes.put((None, None))):  # Wakes `get`; leaving the body raises Cancelled.
            self._threads.begin(lambda: function(*args, **keywords), outcomes.put)
            value, fault = outcomes.get()
        if fault is not None:
            raise fault
        return self._await(lambda: value, cancel) if inspect.isawaitable(value) else value

    def begin(self, function: Callable[[], T]) -> "Future[T]":
        """Call a plain function in another thread, and return the future of what it returns or raises."""
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
        """End the threads as soon as they have nothing to do, and close the loop. Idempotent."""
        self._threads.close()
        self._loop.close()

    def __del__(self) -> None:
        self._threads.close()  # Of a runtime that nobody closed, nothing is left waiting.

    def _await(self, work: Callable[[], Awaitable[Any]], cancel: Cancel) -> Any:
        """Await what `work` makes, in the loop, and return what comes of it. Raises Cancelled."""
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


async def _contained(work: Awaitable[T]) -> T:
    """Await this. Raises ToolFailed for what would end the loop, and with it everything else that runs there."""
    try:
        return await work
    except (SystemExit, KeyboardInterrupt) as fault:
        raise ToolFailed(named(fault)) from fault
