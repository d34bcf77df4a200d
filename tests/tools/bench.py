"""A folder to work in, with the tools of a session, and ways to wait for things without guessing how long they take."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any

import pytest

from linnet.concurrency.cancel import CancelToken
from linnet.core.messages import Text, ToolCall
from linnet.processes.process import Processes
from linnet.tools.context import ToolContext
from linnet.tools.registry import Registry
from linnet.tools.spec import ToolOutput
from linnet.tools.standard import NAMES, standard_tools

PATIENCE = 10.0


def text(output: ToolOutput) -> str:
    return "".join(part.text for part in output.content if isinstance(part, Text))


class Running:
    """A tool call in a thread of its own."""

    def __init__(self, bench: "Bench", name: str, args: dict[str, Any]) -> None:
        self.cancel = CancelToken()
        self.heard: list[str] = []
        self._outputs: list[ToolOutput] = []
        context = ToolContext(bench.cwd, self.cancel, self.heard.append, bench.processes)
        self._thread = Thread(target=lambda: self._outputs.append(bench.run(name, args, context)))
        self._thread.start()

    def hears(self, words: str) -> str:
        """Everything printed so far, once it has those words."""
        Bench.eventually(lambda: words in "".join(self.heard) or not self._thread.is_alive())
        assert words in "".join(self.heard)
        return "".join(self.heard)

    def result(self) -> ToolOutput:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        return self._outputs[0]


class Bench:
    def __init__(self, cwd: Path, processes: Processes) -> None:
        self.cwd = cwd
        self.processes = processes
        self.registry = Registry(standard_tools(NAMES))
        self.heard: list[str] = []
        self.cancel = CancelToken()

    def run(self, name: str, args: dict[str, Any], context: ToolContext) -> ToolOutput:
        return self.registry.run(ToolCall("1", name, args), context)

    def call(self, name: str, **args: Any) -> ToolOutput:
        return self.run(name, args, ToolContext(self.cwd, self.cancel, self.heard.append, self.processes))

    def ok(self, name: str, **args: Any) -> str:
        output = self.call(name, **args)
        assert not output.is_error, text(output)
        return text(output)

    def fails(self, name: str, **args: Any) -> str:
        output = self.call(name, **args)
        assert output.is_error, text(output)
        return text(output)

    def start(self, name: str, **args: Any) -> Running:
        return Running(self, name, args)

    @staticmethod
    def eventually(condition: Callable[[], object]) -> None:
        deadline = monotonic() + PATIENCE
        while not condition():
            assert monotonic() < deadline, "it never happened"
            sleep(0.002)

    @staticmethod
    def is_alive(pid: int) -> bool:
        """A zombie is not: who has to reap it is another matter."""
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
        except OSError:
            return False

    @staticmethod
    def carriers(mark: str) -> list[int]:
        """Every process that was started with `mark` somewhere in its environment."""
        found = []
        for name in os.listdir("/proc"):
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    if name.isdigit() and mark.encode() in file.read():
                        found.append(int(name))
            except OSError:
                continue
        return found


@pytest.fixture
def processes() -> Iterator[Processes]:
    keeper = Processes()
    yield keeper
    keeper.close()


@pytest.fixture
def bench(tmp_path: Path, processes: Processes, monkeypatch: pytest.MonkeyPatch) -> Bench:
    import tempfile

    spill = tmp_path / "spill"
    spill.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spill))
    cwd = tmp_path / "work"
    cwd.mkdir()
    return Bench(cwd, processes)
