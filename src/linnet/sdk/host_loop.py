"""The event loop of the program that the runtime lives in."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from linnet.errors import Closed

T = TypeVar("T")


class HostLoop:
    """Coroutines of the program's own run where the rest of it does, so that they can share what belongs to that loop.
    `loop` is the one in which the runtime was used last.
    """

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None

    def submit(self, work: Callable[[], Coroutine[Any, Any, T]]) -> "Future[T]":
        """Begin this in the loop. To cancel the future is to cancel the work. Raises Closed."""
        coroutine = work()
        try:
            if self.loop is None:
                raise Closed
            return asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        except RuntimeError:  # The loop has been closed.
            coroutine.close()
            raise Closed from None

    def close(self) -> None:
        """The loop is not ours to close; what runs in it on our behalf ends with the run that it belongs to."""
