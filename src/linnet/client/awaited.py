"""Clients for asyncio: the same names, awaited. The pipes have a thread of their own, so no loop is ever blocked."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from linnet.client import pi_commands, speeches, zot_commands
from linnet.client.agent import Agent, Options, Taken
from linnet.client.link import Link
from linnet.client.pictures import Picture
from linnet.client.request import Awaited, Request
from linnet.client.spoken import Spoken
from linnet.client.stream import Pending, Stream
from linnet.errors import RunFailed, TimedOut
from linnet.wire.incoming import BadLine, UnknownEvent
from linnet.wire.pi import incoming as pi
from linnet.wire.zot import frames

E = TypeVar("E")
R = TypeVar("R")


class AsyncEvents(Taken[E], AsyncIterator["E | UnknownEvent | BadLine"]):
    """Ends when the client is closed; raises AgentGone if the agent ends by itself."""

    async def __anext__(self) -> E | UnknownEvent | BadLine:
        event = await self.next()
        if event is None:
            raise StopAsyncIteration
        return event

    async def next(self, timeout: float | None = None) -> E | UnknownEvent | BadLine | None:
        """The next event; None after the last one. Raises TimedOut."""
        if not self._taken and not self._stream.ready:
            await _arrival(self._link, self._stream, "events", timeout)
        return self._take()


class AsyncRun(AsyncEvents[E]):
    """The events of what one command asked for, up to its end. Raises Refused if it was refused."""

    def __init__(self, client: "AsyncClient[E]", request: Request[Any]) -> None:
        stream: Stream[E] = Stream(id="unsent")
        super().__init__(client, stream)
        self._request = request
        self._loop = asyncio.get_running_loop()  # Before anything is asked that nobody could follow.
        self._pending = client._link.ask(request, stream)
        self._began = self._loop.time()

    async def next(self, timeout: float | None = None) -> E | UnknownEvent | BadLine | None:
        """The next event; None after the last one. Raises TimedOut; the run goes on."""
        if not self._taken and not self._stream.ready:
            limits = [seconds for seconds in (self._left(), timeout) if seconds is not None]
            await _arrival(self._link, self._stream, self._request.name, min(limits, default=None))
        event = self._take()
        if event is None and self._pending.reply is not None:
            self._request.result(self._pending.reply)
        return event

    async def accepted(self, timeout: float | None = None) -> None:
        """Wait until the agent has answered. Raises Refused."""
        await _answer(self._link, self._pending, self._request.name, timeout)
        if self._pending.reply is not None:
            self._request.result(self._pending.reply)

    async def text(self) -> str:
        """Wait for the end; return what the agent said. Raises RunFailed if it failed or was aborted."""
        return (await self._spoken()).text

    async def value(self) -> Any:
        """Wait for the end; return the answer as the value that `output_schema` asked for. Raises RunFailed if there is
        none.
        """
        spoken = await self._spoken()
        if spoken.no_value:
            raise RunFailed(spoken.no_value, spoken.text)
        return spoken.value

    async def wait(self) -> None:
        """Wait for the end, however it comes. Events that were not taken are dropped."""
        async for _ in self:
            pass

    async def _spoken(self) -> Spoken:
        spoken = self._agent.speech.spoken()
        async for event in self:
            spoken.add(event)
        if spoken.failure:
            raise RunFailed(spoken.failure, spoken.text)
        return spoken

    def _left(self) -> float | None:
        if self._request.timeout is None:
            return None
        return max(0.0, self._began + self._request.timeout - self._loop.time())


class AsyncClient(Agent[E], Awaited):
    """What both protocols have in common."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def call(self, request: Request[R]) -> R:
        """Send it; return what it is answered. Raises Refused, TimedOut, BadAnswer, AgentGone."""
        pending = self._link.ask(request)
        try:
            await _answer(self._link, pending, request.name, self._seconds(request))
        except BaseException:
            self._link.let_go(pending)
            raise
        assert pending.reply
        return request.result(pending.reply)

    def events(self) -> AsyncEvents[E]:
        """Everything that comes from now on, of whatever run."""
        return AsyncEvents(self, self._link.listen())

    async def wait_idle(self, *, timeout: float | None = None) -> None:
        """Return when nothing runs, waits or follows by itself any more. Raises TimedOut, AgentGone."""
        pending = self._link.watch_idle()
        try:
            await _answer(self._link, pending, "wait_idle", timeout)
        finally:
            self._link.let_go(pending)

    async def close(self, *, patience: float | None = None) -> int:
        """Close stdin, wait, terminate, wait, kill; return the exit code. Idempotent."""
        code = await asyncio.to_thread(self._link.close, self._patience if patience is None else patience)
        self._finalizer.detach()
        return code


class AsyncZotClient(zot_commands.ZotCommands, AsyncClient[frames.Event]):
    """An agent that speaks zot's protocol: `linnet rpc`, or `zot rpc`."""

    speech = speeches.ZOT

    def __init__(
        self, command: Sequence[str] | None = None, *, token: str | None = None, **options: Unpack[Options]
    ) -> None:
        """`token`: the agent is given it in its environment and sent it in a `hello`, before anything else."""
        super().__init__(command, **speeches.with_token(token, options))
        if token:
            self._link.ask(zot_commands.ZotCommands.hello(self, token))

    def prompt(
        self,
        message: str,
        images: Sequence[Picture] = (),
        *,
        output_schema: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> AsyncRun[frames.Event]:
        """Run a prompt, when those before it are done; iterate over its events, `done` last."""
        return AsyncRun(self, zot_commands.prompt(message, images, timeout, output_schema))

    async def compact(self, *, timeout: float | None = None) -> str:
        """Replace old messages by a summary, and return it. Raises RunFailed."""
        run: AsyncRun[frames.Event] = AsyncRun(self, zot_commands.compact(timeout))
        return speeches.summary([event async for event in run])


class AsyncPiClient(pi_commands.PiCommands, AsyncClient[pi.Event]):
    """An agent that speaks pi's protocol: `linnet --mode rpc`, or `pi --mode rpc`, of any version."""

    speech = speeches.PI

    def prompt(
        self,
        message: str,
        images: Sequence[Picture] = (),
        *,
        streaming_behavior: pi_commands.Behavior | None = None,
        output_schema: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> AsyncRun[pi.Event]:
        """Say something; iterate over what happens until the agent is idle again, retries and all."""
        return AsyncRun(self, pi_commands.prompt(message, images, streaming_behavior, timeout, output_schema))

    def answer_ui(
        self, id: str, value: str | None = None, *, confirmed: bool | None = None, reason: str | None = None
    ) -> None:
        """Answer an ExtensionUiRequest; with neither, it is cancelled. `reason` is for the model to read."""
        self._link.tell(pi_commands.answer_ui(id, value, confirmed, reason))


class AsyncPiLegacyClient(AsyncClient[pi.Event]):
    """An agent that speaks the protocol pi had before it had answers: `linnet --mode rpc --dialect pi-legacy`."""

    speech = speeches.PI_LEGACY

    def prompt(
        self, message: str, images: Sequence[Picture] = (), *, timeout: float | None = None
    ) -> AsyncRun[pi.Event]:
        """Say something; iterate over what happens up to `agent_end`, or the `error` that it was refused with."""
        return AsyncRun(self, pi_commands.prompt(message, images, None, timeout))

    def compact(self, instructions: str | None = None, *, timeout: float | None = None) -> AsyncRun[pi.Event]:
        """Replace old messages by a summary; iterate up to `compaction`, or the `error` that it failed with."""
        return AsyncRun(self, pi_commands.PiCommands.compact(self, instructions, timeout=timeout))

    def abort(self) -> None:
        """Cancel what runs. Its last events follow."""
        self.tell("abort")


async def _answer(link: Link[Any], pending: Pending, what: str, timeout: float | None) -> None:
    if not pending.done:
        await _arrival(link, pending, what, timeout)
    if pending.error:
        raise pending.error.again()


async def _arrival(link: Link[E], awaited: Pending | Stream[E], what: str, timeout: float | None) -> None:
    """Until it is done, or has something."""
    loop = asyncio.get_running_loop()
    arrived = asyncio.Event()

    def notify() -> None:  # In the thread that reads, under its lock; once.
        awaited.__dict__.pop("notify", None)
        with suppress(RuntimeError):  # The loop has been closed, and nobody waits any more.
            loop.call_soon_threadsafe(arrived.set)

    with link.waiting():
        with link.lock:
            if awaited.done if isinstance(awaited, Pending) else awaited.ready:
                return
            awaited.notify = notify
        try:
            async with asyncio.timeout(timeout):
                await arrived.wait()
        except TimeoutError:
            raise TimedOut(what, timeout or 0) from None
        finally:
            awaited.__dict__.pop("notify", None)
