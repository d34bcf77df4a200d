import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from linnet.runtime.cancel import CancelToken

if TYPE_CHECKING:
    from tests.tools.conftest import Bench

AGENT = """
import sys
from pathlib import Path
from linnet.runtime.cancel import CancelToken
from linnet.tools.process import Processes

class Sink:
    def feed(self, data): sys.stdout.write(data.decode()); sys.stdout.flush()
    def tick(self): return None

processes = Processes(adopt_orphans="adopt" in sys.argv)
def run(command):
    processes.run(["/bin/bash", "-c", command], cwd=Path("/"), sink=Sink(), cancel=CancelToken())

run("sleep 600 & setsid sleep 601 & true")
print("watchdog", processes._watchdog.pid, flush=True)
print("mark", processes._mark, flush=True)
"""
BUSY = "trap '' TERM; (setsid sh -c 'trap \"\" TERM HUP; sleep 602; sleep 603' &); echo ready; sleep 604; true"


@contextmanager
def agent(code: str, *args: str) -> Iterator[tuple["subprocess.Popen[str]", int, str]]:
    """A process that keeps processes, with its watchdog's id and its mark, once it is `ready`."""
    command = [sys.executable, "-c", AGENT + code, *args]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        said = dict[str, str]()
        for line in process.stdout:
            if line == "ready\n":
                break
            name, value = line.split()
            said[name] = value
        yield process, int(said["watchdog"]), said["mark"]


@pytest.mark.parametrize("mode", ["plain", "adopt"])
@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_an_agent_that_is_killed(bench: "Bench", mode: str, blow: signal.Signals) -> None:
    with agent(f"run({BUSY!r})", mode) as (process, watchdog, mark):
        bench.eventually(lambda: len(bench.carriers(mark)) >= 5)
        process.send_signal(blow)
        process.wait()
        bench.eventually(lambda: not bench.carriers(mark) and not bench.is_alive(watchdog))


def test_a_signal_to_the_whole_group_spares_the_watchdog_and_nothing_is_left(bench: "Bench") -> None:
    with agent(f"run({BUSY!r})") as (process, watchdog, mark):
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        bench.eventually(lambda: not bench.carriers(mark) and not bench.is_alive(watchdog))


def test_it_ignores_polite_signals_as_long_as_the_agent_lives(bench: "Bench") -> None:
    with agent(f"run({BUSY!r})") as (process, watchdog, mark):
        for polite in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(watchdog, polite)
        process.kill()
        process.wait()
        bench.eventually(lambda: not bench.carriers(mark) and not bench.is_alive(watchdog))


def test_an_agent_that_forgets_to_close_leaves_nothing_either(bench: "Bench") -> None:
    with agent("print('ready')") as (process, watchdog, mark):
        assert process.wait() == 0
        bench.eventually(lambda: not bench.carriers(mark) and not bench.is_alive(watchdog))


def test_it_goes_when_the_keeper_is_closed(bench: "Bench") -> None:
    with agent("processes.close(); print('ready', flush=True); sys.stdin.read()") as (process, watchdog, mark):
        assert bench.carriers(mark) == []
        assert not bench.is_alive(watchdog)
        process.kill()


def test_it_is_small_and_holds_nothing_but_its_pipe(bench: "Bench") -> None:
    with agent(f"run({BUSY!r})") as (process, watchdog, mark):
        named = {int(fd): os.readlink(f"/proc/{watchdog}/fd/{fd}") for fd in os.listdir(f"/proc/{watchdog}/fd")}
        assert named.pop(0).startswith("pipe:")
        assert named == {1: "/dev/null", 2: "/dev/null"}
        status = Path(f"/proc/{watchdog}/status").read_text()
        assert int(status.partition("VmRSS:")[2].split()[0]) < 4000
        assert os.getsid(watchdog) == watchdog
        assert os.readlink(f"/proc/{watchdog}/cwd") == "/"
        assert mark not in Path(f"/proc/{watchdog}/cmdline").read_text()
        process.kill()


def test_children_do_not_hold_its_pipe(bench: "Bench") -> None:
    with agent(f"run({BUSY!r})") as (process, watchdog, mark):
        pipe = os.readlink(f"/proc/{watchdog}/fd/0")
        for pid in bench.carriers(mark):
            held = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
            assert pipe not in held
        process.kill()


def test_one_that_was_killed_is_replaced(bench: "Bench") -> None:
    class Sink:
        def feed(self, data: bytes) -> None: ...
        def tick(self) -> float | None: ...

    def run() -> int:
        bench.processes.run(["true"], cwd=bench.cwd, sink=Sink(), cancel=CancelToken())
        pid = bench.processes._watchdog.pid
        assert pid is not None
        return pid

    first = run()
    assert run() == first
    os.kill(first, signal.SIGKILL)
    bench.eventually(lambda: not bench.is_alive(first))
    second = run()
    assert second != first
    assert bench.is_alive(second)
