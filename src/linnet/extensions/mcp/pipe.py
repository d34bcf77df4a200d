"""A server that is a child of ours, as the pair of streams that the `mcp` package speaks through.

The package could start the program by itself. Ours is started by the supervisor, so that nothing of it outlives us.
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
BABBLE = 200

Incoming = SessionMessage | Exception


class ServerPipe:
    """`ended` is set when nothing more will come. `babble` is the first thing on stdout that was no message."""

    def __init__(self, child: Child, threads: ThreadPoolExecutor) -> None:
        self.child = child
        self.ended = anyio.Event()
        self.babble = ""
        self.fault = ""
        self._threads = threads

    @asynccontextmanager
    async def streams(
        self,
    ) -> AsyncIterator[tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]]:
        """While the body runs, messages go both ways. The child is gone when it has ended."""
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
        """In a thread: a server that does not read its stdin must not stop the others."""
        async for message in to_them:
            line = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
            try:
                await self._in_thread(self.child.write, line)
            except OSError:
                self.child.kill()  # It closed its stdin, and can be told nothing any more.
                return

    async def _notice_end(self, to_us: MemoryObjectSendStream[Incoming]) -> None:
        await self._in_thread(self.child.wait)
        with anyio.move_on_after(DRAIN):
            await self.ended.wait()
        self.ended.set()
        to_us.close()

    async def _in_thread(self, work: Any, *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *args)


async def _read_some(fd: int) -> bytes:
    """Waits even if there is something already, so that a server which never stops printing does not stop the loop."""
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
