"""A command turns against those that watch it: it stops or kills them. Nothing is left all the same."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from linnet.processes.keepers import kill_adopted
from linnet.testing.agent import Agent
from linnet.testing.escapes import ESCAPES, noted, survivors
from linnet.testing.model_server import ModelServer
from linnet.testing.processes import alive, wait_until

if TYPE_CHECKING:
    from tests.tools.bench import Bench

FIND = "reaper=$PPID; supervisor=$(ps -o ppid= -p $PPID | tr -d ' '); echo $reaper $supervisor >> keepers; "
RUNAWAYS = "".join(
    f"{ESCAPES[name].script}\n"
    for name in ("session", "daemon", "empty environment in a session, a level deeper", "stopped")
)
COUNT = sum(
    ESCAPES[name].count for name in ("session", "daemon", "empty environment in a session, a level deeper", "stopped")
)
ATTACKS = {
    "the supervisor is killed": "kill -9 $supervisor",
    "the reaper is killed": "kill -9 $reaper",
    "both are killed": "kill -9 $reaper $supervisor",
    "both are killed, the other way round": "kill -9 $supervisor $reaper",
    "the supervisor is stopped": "kill -STOP $supervisor",
    "the reaper is stopped": "kill -STOP $reaper",
    "both are stopped": "kill -STOP $reaper $supervisor",
    "the supervisor is stopped and the reaper killed": "kill -STOP $supervisor; kill -9 $reaper",
    "the supervisor is killed and the reaper stopped": "kill -STOP $reaper; kill -9 $supervisor",
    "every process of linnet's is stopped": "pkill -STOP -s $supervisor",
    "every process of linnet's is killed": "pkill -9 -s $supervisor",
}
ENDS = ("exit", "kill", "abort", "stdin")


def leftovers(work: Path) -> list[int]:
    """Of what the command started, and of those that watched it."""
    keepers = [int(pid) for pid in (work / "keepers").read_text().split()]
    return [pid for pid in (*survivors(work), *keepers) if alive(pid)]


def attacking(attack: str) -> str:
    """A command that leaves processes behind, and then turns against those that watch it."""
    # What attacks is in a session of its own, so that it is not killed in the middle of it.
    return (
        f"{FIND}export reaper supervisor; {RUNAWAYS}\n"
        f"until [ $(wc -l < pids) -ge {COUNT} ]; do :; done; setsid sh -c '{attack}; touch attacked' & sleep 600"
    )


def attacked(agent: Agent, work: Path, attack: str) -> None:
    command = f"cd inside; {attacking(attack)}"
    agent.send({"id": "1", "type": "prompt", "message": f"!tool bash {json.dumps({'command': command})}"})
    wait_until(lambda: (work / "attacked").exists() or not _some(work))


def ended(agent: Agent, work: Path, end: str) -> None:
    match end:
        case "abort":
            agent.send({"id": "2", "type": "abort"})
            agent.until("done")
            wait_until(lambda: survivors(work) == [])
            agent.end()
            agent.wait()
        case "stdin":
            agent.send({"id": "2", "type": "abort"})
            agent.end()
            agent.wait()
        case _:
            agent.process.send_signal(signal.SIGTERM if end == "exit" else signal.SIGKILL)
            agent.process.wait()
    wait_until(lambda: leftovers(work) == [])


@pytest.fixture
def agent(spawn: Callable[..., Agent], server: ModelServer, tmp_path: Path) -> Agent:
    (tmp_path / "work" / "inside").mkdir()
    return spawn("rpc", "--base-url", server.url, "--api-key", "x", env={"LINNET_HOME": str(tmp_path / "home")})


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Where commands work. The agent itself does not, so that it is not one of them."""
    return tmp_path / "work" / "inside"


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_an_agent_whose_keepers_are_attacked_leaves_nothing(attack: str, end: str, agent: Agent, work: Path) -> None:
    attacked(agent, work, attack)
    if "-9" in attack:  # It is dealt with at once, and not when the agent ends.
        wait_until(lambda: survivors(work) == [])
    ended(agent, work, end)


@pytest.mark.parametrize("end", ["exit", "abort", "stdin"])
def test_who_stops_them_again_and_again_is_killed(end: str, agent: Agent, work: Path) -> None:
    attacked(agent, work, "touch attacked; while :; do kill -STOP $reaper $supervisor; done")
    ended(agent, work, end)


def test_the_next_command_runs_though_they_were_stopped(agent: Agent, work: Path) -> None:
    attacked(agent, work, "kill -STOP $reaper $supervisor")
    agent.send({"id": "2", "type": "abort"})
    agent.until("done")
    said = ""
    for command in ("kill -STOP $(ps -o ppid= -p $PPID)", "kill -STOP $(ps -o ppid= -p $PPID)", "echo fine"):
        said = json.dumps(agent.prompt(f"!tool bash {json.dumps({'command': command})}"))
    assert "fine\\n" in said


@pytest.mark.parametrize("attack", [name for name in ATTACKS if "stopped" in name])
def test_a_program_that_hosts_it_leaves_nothing_of_a_stopped_one(attack: str, bench: "Bench") -> None:
    running = bench.start("bash", command=attacking(ATTACKS[attack]))
    bench.eventually(lambda: (bench.cwd / "attacked").exists() or not _some(bench.cwd))
    running.cancel.set()
    assert running.result().is_error
    bench.processes.close()
    bench.eventually(lambda: leftovers(bench.cwd) == [])


def test_a_child_of_this_process_that_is_in_its_session_is_not_taken_for_an_orphan() -> None:
    with subprocess.Popen(["sleep", "600"]) as child:
        assert kill_adopted(None, 1)
        assert child.poll() is None
        child.kill()


# Again and again, a process dies in the moment in which it is looked at, and leaves a child in a session of its own.
ORPHANS_IN_MID_LOOK = """
import os, signal, threading
from linnet.processes.descendants import adopt_orphans
from linnet.processes.keepers import kill_adopted
adopt_orphans()
for _ in range(200):
    told, tell = os.pipe()
    parent = os.fork()
    if not parent:
        os.setsid()
        if not os.fork():
            os.setsid()
            os.write(tell, b".")
        while True:
            signal.pause()
    os.read(told, 1)
    os.close(told)
    os.close(tell)
    begun = threading.Event()
    def kill():
        begun.set()
        os.kill(parent, signal.SIGKILL)
    killer = threading.Thread(target=kill)
    killer.start()
    begun.wait()
    assert kill_adopted(None, 60)
    killer.join()
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        continue
    kill_adopted(None, 60)
    raise SystemExit("somebody was left")
"""


def test_what_becomes_an_orphan_while_one_looks_for_orphans_is_killed_too() -> None:
    done = subprocess.run([sys.executable, "-c", ORPHANS_IN_MID_LOOK], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")


def _some(work: Path) -> list[int]:
    """Those that were started; the attack itself may have been among what was killed."""
    return survivors(work) if len(noted(work)) >= COUNT else [0]
