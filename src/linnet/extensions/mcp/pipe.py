"""Connects the pipes of a server that is a child of ours to the pair of streams that the `mcp` package speaks through.

The package could start the program by itself. Ours is started by the supervisor, so that nothing of it outlives us.
All of this runs in the loop's thread, and what blocks in others.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

from linnet.extensions.lines import Oversized, ProgramLines
from linnet.extensions.mcp.overlong_line import answered
from linnet.processes.child import Child

READ_SIZE = 1 << 18
GRACE = 0.3  # Seconds that a server is given to go by itself when its input ends.
DRAIN = 0.2  # Seconds to read what a server printed before it died, if something that it started holds the pipe.
BABBLE = 200  # Bytes that are shown of what is no message.

Incoming = SessionMessage | Exception


class ServerPipe:
    """The pipes of one server."""

    def __init__(self, child: Child, threads: ThreadPoolExecutor) -> None:
        self.child = child
        self.ended = anyio.Event()
        """Set when nothing more will come."""
        self.babble = ""
        """The first thing on stdout that was no message."""
        self.fault = ""
        """Why we killed it, if we did."""
        self._threads = threads

    @asynccontextmanager
    async def streams(
        self,
    ) -> AsyncIterator[tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]]:
        """Pass messages both ways while the body runs, and close the child then."""
        to_us, incoming = anyio.create_memory_object_stream[Incoming](0)
        outgoing, to_them = anyio.create_memory_object_stream[SessionMessage](0)
        try:
            async with to_us, incoming, outgoing, to_them, anyio.create_task_group() as tasks:
                tasks.start_soon(self._read, to_us)
                tasks.start_soon(self._write, to_them)
                tasks.start_soon(self._notice_end, to_us)
                try:
                    yield incoming, outgoing
                finally:
                    tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await self._in_thread(self.child.close, GRACE)

    async def _read(self, to_us: MemoryObjectSendStream[Incoming]) -> None:
        """Pass on what the server prints, to its end."""
        fd = self.child.stdout.fileno()
        os.set_blocking(fd, False)
        lines = ProgramLines()
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # The session is gone.
            while data := await _read_some(fd):
                for line in lines.feed(data):
                    message = self._message(line)
                    if message is not None:
                        await to_us.send(message)
        self.ended.set()
        to_us.close()

    def _message(self, line: bytes | Oversized) -> SessionMessage | None:
        """Return the message in a line; None if it has none.

        A line that is too long becomes an error for the request that it answers; if none is known, the server is
        killed, since somebody would wait for ever.
        """
        if isinstance(line, Oversized):
            sentence = f"the answer has {line.size >> 20} MiB, which is too much"
            request = answered(line)
            if request is None:
                self.fault = f"it sent a message of {line.size >> 20} MiB"
                self.child.kill()
                return None
            error = ErrorData(code=INTERNAL_ERROR, message=sentence)
            return SessionMessage(JSONRPCError(jsonrpc="2.0", id=request, error=error))
        try:
            return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValueError:
            self.babble = self.babble or line[:BABBLE].decode(errors="replace").strip()
            return None

    async def _write(self, to_them: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Write what is sent to the server, in a thread: one that does not read its stdin must not stop the others."""
        async for message in to_them:
            line = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
            try:
                await self._in_thread(self.child.write, line)
            except OSError:
                self.child.kill()  # It closed its stdin, and can be told nothing any more.
                return

    async def _notice_end(self, to_us: MemoryObjectSendStream[Incoming]) -> None:
        """End the stream when the server has exited, although something that it started may hold the pipe."""
        await self._in_thread(self.child.wait)
        with anyio.move_on_after(DRAIN):
            await self.ended.wait()
        self.ended.set()
        to_us.close()

    async def _in_thread(self, work: Any, *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *args)


async def _read_some(fd: int) -> bytes:
    """Return what can be read, once there is something; no bytes at the end.

    Lets the loop run even if there is something already: a server which never stops printing must not stop the loop.
    """
    loop = asyncio.get_running_loop()
    readable: asyncio.Future[None] = loop.create_future()
    loop.add_reader(fd, _complete, readable)
    try:
        await readable
    finally:
        loop.remove_reader(fd)
    return os.read(fd, READ_SIZE)


def _complete(readable: "asyncio.Future[None]") -> None:
    if not readable.done():
        readable.set_result(None)
