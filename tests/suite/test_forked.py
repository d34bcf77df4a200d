"""A forked linnet is what a launched one is, as far as anybody can tell who does not ask how it was started."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.agent import Agent
from tests.suite import forked
from tests.suite.forked import ForkedAgent

LINNET = Path(sys.executable).with_name("linnet")
SHOW = (
    "env | grep -v ^_= | sort; pwd; umask; ulimit -f; ulimit -n; grep -E 'Sig(Blk|Ign)' /proc/self/status; ls /dev/fd/"
)


def field(pid: int, name: str) -> str:
    (value,) = re.findall(rf"^{name}:\s*(\S+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return str(value)


def seen(kind: type[Agent], folder: Path) -> list[object]:
    """Of one: its files, its signals, and what a command that it runs finds."""
    env = {"LANG": "C.UTF-8", "ODD": "ä=\udcff\n", "LINNET_HOME": str(folder / "home")}
    with kind("--mode", "rpc", "--no-session", "--provider", "scripted", cwd=folder, env=env) as agent:
        shown = agent.ask("bash", command=SHOW)["data"]["output"]
        pid = agent.process.pid
        links = (os.readlink(f"/proc/{pid}/fd/{name}") for name in ("0", "1"))
        files = [re.sub(r":.*|\d+", "", link) for link in links]  # Without the numbers that files have.
        masks = [field(pid, name) for name in ("SigBlk", "SigIgn", "SigCgt")]
        at = os.readlink(f"/proc/{pid}/cwd")
        agent.end_input()
        return [shown, files, masks, at, agent.wait(), agent.stderr]


def test_it_has_the_folder_environment_limits_files_and_signals_that_a_launched_one_has(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    umask = os.umask(0o27)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
    try:
        assert seen(ForkedAgent, tmp_path) == seen(Agent, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        os.umask(umask)


def test_it_has_no_variable_that_it_was_not_given(tmp_path: Path) -> None:
    turns = [[{"call": "bash", "args": {"command": "env > seen"}}], [{"text": "done"}]]
    (tmp_path / "script.json").write_text(json.dumps({"turns": turns}))
    env = {"LINNET_HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    forked.run([LINNET, "-p", "go", "--script", "script.json"], cwd=tmp_path, env=env, input="", check=True)
    assert "\nHOME=" not in f"\n{(tmp_path / 'seen').read_text()}"


@pytest.mark.parametrize("words", [("--version",), ("--no-such-flag",), ("-p", "hi", "--provider", "nobody")])
def test_it_ends_and_says_what_a_launched_one_does(words: tuple[str, ...], tmp_path: Path) -> None:
    options: dict[str, Any] = {"input": "", "capture_output": True, "text": True, "cwd": tmp_path}
    options["env"] = {"PATH": os.environ["PATH"], "LINNET_HOME": str(tmp_path)}
    launched, other = subprocess.run([LINNET, *words], **options), forked.run([LINNET, *words], **options)
    assert (other.returncode, other.stdout, other.stderr) == (launched.returncode, launched.stdout, launched.stderr)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGUSR1])
def test_a_signal_ends_it_as_it_ends_a_launched_one(number: signal.Signals, tmp_path: Path) -> None:
    codes = []
    for kind in (Agent, ForkedAgent):
        with kind("rpc", "--provider", "scripted", cwd=tmp_path) as agent:
            agent.ask("get_state")
            agent.signal(number)
            codes.append(agent.wait())
    assert codes[0] == codes[1]


def started(**options: Any) -> "forked.Popen":
    return forked.Popen([LINNET, "rpc", "--provider", "scripted"], stdin=subprocess.PIPE, **options)


def parent(process: "subprocess.Popen[Any]") -> int:
    return int(field(process.pid, "PPid"))


def test_it_may_be_the_first_of_a_session_or_of_a_group(tmp_path: Path) -> None:
    for options, own in (({"start_new_session": True}, os.getsid), ({"process_group": 0}, os.getpgid)):
        with started(cwd=tmp_path, **options) as process:
            assert own(process.pid) == process.pid
            assert own(os.getpid()) != process.pid
            process.kill()


def test_files_that_are_passed_on_keep_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with (tmp_path / "file").open() as file, started(cwd=tmp_path, pass_fds=[file.fileno()]) as process:
        assert os.readlink(f"/proc/{process.pid}/fd/{file.fileno()}") == str(tmp_path / "file")
        process.kill()


def by_a_variable(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("LINNET_TEST_SPAWN", "1")
    return {}


@pytest.mark.parametrize(
    "asked", [by_a_variable, lambda monkeypatch: {"TZ": "UTC"}, lambda monkeypatch: {"PYTHONNOUSERSITE": "1"}]
)
def test_where_a_fork_would_not_be_the_same_it_is_launched(
    asked: Callable[[pytest.MonkeyPatch], dict[str, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("LINNET_TEST_SPAWN", raising=False)  # As `make judges` has it.
    env = {"PATH": os.environ["PATH"], "LINNET_HOME": str(tmp_path)}
    with started(cwd=tmp_path, env=env) as process:
        assert parent(process) != os.getpid()
        process.kill()
    with started(cwd=tmp_path, env=env | asked(monkeypatch)) as process:
        assert parent(process) == os.getpid()
        process.kill()


def test_other_programs_are_started_as_ever() -> None:
    assert forked.run(["echo", "hi"], capture_output=True, text=True, check=True).stdout == "hi\n"
    with pytest.raises(subprocess.CalledProcessError):
        forked.run(["false"], check=True)
