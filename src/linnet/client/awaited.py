"""Clients for asyncio: the methods of those that block, awaited. A thread reads the pipes, so no loop is blocked."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeVar

from linnet.client.agent import Agent
from linnet.client.link import Link
from linnet.client.pi_commands import PiCommands, PiLegacyCommands
from linnet.client.request import Request
from linnet.client.run_events import RunEvents, Taken
from linnet.client.stream import Pending, Stream
from linnet.client.zot_commands import ZotCommands
from linnet.errors import TimedOut
from linnet.faces import Awaited, awaits
from linnet.wire.incoming import BadLine, UnknownEvent
from linnet.wire.pi.reading import incoming as pi
from linnet.wire.zot import frames

E = TypeVar("E")


class InLoop:
    """Waits in an event loop, which the thread that reads tells of each change."""

    @awaits
    async def until(self, link: Link[Any], waited: Pending | Stream[Any], what: str, timeout: float | None) -> None:
        """Wait until something is ready. Raises TimedOut."""
        loop = asyncio.get_running_loop()
        arrived = asyncio.Event()

        def notify() -> None:  # In the thread that reads, under its lock; once.
            waited.__dict__.pop("notify", None)
            with suppress(RuntimeError):  # The loop has been closed, and nobody waits any more.
                loop.call_soon_threadsafe(arrived.set)

        with link.waiting():
            with link.lock:
                if waited.ready:
                    return
                waited.notify = notify
            try:
                async with asyncio.timeout(timeout):
                    await arrived.wait()
            except TimeoutError:
                raise TimedOut(what, timeout or 0) from None
            finally:
                waited.__dict__.pop("notify", None)

    @awaits
    async def close(self, link: Link[Any], patience: float) -> int:
        """Close a link, in a thread, since that blocks; return the exit code."""
        return await asyncio.to_thread(link.close, patience)


class AsyncEvents(Taken[E], Awaited, AsyncIterator["E | UnknownEvent | BadLine"]):
    """Events as they come. Ends when the client is closed; raises AgentGone if the agent ends by itself."""

    async def __anext__(self) -> E | UnknownEvent | BadLine:
        event = self._take() if self._taken else await self.next()
        if event is None:
            raise StopAsyncIteration
        return event


class AsyncRun(RunEvents[E], AsyncEvents[E]):
    """The events of what one command asked for, up to its end. Raises Refused if it was refused."""


class AsyncClient(Agent[E], Awaited):
    """What both protocols have in common."""

    _run_type = AsyncRun
    _waits = InLoop()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def events(self) -> AsyncEvents[E]:
        """Return everything that comes from now on, of whatever run."""
        return AsyncEvents(self, self._link.listen())

    def _begin(self, request: Request[Any]) -> AsyncRun[E]:
        asyncio.get_running_loop()  # Before anything is asked that nobody could follow.
        return AsyncRun(self, request)


class AsyncZotClient(ZotCommands, AsyncClient[frames.Event]):
    """An agent that speaks zot's protocol: `linnet rpc`, or `zot rpc`."""


class AsyncPiClient(PiCommands, AsyncClient[pi.Event]):
    """An agent that speaks pi's protocol: `linnet --mode rpc`, or `pi --mode rpc`, of any version."""


class AsyncPiLegacyClient(PiLegacyCommands, AsyncClient[pi.Event]):
    """An agent that speaks the protocol pi had before it had answers: `linnet --mode rpc --dialect pi-legacy`."""
