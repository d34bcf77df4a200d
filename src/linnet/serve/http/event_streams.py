"""Streams of server-sent events: any number of clients that read as fast as they like, or not at all.

A stream asks its source for more only when what it sent before has left: a client that does not read costs its buffers
and nothing else. Sources are asked in a worker thread as long as there is much to tell, and by the loop itself when
they have caught up: a hop to a thread takes longer than a few lines do.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol, TypeVar

from anyio import CancelScope, CapacityLimiter, to_thread
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from linnet.serve.http.replies import Problem

HEARTBEAT: Final = 15.0  # Seconds. Proxies cut connections on which nothing comes for a minute.
RETRY: Final = b"retry: 1000\n\n"  # Milliseconds until a browser connects again.
COMMENT: Final = b":\n\n"
_HEADERS: Final = {"cache-control": "no-store", "x-accel-buffering": "no"}  # The second is for nginx.
_LITTLE: Final = 16 * 1024
_AT_ONCE: Final = 32  # Streams: about 4 ms.
_THREADS: Final = 8  # For streams that catch up. Requests have others, and need not wait for those.

T = TypeVar("T")


class Source(Protocol):
    """Has the bytes of a stream."""

    def take(self) -> bytes | None:
        """Return the next bytes; None if there are none now. Then the stream is woken when there are."""

    def close(self) -> None:
        """Forget the client."""

    @property
    def ended(self) -> bool:
        """Return whether nothing more will ever come."""


class Streams:
    """The streams that are open. Used by the thread of the loop only."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: set[EventStream] = set()
        self._ending = False
        self.turns = Turns(_AT_ONCE)
        self.threads = CapacityLimiter(_THREADS)

    def __len__(self) -> int:
        return len(self._open)

    def check(self) -> None:
        """Raise Problem if no stream may be opened now."""
        if self._ending:
            raise Problem(503, "closed", "The server is closing.", {"retry-after": "1"})
        if len(self._open) >= self._most:
            raise Problem(503, "too_many_streams", "Too many streams are open; try again.", {"retry-after": "5"})

    def add(self, stream: "EventStream") -> None:
        self._open.add(stream)

    def remove(self, stream: "EventStream") -> None:
        self._open.discard(stream)

    def end(self) -> None:
        """End all streams, and open none from now on."""
        self._ending = True
        for stream in self._open:
            stream.end()


class Turns:
    """Lets so many streams go on before the loop looks at its sockets and timers again. Hundreds may be woken at once,
    and requests must not wait for all of them. Used by the thread of the loop only.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._left = most
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._counting = False

    async def take(self) -> None:
        """Return when it is the caller's turn: at once, unless many have had theirs just now."""
        loop = asyncio.get_running_loop()
        if not self._counting:
            self._counting = True
            loop.call_soon(self._next)
        if self._left > 0:
            self._left -= 1
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _next(self) -> None:
        self._left = self._most
        while self._waiting and self._left:
            turn = self._waiting.popleft()
            if not turn.done():  # Whoever waited may be gone.
                turn.set_result(None)
                self._left -= 1
        self._counting = self._left < self._most
        if self._counting:
            asyncio.get_running_loop().call_soon(self._next)


class Wakeup:
    """Wakes a stream, from any thread. Wakes that come before it has looked cost nothing."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()
        self._pending = False

    def __call__(self) -> None:
        if not self._pending:
            self._pending = True
            with suppress(RuntimeError):  # The loop is closed, and nobody waits any more.
                self._loop.call_soon_threadsafe(self._event.set)

    def clear(self) -> None:
        """Call this before looking for news: what comes later will wake."""
        self._event.clear()
        self._pending = False

    async def wait(self, seconds: float) -> bool:
        """Wait for a wake. Returns whether it came in time."""
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return False
        return True


class EventStream(Response):
    """One stream, as an answer."""

    media_type = "text/event-stream"

    def __init__(
        self, streams: Streams, source: Source, wakeup: Wakeup, give_back: Callable[[], None], heartbeat: float
    ) -> None:
        """`give_back` gives back the slot of the request that became a stream."""
        super().__init__(None, 200, _HEADERS)
        del self.headers["content-length"]
        self._streams = streams
        self._source = source
        self._wakeup = wakeup
        self._give_back = give_back
        self._heartbeat = heartbeat
        self._over = False
        streams.add(self)

    def end(self) -> None:
        """End the stream: its client connects again, here or elsewhere."""
        self._over = True
        self._wakeup()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._give_back()
        watching = asyncio.ensure_future(self._watch(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            if scope["method"] != "HEAD":
                await self._pass_on(send)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._streams.remove(self)
            watching.cancel()
            with CancelScope(shield=True):
                await self._in_thread(self._source.close)

    async def _pass_on(self, send: Send) -> None:
        await _send(send, RETRY)
        caught_up = False
        while not self._over:
            await self._streams.turns.take()
            self._wakeup.clear()
            chunk = self._source.take() if caught_up else await self._in_thread(self._source.take)
            if chunk:
                caught_up = caught_up and len(chunk) < _LITTLE
                await _send(send, chunk)
                continue
            if self._source.ended:
                return
            caught_up = True
            if not await self._wakeup.wait(self._heartbeat):
                await _send(send, COMMENT)

    async def _in_thread(self, call: Callable[[], T]) -> T:
        return await to_thread.run_sync(call, limiter=self._streams.threads)

    async def _watch(self, receive: Receive) -> None:
        """End the stream when its client is gone."""
        try:
            while (await receive())["type"] != "http.disconnect":
                pass
        except Problem:
            pass  # It sent a body that does not end, or is too large.
        self.end()


async def _send(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})
