"""One MCP server: starts it when it is needed, and again when it died. Runs in the loop's thread."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from signal import Signals
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from linnet.errors import Closed, ToolFailed
from linnet.extensions.mcp.bounded import bounded
from linnet.extensions.mcp.config import Http, ServerConfig, StdioServer
from linnet.extensions.mcp.offers import Lost, Offers

if TYPE_CHECKING:
    from linnet.extensions.mcp.connection import McpConnection
    from linnet.processes.child import Child
    from linnet.processes.process import Processes

T = TypeVar("T")
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0  # Seconds before it is started again: twice as long after each failure.
LAST_WORDS = 0.5  # Seconds to wait for the exit code of a server that closed its stdout.
SHOWN_STDERR = 2000  # Characters.
MOST_TOLD = 10  # Sentences about what is left out of a list.
SAFE_PATH = "PYTHONSAFEPATH"  # Keeps Python from importing what is in the folder that it is started in.


class McpServer:
    """A server, and its connection while there is one.

    `offers`, `problem`, `state` and `stderr` may be read by any thread; the rest belongs to the loop's, so it needs no
    lock. Invariant: there is at most one connection. What was offered stays offered while the server is started again,
    so that what the model is told does not change with every accident.
    """

    def __init__(
        self,
        config: ServerConfig,
        cwd: str,
        processes: "Processes",
        told: Callable[[str], None],
        neutral: str | None = None,
    ) -> None:
        """`neutral` is the folder where it is started if its entry names none; None is `cwd`, which is trusted then.
        `told` is called with sentences about what went wrong.
        """
        self.config = config
        self.name = config.name
        self.offers = Offers()
        self.problem = ""
        """Why it is down."""
        self.state: Literal["idle", "starting", "ready", "down"] = "idle"
        self._cwd = cwd
        self._neutral = neutral
        self._processes = processes
        self._told = told
        self._child: Child | None = None
        self._connection: McpConnection | None = None
        self._life: asyncio.Task[None] | None = None  # Runs `_live`; None while the server is not to run.
        self._settled = asyncio.Event()  # Set when there is a connection, or will be none.
        self._answered = False  # Whether this connection has answered anything.
        self._failures = 0  # Connections in a row that have not.
        self._not_before = 0.0  # When it may be started again.
        self._last_told = ""
        self._left_out: set[str] = set()  # Sentences that were told about offers which are too large.

    @property
    def stderr(self) -> str:
        """The end of what the process that was started last has printed on stderr, up to 64 KiB."""
        return self._child.stderr if self._child is not None else ""

    async def ready(self) -> "McpConnection":
        """Return the connection; start the server if need be, and wait. Raises ToolFailed if there will be none."""
        if self._connection is None:
            if self._life is None:  # Nothing is awaited up to `create_task`, so that two callers start one server.
                pause = self._not_before - monotonic()
                if pause > 0:
                    raise ToolFailed(f"{self._gone()}\nIt will be started again, in {pause:.1f} s at the earliest.")
                self.state = "starting"
                self._settled.clear()
                self._life = asyncio.create_task(self._live())
            await self._settled.wait()
        if self._connection is None:  # It failed while we waited.
            raise ToolFailed(self._gone())
        return self._connection

    async def call(
        self, tool: str, args: dict[str, Any], progress: Callable[[str], None], begin: Callable[[], None]
    ) -> Any:
        """Call a tool, and return the `mcp` package's result. `begin` is called just before it is sent.

        Raises ToolFailed, and what `begin` raises.
        """
        silence = self.config.timeout
        return await self._ask(lambda connection: connection.call(tool, args, silence, progress, begin))

    async def get_prompt(self, name: str, args: dict[str, str]) -> Any:
        """Return the `mcp` package's prompt. Raises ToolFailed."""
        return await self._ask(lambda connection: connection.get_prompt(name, args, self.config.timeout))

    async def read(self, uri: str) -> Any:
        """Return the `mcp` package's contents of a resource. Raises ToolFailed."""
        return await self._ask(lambda connection: connection.read(uri, self.config.timeout))

    async def _ask(self, ask: "Callable[[McpConnection], Awaitable[T]]") -> T:
        """Ask the server something, once it is ready, and return the answer. Raises ToolFailed."""
        connection = await self.ready()
        life = self._life  # Of this connection: there may be another by the time it is lost.
        try:
            answer = await ask(connection)
        except TimeoutError:
            raise ToolFailed(f"MCP server {self.name} gave no answer for {self.config.timeout:g} s") from None
        except Lost:
            if life is not None:
                await asyncio.wait([life])  # For the exit code, and the last it has to say.
            raise ToolFailed(self._gone()) from None
        self._answered = True
        return answer

    async def _live(self) -> None:
        """Start the server, and keep the connection to its end, whatever that is. Runs as the task `_life`."""
        threads = ThreadPoolExecutor(4, thread_name_prefix=f"linnet-mcp-{self.name}")
        self._answered = False
        signs: list[str] = []  # Of what happened, the surest first.
        stopped = False
        try:
            await self._connect(threads, signs)
        except asyncio.CancelledError:
            stopped = True
            raise
        except BaseException as error:
            if not signs or signs[0].startswith("It printed"):
                signs.insert(0, _reason(error, self.config.start_timeout) + self._whereabouts(error))
        finally:
            self._end(". ".join(signs) or "the connection ended", stopped=stopped)
            threads.shutdown(wait=False)

    async def _connect(self, threads: ThreadPoolExecutor, signs: list[str]) -> None:
        """Connect, and stay until the connection ends; append to `signs` what is known of the reason."""
        transport = self.config.transport
        # Started before anything is imported: it has imports of its own to do meanwhile.
        place: Http | Child = transport if isinstance(transport, Http) else await self._start(transport, threads)
        from linnet.extensions.mcp.connection import connected

        async with connected(place, threads, self._offer) as (connection, pipe):
            try:
                await connection.open(self.config.start_timeout)
                self._connection = connection
                self.state, self.problem = "ready", ""
                self._settled.set()
                await connection.stay()
            finally:
                self._connection = None  # At once: nobody else is to ask while we wait for the exit code.
                if pipe is not None:
                    if pipe.fault:
                        signs.append(pipe.fault)
                    elif pipe.ended.is_set():
                        exited = asyncio.get_running_loop().run_in_executor(threads, pipe.child.wait, LAST_WORDS)
                        signs.append(_exit(await exited))
                    if pipe.babble:
                        signs.append(f'It printed "{pipe.babble}" on stdout, where only messages belong')

    async def _start(self, stdio: StdioServer, threads: ThreadPoolExecutor) -> "Child":
        """Start the process, in a thread, since that blocks. Raises OSError, ValueError or Closed."""
        command = os.path.expanduser(stdio.command)

        def start() -> "Child":
            cwd, env = self._place(stdio)
            return self._processes.start([command, *stdio.args], cwd=cwd, env=env, trusted=not stdio.sandbox)

        self._child = await asyncio.get_running_loop().run_in_executor(threads, start)
        return self._child

    def _place(self, stdio: StdioServer) -> tuple[str, dict[str, str]]:
        """Return the folder to start it in, and its variables.

        Programs run what they find around them: `npx` a package of the folder that it is started in, `python -m` a
        module. So a stranger's folder is not where they are started.
        """
        if self._neutral is None or stdio.cwd is not None:
            return os.path.join(self._cwd, os.path.expanduser(stdio.cwd or ".")), stdio.env
        try:
            os.makedirs(self._neutral, 0o700, exist_ok=True)
            cwd = self._neutral
        except OSError:
            cwd = "/"
        return cwd, {SAFE_PATH: "1", "PWD": cwd, **stdio.env}

    def _offer(self, offers: Offers) -> None:
        """Take what the server offers now; what is too much of it is left out, and told once."""
        self.offers, problems = bounded(offers)
        for problem in problems[:MOST_TOLD]:
            if problem not in self._left_out:
                self._left_out.add(problem)
                self._told(f"MCP server {self.name}: {problem}")

    def _end(self, reason: str, *, stopped: bool) -> None:
        """Note that the connection has ended, and when the next may be made; wake those who wait for one."""
        self._failures = 0 if self._answered else self._failures + 1
        pause = min(FIRST_PAUSE * 2 ** (self._failures - 1), LONGEST_PAUSE) if self._failures else 0
        self._not_before = monotonic() + pause
        self.state = "down"
        self.problem = reason
        self._connection = self._life = None
        self._settled.set()
        if not stopped and reason != self._last_told:
            self._last_told = reason
            self._told(self._gone())

    def _whereabouts(self, error: BaseException) -> str:
        """Say that it is not started in the working folder, if that may be why its program is not found."""
        stdio = self.config.transport
        elsewhere = self._neutral is not None and isinstance(stdio, StdioServer) and stdio.cwd is None
        if not elsewhere or not isinstance(next(_leaves(error)), FileNotFoundError):
            return ""
        return f". It is not started in {self._cwd}, which is not trusted, unless its entry has a cwd"

    def _gone(self) -> str:
        """Say that it is not there, and why, with the end of its stderr."""
        words = self.stderr.rstrip()[-SHOWN_STDERR:]
        return f"MCP server {self.name} is not there: {self.problem}." + (
            f"\nIts stderr ended with:\n{words}" if words else ""
        )


def _exit(code: int | None) -> str:
    """Say how a process ended that has closed its stdout."""
    if code is None:
        return "it closed its stdout"
    if code < 0:
        with suppress(ValueError):
            return f"it was ended by {Signals(-code).name}"
    return f"it exited with code {code}"


def _reason(error: BaseException, deadline: float) -> str:
    """Say why a connection ended, by the first error of a group."""
    first = next(_leaves(error))
    match first:
        case FileNotFoundError() | PermissionError() | NotADirectoryError():
            return f"it could not be started: {first.strerror}: {first.filename}"
        case TimeoutError():
            return f"it was not ready within {deadline:g} s"
        case ModuleNotFoundError():
            return "linnet needs the mcp package for it: pip install 'linnet-agent[mcp]'"
        case Closed():
            return "it was stopped"
        case _:
            return str(first).strip().rstrip(".") or type(first).__name__


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors that a group is made of, however deep."""
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    else:
        yield error
