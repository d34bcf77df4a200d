"""Runs handlers that are `async def` in the extension's event loop; what waits in their context is awaited."""

from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from linnet.concurrency.loop import Loop
from linnet.errors import Cancelled
from linnet.extensions.python.context import Context
from linnet.extensions.python.workers import Call

T = TypeVar("T")
WAITING = ("confirm", "select", "input", "editor", "run", "exec")


class AsyncContext:
    """A Context whose `confirm`, `select`, `input`, `editor`, `run` and `exec` are to be awaited."""

    def __init__(self, inner: Context) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if name not in WAITING:
            return value

        async def wait(*args: Any, **keywords: Any) -> Any:
            import asyncio

            return await asyncio.to_thread(value, *args, **keywords)

        return wait


def awaited(work: Callable[[], Coroutine[Any, Any, T]], call: Call[Any], loop: Loop) -> T:
    """Run a coroutine in the loop's thread, and return what it returns. Raises Cancelled.

    It is cancelled as soon as nobody waits for the call any more.
    """
    future = loop.submit(work)

    def interrupt() -> None:
        future.cancel()

    with call.cancel.interrupting(interrupt):
        try:
            return future.result()
        except CancelledError:
            raise Cancelled from None
