import errno
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from linnet.concurrency.cancel import CancelToken
from linnet.processes import lookup
from linnet.processes.process import Finished, Processes
from linnet.testing.escapes import ESCAPES, noted, survivors

if TYPE_CHECKING:
    from tests.tools.bench import Bench

AGENT = """
import os, sys
from pathlib import Path
from linnet.concurrency.cancel import CancelToken
from linnet.processes.process import Processes

class Sink:
    def feed(self, data): sys.stdout.write(data.decode()); sys.stdout.flush()
    def tick(self): return None

processes = Processes()
def run(command):
    processes.run(["/bin/bash", "-c", command], cwd=Path("/"), sink=Sink(), cancel=CancelToken())

run("sleep 600 & setsid sleep 601 & true")
print("supervisor", processes._spawner.pid, flush=True)
"""
BUSY = "trap '' TERM; (setsid sh -c 'trap \"\" TERM HUP; sleep 602; sleep 603' &); echo ready; sleep 604; true"


class Sink:
    def feed(self, data: bytes) -> None: ...
    def tick(self) -> float | None: ...


@contextmanager
def agent(code: str) -> Iterator[tuple["subprocess.Popen[str]", int, str]]:
    """A process with a supervisor, whose id it gives, and with a mark that commands inherit, once it is `ready`."""
    mark = uuid.uuid4().hex
    command = [sys.executable, "-c", AGENT + code]
    env = {**os.environ, "TEST_MARK": mark}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, start_new_session=True, env=env) as process:
        assert process.stdout is not None
        said = dict[str, str]()
        for line in process.stdout:
            if line == "ready\n":
                break
            name, value = line.split()
            said[name] = value
        try:
            yield process, int(said["supervisor"]), mark
        except BaseException:
            process.kill()  # Or else whoever failed would wait for it.
            raise


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_an_agent_that_is_killed(bench: "Bench", end: signal.Signals) -> None:
    with agent(f"run({BUSY!r})") as (process, supervisor, mark):
        bench.eventually(lambda: len(bench.carriers(mark)) >= 6)
        process.send_signal(end)
        process.wait()
        bench.eventually(lambda: not bench.carriers(mark) and not bench.is_alive(supervisor))


def test_a_signal_to_the_whole_group_spares_the_supervisor_and_nothing_is_left(bench: "Bench") -> None:
    with agent(f"run({BUSY!r})") as (process, supervisor, mark):
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        bench.eventually(lambda: not bench.carriers(mark) and not bench.is_alive(supervisor))


def test_it_ignores_polite_signals_as_long_as_the_agent_lives(bench: "Bench") -> None:
    with agent(f"run({BUSY!r})") as (process, supervisor, mark):
        for polite in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            for pid in (supervisor, *children(supervisor)):
                os.kill(pid, polite)
        assert len(bench.carriers(mark)) >= 4
        process.kill()
        process.wait()
        bench.eventually(lambda: not bench.carriers(mark) and not bench.is_alive(supervisor))


def test_an_agent_that_forgets_to_close_leaves_nothing_either(bench: "Bench") -> None:
    with agent("print('ready')") as (process, supervisor, mark):
        assert process.wait() == 0
        bench.eventually(lambda: not bench.carriers(mark) and not bench.is_alive(supervisor))


def test_a_process_that_the_agent_forked_does_not_delay_the_end(bench: "Bench") -> None:
    forking = "import time\nos.fork() or time.sleep(600)\n"
    with agent(f"{forking}run({BUSY!r})") as (process, supervisor, mark):
        process.kill()
        process.wait()
        bench.eventually(lambda: not bench.is_alive(supervisor))
        [forked] = bench.carriers(mark)
        os.kill(forked, signal.SIGKILL)


def test_it_goes_when_everything_is_closed(bench: "Bench") -> None:
    with agent("processes.close(); print('ready', flush=True); sys.stdin.read()") as (process, supervisor, mark):
        assert bench.carriers(mark) == [process.pid]
        assert not os.path.exists(f"/proc/{supervisor}")
        process.kill()


def test_it_is_small_and_stands_alone(bench: "Bench") -> None:
    with agent(f"run({BUSY!r})") as (process, supervisor, mark):
        named = {int(fd): os.readlink(f"/proc/{supervisor}/fd/{fd}") for fd in os.listdir(f"/proc/{supervisor}/fd")}
        assert [named.pop(fd) for fd in (0, 1, 2)] == ["/dev/null"] * 3
        assert {name.partition(":")[0] for name in named.values()} <= {"socket", "pipe", "anon_inode"}
        status = Path(f"/proc/{supervisor}/status").read_text()
        assert int(status.partition("VmRSS:")[2].split()[0]) < 14_000
        assert os.getsid(supervisor) == supervisor
        assert os.readlink(f"/proc/{supervisor}/cwd") == "/"
        assert mark not in Path(f"/proc/{supervisor}/environ").read_text()
        process.kill()


def files(pid: int) -> set[str]:
    """What a process has open, but for what it closes while we look."""
    found = set()
    with suppress(FileNotFoundError, ProcessLookupError):
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with suppress(FileNotFoundError):
                found.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return found


def test_commands_do_not_hold_its_pipes(bench: "Bench") -> None:
    with agent(f"run({BUSY!r})") as (process, supervisor, mark):
        bench.eventually(lambda: len(bench.carriers(mark)) >= 6)
        private = files(supervisor)
        assert private
        for pid in set(bench.carriers(mark)) - {process.pid}:
            assert files(pid) & private <= {"/dev/null"}
        process.kill()


def run(bench: "Bench", *argv: str) -> Finished:
    return bench.processes.run(argv or ["true"], cwd=bench.cwd, sink=Sink(), cancel=CancelToken())


def pid_of(processes: Processes) -> int:
    assert processes._spawner.pid
    return processes._spawner.pid


def children(parent: int) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def gone(pid: int) -> bool:
    return not os.path.exists(f"/proc/{pid}")


def test_one_that_was_killed_is_replaced(bench: "Bench") -> None:
    run(bench)
    first = pid_of(bench.processes)
    run(bench)
    assert pid_of(bench.processes) == first
    os.kill(first, signal.SIGKILL)
    bench.eventually(lambda: not bench.is_alive(first))
    assert run(bench) == Finished(0)
    assert pid_of(bench.processes) != first
    assert bench.is_alive(pid_of(bench.processes))


def test_to_be_warm_is_to_have_one_already(bench: "Bench") -> None:
    bench.processes.warm()
    first = pid_of(bench.processes)
    bench.processes.warm()
    run(bench)
    assert pid_of(bench.processes) == first
    bench.processes.close()
    bench.processes.warm()
    assert bench.processes._spawner.pid is None


@pytest.mark.parametrize("victim", ["supervisor", "reaper"])
def test_commands_die_with_whoever_watches_them_and_say_so(bench: "Bench", victim: str) -> None:
    everything = "\n".join(escape.script for escape in ESCAPES.values())
    running = bench.start("bash", command=f"{everything}\necho $PPID; echo ready; sleep 600")
    printed = running.hears("ready\n")
    bench.eventually(lambda: len(noted(bench.cwd)) >= len(ESCAPES))
    supervisor = pid_of(bench.processes)
    os.kill(supervisor if victim == "supervisor" else int(printed.split()[-2]), signal.SIGKILL)
    output = running.result()
    assert output.is_error
    assert output.details
    assert output.details["exit_code"] == 137
    bench.eventually(lambda: survivors(bench.cwd) == [])
    bench.ok("bash", command="true")
    assert (pid_of(bench.processes) == supervisor) == (victim == "reaper")


def test_a_reaper_that_waits_may_be_killed(bench: "Bench") -> None:
    run(bench)
    for _ in range(3):
        bench.eventually(lambda: children(pid_of(bench.processes)))
        for pid in children(pid_of(bench.processes)):
            with suppress(ProcessLookupError):  # There may have been a second one, on its way out.
                os.kill(pid, signal.SIGKILL)
            bench.eventually(partial(gone, pid))
        assert run(bench) == Finished(0)


def test_many_at_once_leave_one_reaper_that_waits(bench: "Bench") -> None:
    threads = [Thread(target=run, args=(bench, "sleep", "0.05")) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    bench.eventually(lambda: len(children(pid_of(bench.processes))) == 1)


def test_without_room_for_processes_it_says_so(bench: "Bench", monkeypatch: pytest.MonkeyPatch) -> None:
    refuse = "import os; os.fork = lambda: (_ for _ in ()).throw(BlockingIOError(11, 'no')); "
    monkeypatch.setattr(lookup, "BOOT", refuse + lookup.BOOT)
    for _ in range(3):
        with pytest.raises(BlockingIOError) as raised:
            run(bench)
        assert raised.value.errno == errno.EAGAIN
    assert "could not be started: Resource temporarily unavailable" in bench.fails("bash", command="true")


def without(what: str) -> str:
    return f"import linnet.processes.descendants as descendants; {what}; from linnet.{{module}}"


@pytest.mark.parametrize(
    "lacking",
    [
        "del descendants.os.pidfd_open",
        "descendants.lists_children = lambda: False",
    ],
)
def test_on_other_kernels_it_works_the_same(bench: "Bench", monkeypatch: pytest.MonkeyPatch, lacking: str) -> None:
    monkeypatch.setattr(lookup, "BOOT", lookup.BOOT.replace("from linnet.{module}", without(lacking)))
    monkeypatch.delattr(os, "pidfd_open")
    assert "\n\nhi\n\n[exit 3]" in bench.fails("bash", command="echo hi; exit 3")
    assert "[timed out after 0.1s]" in bench.fails("bash", command="sleep 60", timeout=0.1)
    everything = "\n".join(escape.script for escape in ESCAPES.values())
    running = bench.start("bash", command=f"{everything}\necho ready; sleep 600")
    running.hears("ready\n")
    bench.eventually(lambda: len(noted(bench.cwd)) >= len(ESCAPES))
    running.cancel.set()
    assert running.result().is_error
    bench.eventually(lambda: survivors(bench.cwd) == [])
    bench.processes.close()


def test_without_proc_and_subreapers_groups_are_killed(bench: "Bench", monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = "descendants.family = lambda spared: []; descendants.adopt_orphans = lambda: False"
    monkeypatch.setattr(lookup, "BOOT", lookup.BOOT.replace("from linnet.{module}", without(lacking)))
    bench.ok("bash", command="sleep 600 & echo $! >> pids; (sleep 600 & echo $! >> pids)")
    running = bench.start("bash", command="(sleep 600 & echo $! >> pids); trap '' TERM; echo ready; sleep 600; true")
    running.hears("ready\n")
    first = noted(bench.cwd)
    assert len(first) == 3
    assert all(map(bench.is_alive, first))
    running.cancel.set()
    assert running.result().is_error
    bench.eventually(lambda: [pid for pid in first if bench.is_alive(pid)] == first[:2])
    bench.processes.close()
    bench.eventually(lambda: survivors(bench.cwd) == [])
    assert bench.is_alive(os.getpid())
