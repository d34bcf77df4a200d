"""An asyncio event loop in a thread of its own, for what needs one: asynchronous tools and MCP servers."""

from collections.abc import Callable, Coroutine
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, TypeVar

from linnet.errors import Closed

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from concurrent.futures import Future

T = TypeVar("T")
PATIENCE = 5.0  # Seconds that `close` gives tasks to end after they were cancelled.


class Loop:
    """An EventLoop of our own.

    Invariant: the thread exists from the first `submit` to `close`, and nothing that was submitted outlives it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._loop: AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._closed = False

    def submit(self, work: Callable[[], Coroutine[Any, Any, T]]) -> "Future[T]":
        """Begin this in the loop's thread. Return its future: to cancel that is to cancel the work. Raises Closed."""
        import asyncio  # 50 ms that most processes do not pay.

        with self._lock:
            if self._closed:
                raise Closed
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = Thread(target=self._loop.run_forever, name="linnet-loop", daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(work(), self._loop)

    def close(self, patience: float = PATIENCE) -> None:
        """Cancel all tasks, and wait for their end for at most `patience` seconds. Idempotent.

        The thread may be importing something, which nothing can interrupt; then it is left to end by itself.
        """
        with self._lock:
            already, self._closed = self._closed, True
            loop, thread = self._loop, self._thread
        if already or loop is None or thread is None:
            return
        import asyncio

        async def end() -> None:
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks, timeout=patience)
            await loop.shutdown_asyncgens()

        ended = asyncio.run_coroutine_threadsafe(end(), loop)
        ended.add_done_callback(lambda _: loop.call_soon_threadsafe(loop.stop))
        thread.join(patience)
        if not thread.is_alive():  # A loop that runs cannot be closed.
            loop.close()
