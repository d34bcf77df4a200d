"""One connection to an MCP server, by the `mcp` package, which this imports. Used in the loop's thread only."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TypeVar

import anyio
import mcp_types as types
from mcp.client.session import ClientSession, IncomingMessage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.exceptions import MCPError

from linnet import __version__
from linnet.core.toolspec import MOST_TOOLS
from linnet.errors import ToolFailed
from linnet.extensions.mcp.bounded import LARGEST_IN_ALL
from linnet.extensions.mcp.config import Http
from linnet.extensions.mcp.offers import Lost, OfferedPrompt, OfferedTool, Offers, Resource
from linnet.extensions.mcp.pipe import ServerPipe
from linnet.extensions.mcp.server_results import progress_text
from linnet.processes.child import Child

T = TypeVar("T")
MOST_PAGES = 1000
SIDE_LISTS = 5.0  # Seconds that lists of prompts and resources may take: tools do not wait longer for them.
_CHANGES = (
    types.ToolListChangedNotification,
    types.PromptListChangedNotification,
    types.ResourceListChangedNotification,
)
# A server that no longer has the handshake, but the protocol that came after it.
_NO_HANDSHAKE = (types.UNSUPPORTED_PROTOCOL_VERSION, types.METHOD_NOT_FOUND)


class McpConnection:
    """A session of the `mcp` package: asks the server, and keeps up with what it offers."""

    def __init__(self, session: ClientSession, pipe: ServerPipe | None, changed: Callable[[Offers], None]) -> None:
        """`changed` is called with what the server offers, and again when that changes."""
        self._session = session
        self._pipe = pipe
        self._changed = changed
        self._stale = asyncio.Event()  # Set when the server says that a list has changed.
        self.lost = asyncio.Event()
        """Set when the connection has ended."""

    async def open(self, deadline: float) -> None:
        """Shake hands, and ask what the server offers. Raises TimeoutError after `deadline` seconds, and MCPError."""
        async with asyncio.timeout(deadline):
            try:
                await self._session.initialize()
            except MCPError as error:
                if error.code not in _NO_HANDSHAKE:
                    raise
                await self._session.discover()
            self._changed(await self._list())

    async def stay(self) -> None:
        """Keep up with what the server has, until there is no connection any more."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._follow)
            if self._pipe is not None:
                tasks.start_soon(_mirror, self._pipe.ended.wait, self.lost)
            await self.lost.wait()
            tasks.cancel_scope.cancel()

    async def call(
        self,
        tool: str,
        args: dict[str, Any],
        silence: float,
        report: Callable[[str], None],
        begin: Callable[[], None],
    ) -> Any:
        """Call a tool, and return the result. If this is cancelled, or after `silence` seconds without a sign of life,
        the server is told to stop. `begin` is called just before the call is sent; what it raises, this raises.

        Raises TimeoutError, Lost, or ToolFailed with what the server said.
        """
        async with asyncio.timeout(silence) as deadline:

            async def progressed(progress: float, total: float | None, message: str | None) -> None:
                deadline.reschedule(asyncio.get_running_loop().time() + silence)
                report(progress_text(progress, total, message))

            begin()
            request = types.CallToolRequest(params=types.CallToolRequestParams(name=tool, arguments=args))
            return await self._ask(
                self._session.send_request(request, types.CallToolResult, progress_callback=progressed)
            )

    async def get_prompt(self, name: str, args: dict[str, str], silence: float) -> types.GetPromptResult:
        """Return a prompt with these arguments. Raises as `call`."""
        async with asyncio.timeout(silence):
            return await self._ask(self._session.get_prompt(name, args or None))

    async def read(self, uri: str, silence: float) -> types.ReadResourceResult:
        """Return the contents of a resource. Raises as `call`."""
        async with asyncio.timeout(silence):
            return await self._ask(self._session.read_resource(uri))

    async def heard(self, message: IncomingMessage) -> None:
        """Note that a list has changed, if that is what the server says unasked. The package calls this."""
        if isinstance(message, _CHANGES):
            self._stale.set()

    async def _ask(self, answer: Awaitable[T]) -> T:
        """Await the answer. Raises Lost and ToolFailed instead of the package's errors."""
        try:
            return await answer
        except MCPError as error:
            # Over HTTP there is no pipe that ends: this is how one learns that the session is over.
            if error.code == types.CONNECTION_CLOSED or error.message == "Session terminated":
                self.lost.set()
                raise Lost(error.message) from None
            raise ToolFailed(error.message) from None
        except (ValueError, RuntimeError) as error:
            raise ToolFailed(f"the server's answer makes no sense: {error}") from None

    async def _follow(self) -> None:
        """Ask for the lists again each time one has changed."""
        while True:
            await self._stale.wait()
            self._stale.clear()
            try:
                async with asyncio.timeout(SIDE_LISTS * 2):
                    self._changed(await self._list())
            except (MCPError, TimeoutError, ValueError):
                continue  # What was offered before stays.

    async def _list(self) -> Offers:
        """Return all that the server offers; without prompts and resources if listing these fails or takes long."""
        has = self._session.server_capabilities or types.ServerCapabilities()
        tools = await _pages(self._session.list_tools, lambda page: page.tools) if has.tools else []
        prompts: list[types.Prompt] = []
        resources: list[types.Resource] = []
        try:
            async with asyncio.timeout(SIDE_LISTS):
                if has.prompts:
                    prompts = await _pages(self._session.list_prompts, lambda page: page.prompts)
                if has.resources:
                    resources = await _pages(self._session.list_resources, lambda page: page.resources)
        except (MCPError, TimeoutError):
            pass
        return Offers(
            tuple(OfferedTool(tool.name, tool.description or tool.title or "", tool.input_schema) for tool in tools),
            tuple(
                OfferedPrompt(
                    prompt.name,
                    prompt.description or prompt.title or "",
                    tuple((each.name, bool(each.required)) for each in prompt.arguments or ()),
                )
                for prompt in prompts
            ),
            tuple(Resource(str(each.uri), each.name, each.description or each.title or "") for each in resources),
        )


@asynccontextmanager
async def connected(
    place: Http | Child, threads: ThreadPoolExecutor, changed: Callable[[Offers], None]
) -> AsyncIterator[tuple[McpConnection, ServerPipe | None]]:
    """Yield a connection that was not opened yet. A child is closed when the body has ended."""
    for name in ("mcp", "client"):  # What the package has to say is told in the results of calls.
        if not (logger := logging.getLogger(name)).handlers:
            logger.addHandler(logging.NullHandler())
    async with AsyncExitStack() as stack:
        pipe: ServerPipe | None = None
        if isinstance(place, Http):
            client = await stack.enter_async_context(create_mcp_http_client(headers=place.headers))
            streams = await stack.enter_async_context(streamable_http_client(place.url, http_client=client))
        else:
            pipe = ServerPipe(place, threads)
            streams = await stack.enter_async_context(pipe.streams())
        info = types.Implementation(name="linnet", version=__version__)

        async def heard(message: IncomingMessage) -> None:
            await connection.heard(message)

        session = ClientSession(*streams, message_handler=heard, client_info=info)
        connection = McpConnection(session, pipe, changed)
        await stack.enter_async_context(session)
        yield connection, pipe


async def _pages(ask: Callable[..., Awaitable[Any]], items: Callable[[Any], list[T]]) -> list[T]:
    """Return all pages of a list, cut off if a server hands out cursors for ever, or would fill the memory."""
    found: list[T] = []
    size = 0
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await ask(params=types.PaginatedRequestParams(cursor=cursor) if cursor else None)
        found += items(page)
        size += len(page.model_dump_json())
        cursor = page.next_cursor
        if not cursor or size > LARGEST_IN_ALL or len(found) > MOST_TOOLS:
            break  # What is too much is told when it is looked at.
    return found


async def _mirror(wait: Callable[[], Awaitable[Any]], event: asyncio.Event) -> None:
    """Set an event when `wait` returns."""
    await wait()
    event.set()
