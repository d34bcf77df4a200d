"""All configured MCP servers as one toolset, and their prompts and resources as commands."""

from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import nullcontext
from queue import SimpleQueue
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from msgspec import Struct

from linnet.concurrency.loop import Loop
from linnet.core.messages import ToolCall
from linnet.core.permissions.tool_selection import matches
from linnet.core.toolspec import ToolSpec
from linnet.errors import BadInput, Closed, ToolFailed
from linnet.extensions.mcp.config import ServerConfig
from linnet.extensions.mcp.naming import clashes, names, prefix
from linnet.extensions.mcp.offers import OfferedPrompt, Resource
from linnet.extensions.mcp.server import McpServer
from linnet.extensions.mcp.server_results import content, prompt_text, resource_text
from linnet.logs import warn
from linnet.tools.context import ToolContext
from linnet.tools.functions.shorten import shortened
from linnet.tools.spec import ToolOutput, check_args, failed

if TYPE_CHECKING:
    from linnet.core.cancel import Cancel
    from linnet.processes.process import Processes

T = TypeVar("T")
PATIENCE = 10.0  # Seconds that the first run waits for servers to start.
NO_ARGUMENTS = {"type": "object", "properties": {}}  # Vendors refuse a schema that does not say this much.
CLOSING = 2.0  # Seconds that all of them have to end.


class McpCommand(Struct, frozen=True):
    """A prompt or a resource of a server, as a command that a person can type."""

    name: str
    description: str
    source: str  # The server's name.
    kind: Literal["prompt", "resource"]
    arguments: tuple[str, ...] = ()


class ServerStatus(Struct, frozen=True):
    """How a server is."""

    name: str
    state: Literal["idle", "starting", "ready", "down"]
    tools: int  # How many it has.
    problem: str  # Why it is down.
    stderr: str  # The end of it.


class McpServers:
    """A toolset. Servers are started when the first run begins, all at once, in the background.

    Invariant: once `close` has returned, none of them is running. Nobody waits for a server longer than `patience`
    seconds, counted from its first start: one that needs longer is left out, and joins when it is ready.
    """

    def __init__(
        self,
        configs: Iterable[ServerConfig],
        processes: "Processes",
        cwd: str,
        *,
        only: Sequence[str] | None = None,
        patience: float = PATIENCE,
        neutral: str | None = None,
    ) -> None:
        """With `only`, no tools are offered but these: `mcp__server__tool`, where * stands for any characters, or
        `mcp__server` for all of one. `neutral` is where servers start that do not say where; None is `cwd`.
        """
        self._loop = Loop()
        self._servers = {config.name: McpServer(config, cwd, processes, _tell, neutral) for config in configs}
        self._only = only
        self._patience = patience
        self._lock = Lock()  # For `_waiting_until`, so that one thread begins the first start.
        self._waiting_until: float | None = None  # None before the first start.
        self._settled: Future[None] = Future()  # Done when each server was ready, or failed, for the first time.
        self._told: set[tuple[str, ...]] = set()  # Clashes of names that were logged.

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """The tools of the servers that run, or did and will again, sorted by name. Starts those that do not run."""
        self.begin()
        return tuple(sorted((spec for _, _, spec in self._tools().values()), key=lambda spec: spec.name))

    def begin(self, cancel: "Cancel | None" = None) -> None:
        """Start servers that do not run, and wait for the first start of all, as long as patience lasts.

        One that died is started again too, but is not waited for here. Raises Cancelled.
        """
        with self._lock:
            first = self._waiting_until is None
            if first:
                self._waiting_until = monotonic() + self._patience
        idle = [server for server in self._servers.values() if server.state in ("idle", "down")]
        starts = [start for server in idle if (start := self._start(server)) is not None]
        if first:
            _when_all_are_done(starts, self._settled)
        self._wait(cancel)

    def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        """Run the call and return its output; what goes wrong is output for the model. Raises only Cancelled."""
        found = self._tools().get(call.name)
        if found is None:
            return failed(f"No MCP server has a tool called {call.name}.")
        server, tool, _ = found
        news: SimpleQueue[str | None] = SimpleQueue()
        try:
            check_args(call)
            result = self._wait_for(
                lambda: server.call(tool, call.args, news.put, context.begin), context.cancel, news, context.progress
            )
        except ToolFailed as failure:
            return failed(failure)
        details = {"server": server.name, "tool": tool}
        return ToolOutput(shortened(content(result)), is_error=bool(result.is_error), details=details)

    def commands(self) -> list[McpCommand]:
        """Return the prompts and resources that are known by now. Starts nothing, and does not wait."""
        return [command for command, _, _ in self._commands().values()]

    def expand(self, name: str, arguments: str, cancel: "Cancel") -> str:
        """Return the text that a command stands for. The words of `arguments` go to the arguments of a prompt in their
        order; the last one takes the rest. Raises BadInput with a sentence, or Cancelled.
        """
        found = self._commands().get(name)
        if found is None:
            raise BadInput(f"no MCP server has a prompt or resource called {name}")
        _, server, offer = found
        try:
            if isinstance(offer, Resource):
                uri = offer.uri
                return resource_text(self._wait_for(lambda: server.read(uri), cancel))
            given, prompt = _arguments(offer, arguments), offer.name
            return prompt_text(self._wait_for(lambda: server.get_prompt(prompt, given), cancel))
        except ToolFailed as failure:
            raise BadInput(str(failure)) from None

    def status(self) -> list[ServerStatus]:
        """Return how each of them is."""
        return [
            ServerStatus(each.name, each.state, len(each.offers.tools), each.problem, each.stderr)
            for each in self._servers.values()
        ]

    def close(self) -> None:
        """End all of them. Nothing is started from here on. Idempotent."""
        self._loop.close(CLOSING)

    def _start(self, server: McpServer) -> Future[Any] | None:
        """Have the loop make a server ready; None after `close`."""
        try:
            return self._loop.submit(server.ready)
        except Closed:
            return None

    def _wait(self, cancel: "Cancel | None") -> None:
        """Wait for the first start of all servers, as long as patience lasts. Raises Cancelled."""
        assert self._waiting_until is not None
        left = self._waiting_until - monotonic()
        if left <= 0 or self._settled.done():
            return
        interrupted: Future[None] = Future()
        with cancel.interrupting(lambda: interrupted.set_result(None)) if cancel else nullcontext():
            wait([self._settled, interrupted], left, FIRST_COMPLETED)

    def _wait_for(
        self,
        work: Callable[[], Coroutine[Any, Any, T]],
        cancel: "Cancel",
        news: "SimpleQueue[str | None] | None" = None,
        progress: Callable[[str], None] = lambda text: None,
    ) -> T:
        """Run a coroutine in the loop, and return what it returns. Raises ToolFailed and Cancelled.

        Its news are reported in this thread, so that there are none once this has returned.
        """
        queue: SimpleQueue[str | None] = SimpleQueue() if news is None else news
        cancel.check()
        try:
            future = self._loop.submit(work)
        except Closed:
            raise ToolFailed("MCP servers are closed.") from None
        future.add_done_callback(lambda _: queue.put(None))
        try:
            with cancel.interrupting(lambda: _cancel(future)):
                while (text := queue.get()) is not None:
                    progress(text)
                return future.result()
        except CancelledError:  # Not by an abort, which raises Cancelled: `close` cancels all that runs in the loop.
            raise ToolFailed("MCP servers are closed.") from None
        except BaseException:
            future.cancel()
            raise

    def _tools(self) -> dict[str, tuple[McpServer, str, ToolSpec]]:
        """Return the tools that are offered, by the name for the model: server, name there, and spec."""
        offered = [(server, tool) for server in self._servers.values() for tool in server.offers.tools]
        listed = {(server.name, tool.name): (server, tool) for server, tool in offered}
        called = names(listed)
        for tools in clashes(listed):
            if tools not in self._told:
                self._told.add(tools)
                _tell(f"MCP tools whose names differ too little have a mark of their own: {', '.join(tools)}")
        return {
            called[key]: (server, tool.name, ToolSpec(called[key], tool.description, {**NO_ARGUMENTS, **tool.schema}))
            for key, (server, tool) in listed.items()
            if self._only is None or matches(called[key], self._only) or prefix(server.name) in self._only
        }

    def _commands(self) -> dict[str, tuple[McpCommand, McpServer, OfferedPrompt | Resource]]:
        """Return the commands by name, each with its server and what it stands for."""
        offers: dict[tuple[str, str], tuple[McpServer, OfferedPrompt | Resource]] = {}
        for server in self._servers.values():
            for prompt in server.offers.prompts:
                offers[server.name, prompt.name] = server, prompt
            for resource in server.offers.resources:  # A name is a prompt's first; two resources have two addresses.
                known = (server.name, resource.name) in offers
                offers[server.name, resource.uri if known else resource.name] = server, resource
        called = names(offers)
        return {
            called[key]: (_command(called[key], server, offer), server, offer)
            for key, (server, offer) in offers.items()
        }


def _command(name: str, server: McpServer, offer: OfferedPrompt | Resource) -> McpCommand:
    if isinstance(offer, Resource):
        return McpCommand(name, offer.description or offer.uri, server.name, "resource")
    arguments = tuple(argument for argument, _ in offer.arguments)
    return McpCommand(name, offer.description, server.name, "prompt", arguments)


def _arguments(prompt: OfferedPrompt, said: str) -> dict[str, str]:
    """Return the arguments of a prompt from what a person typed. Raises BadInput if one is missing."""
    known = [name for name, _ in prompt.arguments]
    words = said.split(maxsplit=len(known) - 1) if known else []
    given = {name: word.strip() for name, word in zip(known, words, strict=False)}
    if missing := [name for name, required in prompt.arguments if required and name not in given]:
        raise BadInput(f"the prompt {prompt.name} needs {', '.join(missing)}: give {' '.join(known)}, in this order")
    return given


def _when_all_are_done(starts: Sequence[Future[Any]], settled: Future[None]) -> None:
    """Have `settled` done when all of these are."""
    left = len(starts)
    lock = Lock()

    def count(_: object) -> None:
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if last:
            settled.set_result(None)

    for start in starts:
        start.add_done_callback(count)
    if not starts:
        settled.set_result(None)


def _tell(sentence: str) -> None:
    """Log a sentence; without a handler of the program's own, this is a line on stderr."""
    warn("linnet.mcp", sentence)


def _cancel(future: Future[Any]) -> None:
    future.cancel()
