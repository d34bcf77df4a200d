"""The asynchronous face of the runtime: the same names, awaited. The runtime itself stays on its own threads."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any

from linnet.core import commands
from linnet.core.messages import Image
from linnet.runtime.config import Config
from linnet.sdk.runtime import Runtime, Started, compacted, prompt_command
from linnet.sdk.sessions import Sessions
from linnet.wire.zot import frames


class AsyncRun(AsyncIterator[frames.Event]):
    """The events of one run. Cancelling the task that waits for one aborts the run."""

    def __init__(self, started: Started, loop: asyncio.AbstractEventLoop) -> None:
        self._started = started
        self._stream = started.stream
        self._loop = loop
        self._arrived = asyncio.Event()
        self._stream.notify = self._notify

    async def __anext__(self) -> frames.Event:
        while True:
            self._arrived.clear()
            event = self._stream.take(block=False)
            if event is not None:
                return event
            if self._stream.over:
                raise StopAsyncIteration
            try:
                await self._arrived.wait()
            except asyncio.CancelledError:
                self._started.abort()
                raise

    async def aclose(self) -> None:
        """Abort the run, if it has not ended, and wait until it has."""
        await asyncio.to_thread(self._started.abandon)

    def _notify(self) -> None:
        with suppress(RuntimeError):  # The loop has been closed, and nobody waits any more.
            self._loop.call_soon_threadsafe(self._arrived.set)


class AsyncRuntime:
    def __init__(self, config: Config | None = None, **options: Any) -> None:
        self._runtime = Runtime(config, **options)

    async def __aenter__(self) -> "AsyncRuntime":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def prompt(self, text: str, images: Sequence[bytes | Image] = ()) -> AsyncRun:
        """`async for event in runtime.prompt(…)`. Raises Busy while another run goes on."""
        loop = asyncio.get_running_loop()  # Before anything is started that nobody could follow.
        return AsyncRun(self._runtime.start(prompt_command(text, images)), loop)

    async def compact(self, instructions: str = "") -> str:
        loop = asyncio.get_running_loop()
        run = AsyncRun(self._runtime.start(commands.Compact(instructions)), loop)
        return compacted([event async for event in run])

    async def abort(self) -> None:
        self._runtime.abort()

    cancel = abort

    async def set_model(self, model: str) -> None:
        self._runtime.set_model(model)

    async def clear(self) -> None:
        self._runtime.clear()

    async def state(self) -> frames.StateData:
        return self._runtime.state()

    async def messages(self) -> list[frames.Message]:
        return self._runtime.messages()

    async def cost(self) -> frames.Tokens:
        return self._runtime.cost()

    async def list_models(self) -> list[frames.ModelInfo]:
        return self._runtime.list_models()

    @property
    def sessions(self) -> Sessions:
        """The synchronous one: most of it takes no time. What may, call through `asyncio.to_thread`."""
        return self._runtime.sessions

    async def close(self) -> None:
        await asyncio.to_thread(self._runtime.close)
