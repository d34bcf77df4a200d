import os
import re
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from linnet.errors import Cancelled, Closed
from linnet.runtime.cancel import CancelToken
from linnet.tools.process import Finished, Processes

if TYPE_CHECKING:
    from tests.tools.conftest import Bench

SHELL = ["/bin/bash", "-c"]


class Bytes:
    """A sink that keeps everything."""

    def __init__(self) -> None:
        self.data = b""

    def feed(self, data: bytes) -> None:
        self.data += data

    def tick(self) -> float | None:
        return None


# Each prints the ids of processes that must not outlive the command, then `ready`, and then runs for long.
ESCAPES = {
    "child": "sleep 600 & echo $!; echo ready; wait",
    "foreground child": "echo ready; sleep 600; true",
    "ignores TERM": "trap '' TERM HUP INT; (trap '' TERM; sleep 600) & echo $!; echo ready; wait",
    "job control": "set -m; sleep 600 & echo $!; echo ready; wait",
    "setsid": "setsid sh -c 'echo $$; echo ready; sleep 600'; true",
    "orphaned setsid": "(setsid sh -c 'echo $$; echo ready; exec sleep 600' &); sleep 600",
    "daemon": '(setsid sh -c \'(sh -c "echo \\$\\$; echo ready; exec sleep 600" >&3 3>&-) '
    "</dev/null >/dev/null 2>&1 &' 3>&1 &); sleep 600",
    "cleared environment": "env -i sleep 600 & echo $!; echo ready; wait",
    "cleared environment and setsid": "env -i setsid sleep 600 & echo $!; echo ready; wait",
    "forever changing": "export AGAIN='exec sh -c \"$AGAIN\"'; "
    "(setsid sh -c 'echo $$; echo ready; exec sh -c \"$AGAIN\"' &); sleep 600",
    "stopped": "sleep 600 & kill -STOP $!; echo $!; echo ready; wait",
    "breeding": "breed() { setsid bash -c 'sleep 0.01; echo $$; (sleep 600 & echo $!); sleep 600' & }; "
    "for i in 1 2 3 4 5 6 7 8; do breed; done; echo ready; wait",
}


@pytest.mark.parametrize("escape", ESCAPES)
def test_an_abort_leaves_nothing_of_the_tree(bench: "Bench", escape: str) -> None:
    running = bench.start("bash", command=ESCAPES[escape])
    printed = running.hears("ready\n")
    running.cancel.set()
    running.result()
    pids = [int(word) for word in (printed + "".join(running.heard)).split() if word.isdigit()]
    bench.eventually(lambda: not any(map(bench.is_alive, pids)))


@pytest.mark.parametrize("escape", ESCAPES)
def test_time_running_out_leaves_nothing_of_the_tree(bench: "Bench", escape: str) -> None:
    bench.fails("bash", command=ESCAPES[escape], timeout=0.1)
    pids = [int(word) for word in "".join(bench.heard).split() if word.isdigit()]
    bench.eventually(lambda: not any(map(bench.is_alive, pids)))


def test_an_abort_waits_for_nobody(bench: "Bench") -> None:
    running = bench.start("bash", command="trap '' TERM; echo ready; (sleep 600); true")
    running.hears("ready")
    running.cancel.set()
    running.result()


def test_killing_one_command_does_not_touch_another(bench: "Bench") -> None:
    tree = "sleep 600 & echo $!; (setsid sh -c 'echo $$; echo ready; exec sleep 600' &); wait"
    one, two = bench.start("bash", command=tree), bench.start("bash", command=tree)
    background = bench.ok("bash", command="setsid sleep 600 >/dev/null 2>&1 & echo $!")
    one.hears("ready")
    spared = [int(pid) for pid in re.findall(r"^\d+$", two.hears("ready") + background, re.MULTILINE)]
    one.cancel.set()
    one.result()
    assert len(spared) == 3
    assert all(map(bench.is_alive, spared))
    two.cancel.set()
    two.result()


def test_a_background_child_lives_until_the_keeper_is_closed(bench: "Bench") -> None:
    sink = Bytes()
    command = "sleep 600 & echo $!; setsid sleep 600 & echo $!; env -i sleep 600 & echo $!"
    finished = bench.processes.run([*SHELL, command], cwd=bench.cwd, sink=sink, cancel=CancelToken())
    pids = [int(pid) for pid in sink.data.split()]
    assert finished == Finished(0)
    assert all(map(bench.is_alive, pids))
    bench.processes.close()
    bench.processes.close()
    bench.eventually(lambda: not any(map(bench.is_alive, pids)))


def test_closing_ends_what_is_running_and_refuses_what_comes_later(bench: "Bench") -> None:
    running = bench.start("bash", command="echo ready; sleep 600")
    running.hears("ready")
    bench.processes.close()
    assert running.result().is_error
    with pytest.raises(Closed):
        bench.processes.run(["true"], cwd=bench.cwd, sink=Bytes(), cancel=CancelToken())


def test_a_sink_that_fails_does_not_leave_the_command_running(bench: "Bench") -> None:
    class Broken(Bytes):
        def feed(self, data: bytes) -> None:
            super().feed(data)
            raise BrokenPipeError

    sink = Broken()
    with pytest.raises(BrokenPipeError):
        bench.processes.run([*SHELL, "echo $$; sleep 600"], cwd=bench.cwd, sink=sink, cancel=CancelToken())
    assert not bench.is_alive(int(sink.data))


def test_many_commands_run_at_once(processes: Processes, tmp_path: Path) -> None:
    sinks = [Bytes() for _ in range(12)]
    ends: list[Finished] = []

    def run(sink: Bytes, number: int) -> None:
        command = [*SHELL, f"seq {number} 5000; exit {number}"]
        ends.append(processes.run(command, cwd=tmp_path, sink=sink, cancel=CancelToken()))

    threads = [Thread(target=run, args=(sink, number)) for number, sink in enumerate(sinks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {end.exit_code for end in ends} == set(range(12))
    for number, sink in enumerate(sinks):
        assert sink.data.split()[:: 5000 - number] == [b"%d" % number, b"5000"]


def test_a_program_that_does_not_exist_raises_and_leaves_nothing(processes: Processes, tmp_path: Path) -> None:
    processes.run(["true"], cwd=tmp_path, sink=Bytes(), cancel=CancelToken())
    before = os.listdir("/proc/self/fd")
    with pytest.raises(FileNotFoundError):
        processes.run(["/no/such/program"], cwd=tmp_path, sink=Bytes(), cancel=CancelToken())
    assert os.listdir("/proc/self/fd") == before


def test_no_file_descriptor_and_no_zombie_is_left(bench: "Bench") -> None:
    def everything() -> None:
        bench.ok("bash", command="echo hi")
        bench.ok("bash", command="sleep 0.01 & echo hi")
        bench.ok("bash", command="seq 1 3000")
        bench.fails("bash", command="sleep 60", timeout=0.01)
        running = bench.start("bash", command="echo ready; sleep 600")
        running.hears("ready")
        running.cancel.set()
        running.result()

    everything()
    bench.ok("bash", command="sleep 0.05")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        everything()
    bench.eventually(lambda: len(os.listdir("/proc/self/fd")) == before)
    assert zombies(os.getpid()) == []


def zombies(parent: int) -> list[int]:
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,stat="], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    return [int(pid) for pid, ppid, state in rows if int(ppid) == parent and state.startswith("Z")]


def test_without_pidfds_it_works_the_same(bench: "Bench", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    assert "\n\nhi\n\n[exit 3]" in bench.fails("bash", command="echo hi; exit 3")
    assert "[timed out after 0.1s]" in bench.fails("bash", command="sleep 60", timeout=0.1)
    running = bench.start("bash", command=ESCAPES["setsid"])
    pid = int(running.hears("ready\n").split()[0])
    running.cancel.set()
    assert running.result().is_error
    bench.eventually(lambda: not bench.is_alive(pid))


def test_without_listed_children_it_works_the_same(bench: "Bench", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linnet.tools.proc._lists_children", lambda: False)
    running = bench.start("bash", command=ESCAPES["cleared environment and setsid"])
    pid = int(running.hears("ready\n").split()[0])
    running.cancel.set()
    running.result()
    bench.eventually(lambda: not bench.is_alive(pid))


def test_an_abort_as_the_command_starts_raises_and_leaves_nothing(bench: "Bench") -> None:
    for _ in range(20):
        cancel, sink = CancelToken(), Bytes()
        thread = Thread(target=cancel.set)
        thread.start()
        with pytest.raises(Cancelled):
            bench.processes.run([*SHELL, "echo $$; sleep 600"], cwd=bench.cwd, sink=sink, cancel=cancel)
        thread.join()
        assert not any(bench.is_alive(int(pid)) for pid in sink.data.split())


def test_what_an_agent_inside_an_agent_starts_belongs_to_both(bench: "Bench") -> None:
    bench.ok("write", path="inner.py", content=INNER)
    running = bench.start("bash", command=f"{sys.executable} inner.py")
    pid = int(running.hears("ready\n").split()[0])
    running.cancel.set()
    running.result()
    bench.eventually(lambda: not bench.is_alive(pid))


INNER = """
from pathlib import Path
from linnet.runtime.cancel import CancelToken
from linnet.tools.process import Processes

class Sink:
    def feed(self, data): print(data.decode(), end="", flush=True)
    def tick(self): return None

command = "(setsid sh -c 'echo $$; exec sleep 600' &); sleep 0.1; echo ready; sleep 600"
Processes().run(["/bin/sh", "-c", command], cwd=Path("/"), sink=Sink(), cancel=CancelToken())
"""


# Adopting orphans changes a whole process, so each of these is one of its own.
ADOPTING = """
import os, subprocess, sys, threading, time
from pathlib import Path
from linnet.errors import Cancelled
from linnet.runtime.cancel import CancelToken
from linnet.tools import orphans
from linnet.tools.process import Processes

class Sink:
    def __init__(self): self.data = b""
    def feed(self, data):
        self.data += data
        if b"ready" in self.data: cancel.set()
    def tick(self): return None

def run(command):
    sink = Sink()
    try:
        processes.run(["/bin/bash", "-c", command], cwd=Path("/"), sink=sink, cancel=cancel)
    except Cancelled:
        pass
    return [int(word) for word in sink.data.split() if word.isdigit()]

def children():
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,stat=,args="], capture_output=True, text=True).stdout
    rows = [line.split(None, 3) for line in listed.splitlines()]
    ours = [row for row in rows if int(row[1]) == os.getpid()]
    return [row for row in ours if "linnet-watchdog" not in row[3] and not row[3].startswith("ps ")]

def poll(condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, children()

def gone(pid):
    return not os.path.exists(f"/proc/{pid}")

processes, cancel = Processes(adopt_orphans=True), CancelToken()
"""


def adopting(code: str) -> None:
    """`code` in a process with a keeper that adopts, whose abort comes as soon as a command says `ready`."""
    subprocess.run([sys.executable, "-c", ADOPTING + code], check=True, timeout=30)


@pytest.mark.parametrize("escape", ESCAPES)
def test_an_adopting_keeper_leaves_not_even_a_zombie(escape: str) -> None:
    adopting(f"""
orphans.UNCLAIMED = 0.1
pids = run({ESCAPES[escape]!r})
poll(lambda: (processes.reap(), not children() and all(map(gone, pids)))[1])
processes.close()
assert not children()
""")


def test_an_adopting_keeper_closes_over_daemons_of_finished_commands() -> None:
    adopting("""
pids = run(
    "sleep 600 & echo $!; (setsid sh -c 'sleep 600; true' & echo $!); (setsid sh -c 'sleep 600 & echo $!' &); sleep 0.1"
)
orphans.UNCLAIMED = 0.1
assert len(pids) == 3 and not any(map(gone, pids))
processes.close()
assert all(map(gone, pids)), pids
poll(lambda: (processes.reap(), not children())[1])
""")


def test_an_adopting_keeper_reaps_orphans_that_end_by_themselves() -> None:
    adopting("""
pids = run("sleep 0.05 & echo $!; setsid sleep 0.05 & echo $!")
poll(lambda: (run("true"), all(map(gone, pids)))[1])
processes.close()
""")


def test_an_adopting_keeper_does_not_reap_what_others_started() -> None:
    adopting("""
mine = [subprocess.Popen(["sh", "-c", "exit 7"], start_new_session=own) for own in (False, True)]
for _ in range(5):
    run("sleep 0.01 & true")
run("echo ready; sleep 600")
processes.close()
assert [process.wait() for process in mine] == [7, 7]
""")


def test_adopting_commands_that_run_at_once_keep_their_exit_codes() -> None:
    adopting("""
ends = []
def many():
    for _ in range(20):
        ends.append(processes.run(["sh", "-c", "sleep 0.001 & exit 5"], cwd=Path("/"), sink=Sink(), cancel=cancel))
threads = [threading.Thread(target=many) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert {end.exit_code for end in ends} == {5} and len(ends) == 80
processes.close()
assert not children()
""")
