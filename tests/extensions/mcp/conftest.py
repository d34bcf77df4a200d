"""Servers of a session, in a folder of the test's own."""

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from linnet.concurrency.cancel import CancelToken
from linnet.core.messages import Text, ToolCall
from linnet.extensions.mcp.config import ServerConfig, StdioServer, servers
from linnet.extensions.mcp.servers import McpServers
from linnet.processes.process import Processes
from linnet.testing.agent import Agent
from linnet.tools.context import ToolContext
from linnet.tools.spec import ToolOutput
from tests.suite.forked import ForkedAgentWithMcp

SCRIPTED = Path(__file__).with_name("scripted_server.py")
LONG = (
    100.0  # For what is not about waiting: machines may be busy, and the package alone takes seconds to import there.
)


class Calling:
    """A call in a thread of its own."""

    def __init__(self, bench: "Bench", toolset: McpServers, name: str, args: dict[str, Any]) -> None:
        self.cancel = CancelToken()
        self.heard: list[str] = []
        self.outcome: list[ToolOutput | BaseException] = []
        context = ToolContext(bench.cwd, self.cancel, self.heard.append, bench.processes)

        def work() -> None:
            try:
                self.outcome.append(toolset.run(ToolCall("1", name, args), context))
            except BaseException as error:
                self.outcome.append(error)

        self._thread = Thread(target=work)
        self._thread.start()

    def result(self) -> ToolOutput | BaseException:
        self._thread.join(LONG)
        return self.outcome[0]


class Bench:
    def __init__(self, cwd: Path, processes: Processes, stack: ExitStack) -> None:
        self.cwd = cwd
        self.processes = processes
        self._stack = stack

    def toolset(self, *configs: ServerConfig, patience: float = LONG, neutral: str | None = None) -> McpServers:
        toolset = McpServers(configs, self.processes, str(self.cwd), patience=patience, neutral=neutral)
        self._stack.callback(toolset.close)
        return toolset

    def configured(self, patience: float = LONG, **given: dict[str, Any]) -> McpServers:
        """With servers that are spelled as in a file."""
        configs = servers({"mcpServers": given}, "test", {})
        return self.toolset(*configs, patience=patience)

    def call(self, toolset: McpServers, name: str, /, **args: Any) -> ToolOutput:
        context = ToolContext(self.cwd, CancelToken(), lambda text: None, self.processes)
        return toolset.run(ToolCall("1", name, args), context)

    def start(self, toolset: McpServers, name: str, /, **args: Any) -> Calling:
        return Calling(self, toolset, name, args)

    @staticmethod
    def words(output: "ToolOutput | BaseException") -> str:
        assert isinstance(output, ToolOutput)
        return "".join(part.text for part in output.content if isinstance(part, Text))

    @staticmethod
    def scripted(
        *behaviours: str, name: str = "odd", timeout: float = LONG, start_timeout: float = LONG, **env: str
    ) -> ServerConfig:
        transport = StdioServer(sys.executable, (str(SCRIPTED), *behaviours), env)
        return ServerConfig(name=name, transport=transport, timeout=timeout, start_timeout=start_timeout)

    @staticmethod
    def spelled(*behaviours: str) -> dict[str, Any]:
        """The same as in a file."""
        return {"command": sys.executable, "args": [str(SCRIPTED), *behaviours]}

    @property
    def noted(self) -> str:
        file = self.cwd / "noted.txt"
        return file.read_text() if file.exists() else ""


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    spill, cwd = tmp_path / "spill", tmp_path / "work"
    spill.mkdir()
    cwd.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spill))
    processes = Processes()
    with ExitStack() as stack:
        stack.callback(processes.close)
        yield Bench(cwd, processes, stack)


@pytest.fixture
def spawn(tmp_path: Path) -> Iterator[Callable[..., Agent]]:
    """As for all others, by one who has the package for such servers loaded."""
    folder = tmp_path / "work"
    folder.mkdir()
    with ExitStack() as stack:
        yield lambda *flags, **options: stack.enter_context(ForkedAgentWithMcp(*flags, **{"cwd": folder, **options}))
