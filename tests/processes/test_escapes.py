"""Nothing that a command started outlives an abort, nor the real program, however that one ends."""

import json
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from linnet.testing.agent import Agent
from linnet.testing.escapes import ESCAPES, noted, survivors
from linnet.testing.processes import alive, wait_until

if TYPE_CHECKING:
    from tests.tools.bench import Bench


@pytest.mark.parametrize("escape", ESCAPES)
def test_an_abort_leaves_nothing(bench: "Bench", escape: str) -> None:
    running = bench.start("bash", command=f"{ESCAPES[escape].script}\necho ready; wait; sleep 600")
    running.hears("ready\n")
    bench.eventually(lambda: len(noted(bench.cwd)) >= ESCAPES[escape].count)
    assert survivors(bench.cwd)
    running.cancel.set()
    running.result()
    assert survivors(bench.cwd) == []


@pytest.mark.parametrize("escape", ESCAPES)
def test_a_timeout_leaves_nothing(bench: "Bench", escape: str) -> None:
    bench.fails("bash", command=f"{ESCAPES[escape].script}\nwait; sleep 600", timeout=0.1)
    assert survivors(bench.cwd) == []


@pytest.mark.parametrize("escape", ESCAPES)
def test_closing_after_the_command_ended_leaves_nothing(bench: "Bench", escape: str) -> None:
    bench.ok("bash", command=ESCAPES[escape].script)
    bench.eventually(lambda: len(noted(bench.cwd)) >= ESCAPES[escape].count)
    assert survivors(bench.cwd)
    bench.processes.close()
    assert survivors(bench.cwd) == []


def escaping(folder: Path) -> str:
    """A command that does all of it, each in a shell of its own that ends."""
    for number, escape in enumerate(ESCAPES.values()):
        (folder / f"{number}.sh").write_text(escape.script)
    return "for file in *.sh; do bash $file >/dev/null 2>&1; done; echo ready"


def all_out(folder: Path) -> bool:
    return len(noted(folder)) >= sum(escape.count for escape in ESCAPES.values()) + 20


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_outlives_the_program_that_a_signal_ends_during_a_command(
    zot: Callable[..., Agent], tmp_path: Path, end: signal.Signals
) -> None:
    folder = tmp_path / "work"
    agent = zot()
    call = json.dumps({"command": f"{escaping(folder)}; sleep 600"})
    agent.send({"type": "prompt", "message": f"!tool bash {call}"})
    agent.until(lambda frame: "ready" in frame.get("text", ""))
    wait_until(lambda: all_out(folder))
    agent.signal(end)
    agent.wait()
    wait_until(lambda: survivors(folder) == [])


def test_nothing_outlives_an_abort_in_the_program(zot: Callable[..., Agent], tmp_path: Path) -> None:
    folder = tmp_path / "work"
    agent = zot()
    call = json.dumps({"command": f"{escaping(folder)}; sleep 600"})
    agent.send({"type": "prompt", "message": f"!tool bash {call}"})
    agent.until(lambda frame: "ready" in frame.get("text", ""))
    wait_until(lambda: all_out(folder))
    agent.send({"type": "abort"})
    agent.until("done")
    assert survivors(folder) == [agent.process.pid]


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, None])
def test_nothing_outlives_the_program_that_ends_after_a_command(
    zot: Callable[..., Agent], tmp_path: Path, end: signal.Signals | None
) -> None:
    folder = tmp_path / "work"
    agent = zot()
    agent.prompt(f"!tool bash {json.dumps({'command': escaping(folder)})}")
    wait_until(lambda: all_out(folder))
    background = [pid for pid in noted(folder) if alive(pid)]
    assert len(background) > len(ESCAPES)
    if end:
        agent.signal(end)
    else:
        agent.end()
    agent.wait()
    wait_until(lambda: survivors(folder) == [])


def test_killing_one_of_two_commands_leaves_what_the_other_started_alone(bench: "Bench") -> None:
    folders = [bench.cwd / name for name in ("killed", "spared", "ended")]
    for folder in folders:
        folder.mkdir()
    killed, spared, ended = (f"cd {folder}; {escaping(folder)}" for folder in folders)
    bench.ok("bash", command=ended)
    running = [bench.start("bash", command=f"{command}; sleep 600") for command in (killed, spared)]
    for each in running:
        each.hears("ready")
    for folder in folders:
        bench.eventually(partial(all_out, folder))
    others = [pid for folder in folders[1:] for pid in noted(folder)]
    running[0].cancel.set()
    running[0].result()
    assert survivors(folders[0]) == []
    assert all(map(alive, others))
    running[1].cancel.set()
    running[1].result()
    assert survivors(folders[1]) == []
    assert survivors(folders[2])
