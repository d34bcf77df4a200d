"""What somebody at a terminal sees, on a real one."""

import json
import os
import pty
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from linnet.core.events import CompactionStarted, RetryScheduled, StepStarted, TextGrew, ToolFinished, ToolStarted
from linnet.core.messages import Text, ToolCall, ToolResult
from linnet.server.one_shot.progress import CLEAR, ProgressLine

LINNET = str(Path(sys.executable).with_name("linnet"))


class Screen:
    """The other side of a terminal."""

    def __init__(self) -> None:
        self.master, self.slave = pty.openpty()
        self.seen = ""

    def until(self, words: str) -> str:
        while words not in self.seen:
            ready, _, _ = select.select([self.master], [], [], 20)
            assert ready, f"{words!r} never came: {self.seen!r}"
            self.seen += os.read(self.master, 65536).decode()
        return self.seen


@pytest.fixture
def screen() -> Iterator[Screen]:
    screen = Screen()
    yield screen
    for fd in (screen.master, screen.slave):
        with suppress(OSError):
            os.close(fd)


@pytest.mark.parametrize(("flags", "protocol"), [(["rpc"], "zot"), (["--mode", "rpc"], "pi")])
def test_rpc_in_a_terminal_says_what_it_waits_for(
    screen: Screen, tmp_path: Path, flags: list[str], protocol: str
) -> None:
    command = [LINNET, *flags, "--provider", "scripted", "--no-session"]
    env = {"PATH": "/usr/bin:/bin", "LINNET_HOME": str(tmp_path)}
    with subprocess.Popen(
        command, stdin=screen.slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
    ) as agent:
        os.write(screen.master, b'{"id":"1","type":"get_state"}\n')
        assert agent.stdout
        assert json.loads(agent.stdout.readline())["success"] is True
        os.write(screen.master, b"\x04")
        assert agent.wait(20) == 0
        assert agent.stderr
        said = agent.stderr.read().decode()
    assert said.startswith(f"linnet: waiting for commands of the {protocol} protocol, one JSON object a line")
    assert said.count("\n") == 1


def test_rpc_on_a_pipe_says_nothing(tmp_path: Path) -> None:
    env = {"PATH": "/usr/bin:/bin", "LINNET_HOME": str(tmp_path)}
    command = [LINNET, "rpc", "--provider", "scripted"]
    assert subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=env, check=True).stderr == b""


def test_a_prompt_in_a_terminal_shows_step_tool_and_seconds_and_then_only_its_text(
    screen: Screen, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "gate")
    turns = [[{"call": "bash", "args": {"command": "cat gate"}}], [{"text": "All done."}]]
    (tmp_path / "script.json").write_text(json.dumps({"turns": turns}))
    env = {"PATH": "/usr/bin:/bin", "LINNET_HOME": str(tmp_path / "home"), "TERM": "xterm"}
    command = [LINNET, "-p", "go", "--script", "script.json"]
    with subprocess.Popen(
        command, stdin=screen.slave, stdout=subprocess.PIPE, stderr=screen.slave, cwd=tmp_path, env=env
    ) as agent:
        screen.until("step 1 · bash cat gate · ")
        (tmp_path / "gate").write_text("open\n")
        assert agent.stdout
        assert agent.stdout.read() == b"All done.\n"
        assert agent.wait(20) == 0
    screen.until(" s)\r")
    os.write(screen.slave, b"END")
    assert screen.until("END").endswith(f"{CLEAR}END"), "nothing is left of the line that was drawn"


@pytest.mark.parametrize("term", ["dumb", None])
def test_what_cannot_be_drawn_on_is_left_alone(screen: Screen, tmp_path: Path, term: str | None) -> None:
    env = {"PATH": "/usr/bin:/bin", "LINNET_HOME": str(tmp_path), "TERM": "dumb"}
    stderr = screen.slave if term else subprocess.PIPE
    command = [LINNET, "-p", "go", "--provider", "scripted", "--no-tools"]
    done = subprocess.run(command, stdin=screen.slave, stdout=subprocess.PIPE, stderr=stderr, env=env, cwd=tmp_path)
    assert done.returncode == 0
    assert not done.stderr
    os.write(screen.slave, b"END")
    assert screen.until("END") == "END"


def test_progress_is_a_line_that_is_drawn_again_and_one_for_each_tool() -> None:
    now = 10.0
    progress = ProgressLine(lambda: now)
    assert progress.hear([StepStarted(1)])
    assert progress.drawn(80) == f"{CLEAR}step 1 · thinking · 0 s"
    assert not progress.hear([TextGrew(0, "hi")])
    call = ToolCall("a", "bash", {"command": "make\n\x1b[31mall"})
    assert progress.hear([ToolStarted(call)])
    now = 12.25
    assert progress.drawn(80) == f"{CLEAR}step 1 · bash make \\x1b[31mall · 2 s"
    assert progress.drawn(10) == f"{CLEAR}step 1 · "
    progress.hear([ToolFinished(ToolResult("a", "bash", (Text("no"),), 0, is_error=True)), StepStarted(2)])
    assert progress.drawn(80) == f"{CLEAR}bash make \\x1b[31mall (2.2 s, failed)\r\n{CLEAR}step 2 · thinking · 2 s"
    progress.hear([RetryScheduled(1, 3, 2000, "no")])
    assert "step 2 · failed, trying again in 2 s (1 of 3) · 2 s" in progress.drawn(80)
    progress.hear([CompactionStarted("threshold")])
    assert "summarising the conversation" in progress.drawn(80)
    assert progress.wiped() == CLEAR
