"""Programs that behave and misbehave, each a few lines of Python in a folder of its own, and a session for them."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from linnet.concurrency.cancel import CancelToken
from linnet.core.cancel import Cancel
from linnet.core.commands import Answer
from linnet.core.commands import Command as CoreCommand
from linnet.core.models import Model
from linnet.core.questions import Question, Reply
from linnet.core.ui_events import Shown
from linnet.errors import Cancelled
from linnet.extensions.host import Saying
from linnet.extensions.programs.discovery import load
from linnet.extensions.programs.exchange import Patience
from linnet.extensions.programs.log import ExtensionLog
from linnet.extensions.programs.program import Program
from linnet.processes.process import Processes
from linnet.providers import catalog
from linnet.testing.processes import wait_until

PRELUDE = """
import json, os, sys, time
def send(**frame): print(json.dumps(frame), flush=True)
def frames(): return (json.loads(line) for line in sys.stdin)
def take(kind): return next(frame for frame in frames() if frame["type"] == kind)
def note(text): open("noted", "a").write(text + "\\n")
"""
HELLO = 'send(type="hello", name="x")\n'
TOOL = 'send(type="register_tool", name="tt", schema={"type": "object", "properties": {}})\n'
GUARD = 'send(type="subscribe", intercept=["tool_call"])\n'
READY = 'send(type="ready")\n'


def extension(folder: Path, code: str, **manifest: Any) -> Path:
    """A folder with a program that runs this after PRELUDE."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "main.py").write_text(PRELUDE + code)
    said = {"name": folder.name, "exec": sys.executable, "args": ["-I", "-S", "main.py"], **manifest}
    (folder / "extension.json").write_text(json.dumps(said))
    return folder


class Session:
    """Stands for what extensions belong to: keeps what it is told."""

    cwd = "/work"
    home = "/home"
    session_id = "s"
    session_file = None
    busy = False

    def __init__(self, processes: Processes) -> None:
        self.processes = processes
        self.flags: dict[str, Any] = {}
        self.model: Model = catalog.models("anthropic")[0]
        self.shown: list[Shown] = []
        self.failures: list[tuple[str, str]] = []
        self.said: list[tuple[str, str]] = []
        self.replies: SimpleQueue[Reply | None] = SimpleQueue()
        self.questions: list[Question] = []
        self.withdrawn = 0

    def ask(self, question: Question, cancel: Cancel, timeout: float | None = None) -> Reply | None:
        self.questions.append(question)
        try:
            with cancel.interrupting(lambda: self.replies.put(None)):
                return self.replies.get()
        except Cancelled:
            self.withdrawn += 1
            raise

    def show(self, shown: Shown) -> None:
        self.shown.append(shown)

    def say(self, text: str, how: Saying, kind: str = "", details: Any = None) -> None:
        self.said.append((how, text))

    def run(self, command: CoreCommand, cancel: Cancel) -> Answer:
        raise NotImplementedError

    def abort(self) -> None:
        raise NotImplementedError

    def keep(self, owner: str, data: Any) -> None:
        raise NotImplementedError

    def kept(self, owner: str) -> Any:
        raise NotImplementedError

    def owner(self, tool: str, path: str) -> str:
        return "linnet itself" if tool == "bash" else ""

    def failed(self, path: str, event: str, error: str) -> None:
        self.failures.append((event, error))

    def wait_for(self, event: str) -> str:
        """The error that was told about this event."""
        wait_until(lambda: any(each == event for each, _ in self.failures))
        return next(error for each, error in self.failures if each == event)


@pytest.fixture
def processes() -> Iterator[Processes]:
    processes = Processes()
    yield processes
    processes.close()


@pytest.fixture
def session(processes: Processes) -> Session:
    return Session(processes)


Run = Callable[..., Program]


@pytest.fixture
def run(tmp_path: Path, processes: Processes, session: Session) -> Iterator[Run]:
    """Start a program with this code, and wait until it is ready."""
    started: list[Program] = []

    def start(code: str, *, name: str = "guard", wait: bool = True, **patience: float) -> Program:
        folder = extension(tmp_path / name, code)
        log = ExtensionLog(str(tmp_path / "logs" / f"ext-{name}.log"))
        # Who says nothing for a while is not ready here: on a busy machine, that may be between any two lines.
        given = Patience(**{"end": 0.5, "idle": 600, **patience})
        program = Program(load(str(folder)), "path", session, log, given)
        started.append(program)
        program.start(processes)
        if wait:
            program.wait_ready(10, CancelToken())
        return program

    yield start
    for program in started:
        program.close(1)
