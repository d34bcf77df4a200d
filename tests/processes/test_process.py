import errno
import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from linnet.concurrency.cancel import CancelToken
from linnet.errors import Cancelled, Closed
from linnet.processes.process import Finished, Processes
from linnet.testing.escapes import survivors

if TYPE_CHECKING:
    from tests.tools.bench import Bench

SHELL = ["/bin/bash", "-c"]


class Bytes:
    """A sink that keeps everything."""

    def __init__(self) -> None:
        self.data = b""

    def feed(self, data: bytes) -> None:
        self.data += data

    def tick(self) -> float | None:
        return None


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
        processes.run([str(tmp_path / "nowhere" / "program")], cwd=tmp_path, sink=Bytes(), cancel=CancelToken())
    assert os.listdir("/proc/self/fd") == before


def test_a_folder_that_does_not_exist_raises_and_is_named(processes: Processes, tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    with pytest.raises(FileNotFoundError) as raised:
        processes.run(["true"], cwd=folder, sink=Bytes(), cancel=CancelToken())
    assert raised.value.filename == str(folder)


def test_a_file_that_cannot_be_run_raises(processes: Processes, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("no program")
    with pytest.raises(PermissionError) as raised:
        processes.run([str(plain)], cwd=tmp_path, sink=Bytes(), cancel=CancelToken())
    assert raised.value.filename == str(plain)
    plain.chmod(0o755)
    with pytest.raises(OSError, match="Exec format error") as unfit:
        processes.run(["./plain"], cwd=tmp_path, sink=Bytes(), cancel=CancelToken())
    assert unfit.value.errno == errno.ENOEXEC


def test_arguments_that_no_program_can_be_given_raise(processes: Processes, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="null byte"):
        processes.run(["echo", "a\0b"], cwd=tmp_path, sink=Bytes(), cancel=CancelToken())
    with pytest.raises(OSError, match="Argument list too long") as raised:
        processes.run(["echo", *["x" * 100_000] * 100], cwd=tmp_path, sink=Bytes(), cancel=CancelToken())
    assert raised.value.errno == errno.E2BIG
    sink = Bytes()
    processes.run(["echo", *["x" * 100_000] * 10], cwd=tmp_path, sink=sink, cancel=CancelToken())
    assert len(sink.data) == 1_000_010


def test_a_program_is_found_in_the_path_of_its_environment(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes.warm()
    program = tmp_path / "bin" / "found-here"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho found\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/nowhere:{program.parent}")
    sink = Bytes()
    assert processes.run(["found-here"], cwd=tmp_path, sink=sink, cancel=CancelToken()) == Finished(0)
    assert sink.data == b"found\n"


def test_a_relative_folder_starts_where_we_are(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path)
    sink = Bytes()
    processes.run(["pwd"], cwd=Path("inner"), sink=sink, cancel=CancelToken())
    assert sink.data == f"{tmp_path}/inner\n".encode()


def test_without_room_for_descriptors_it_raises_and_goes_on_later(processes: Processes, tmp_path: Path) -> None:
    processes.run(["true"], cwd=tmp_path, sink=Bytes(), cancel=CancelToken())
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    for room in range(6):
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + room, hard))
        try:
            with pytest.raises(OSError, match="Too many open files"):
                processes.run(["true"], cwd=tmp_path, sink=Bytes(), cancel=CancelToken())
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert processes.run(["true"], cwd=tmp_path, sink=Bytes(), cancel=CancelToken()) == Finished(0)


def test_a_command_gets_three_descriptors_no_input_and_no_secret(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZOTCORE_RPC_TOKEN", "hush-hush")
    monkeypatch.setenv("SHOWN", "yes")
    inherited = os.dup(0)
    os.set_inheritable(inherited, True)
    sink = Bytes()
    script = "read line; echo $?; ls /proc/$$/fd; env; tr '\\0' '\\n' < /proc/$PPID/environ"
    processes.run([*SHELL, script], cwd=tmp_path, sink=sink, cancel=CancelToken())
    os.close(inherited)
    lines = sink.data.decode().splitlines()
    assert lines[:4] == ["1", "0", "1", "2"]
    assert "SHOWN=yes" in lines
    assert "hush-hush" not in sink.data.decode()


def test_a_command_finds_no_signal_blocked_or_ignored(processes: Processes, tmp_path: Path) -> None:
    sink = Bytes()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # Of this thread, which starts it all.
    try:
        processes.run(
            ["grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"], cwd=tmp_path, sink=sink, cancel=CancelToken()
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    blocked, ignored = (int(line.split()[1], 16) for line in sink.data.splitlines())
    ours = 0x7FFFFFFF  # The C library may ignore two signals of its own in whatever is spawned.
    assert blocked == 0
    assert ignored & ours == 0


def test_a_folder_can_be_deleted_while_nothing_runs_in_it(processes: Processes, tmp_path: Path) -> None:
    processes.run(["true"], cwd=tmp_path, sink=Bytes(), cancel=CancelToken())
    assert processes._spawner.pid
    assert os.readlink(f"/proc/{processes._spawner.pid}/cwd") == "/"
    assert survivors(tmp_path) == []


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
    others = children(os.getpid(), only_zombies=True)  # Orphans of programs that other tests ran, a browser's say.
    for _ in range(5):
        everything()
    bench.eventually(lambda: len(os.listdir("/proc/self/fd")) == before)
    supervisor = bench.processes._spawner.pid
    assert supervisor
    assert [each for each in children(os.getpid(), only_zombies=True) if each not in others] == []
    bench.eventually(lambda: len(children(supervisor)) == 1)
    [waiting] = children(supervisor)
    bench.eventually(lambda: children(waiting) == [])
    for pid in (supervisor, waiting):
        assert len(os.listdir(f"/proc/{pid}/fd")) <= 12


def children(parent: int, *, only_zombies: bool = False) -> list[int]:
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,stat="], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    state = "Z" if only_zombies else ""
    return [int(pid) for pid, ppid, letters in rows if int(ppid) == parent and letters.startswith(state)]


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
    running = bench.start("bash", command=f"env -i {sys.executable} inner.py")
    printed = running.hears("ready\n").split()
    running.cancel.set()
    running.result()
    assert not any(bench.is_alive(int(pid)) for pid in printed[:2])


INNER = """
from pathlib import Path
from linnet.concurrency.cancel import CancelToken
from linnet.testing.escapes import survivors
from linnet.processes.process import Processes

class Sink:
    def feed(self, data): print(data.decode(), end="", flush=True)
    def tick(self): return None

processes = Processes()
processes.warm()
print(processes._spawner.pid, flush=True)
command = "(env -i setsid sh -c 'echo $$; echo ready; exec sleep 600' &); sleep 600"
processes.run(["/bin/sh", "-c", command], cwd=Path("/"), sink=Sink(), cancel=CancelToken())
"""


def test_children_that_others_started_are_left_to_them(bench: "Bench") -> None:
    mine = [subprocess.Popen(["sh", "-c", "exit 7"], start_new_session=own) for own in (False, True)]
    bench.ok("bash", command="sleep 0.01 & true")
    bench.fails("bash", command="sleep 600", timeout=0.01)
    bench.processes.close()
    assert [process.wait() for process in mine] == [7, 7]


def test_commands_that_run_at_once_keep_their_exit_codes(processes: Processes, tmp_path: Path) -> None:
    ends: list[Finished] = []

    def many(code: int) -> None:
        command = [*SHELL, f"sleep 0.001 & exit {code}"]
        for _ in range(20):
            ends.append(processes.run(command, cwd=tmp_path, sink=Bytes(), cancel=CancelToken()))

    threads = [Thread(target=many, args=(code,)) for code in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ends, key=lambda end: end.exit_code or 0) == [
        Finished(code) for code in (1, 2, 3, 4) for _ in range(20)
    ]


def test_a_signal_that_ends_a_command_is_its_exit_code(processes: Processes, tmp_path: Path) -> None:
    finished = processes.run([*SHELL, "kill -TERM $$"], cwd=tmp_path, sink=Bytes(), cancel=CancelToken())
    assert finished == Finished(-15)


def test_what_ends_in_the_background_is_forgotten(bench: "Bench") -> None:
    bench.ok("bash", command="sleep 600 & echo $! > pid; (setsid sleep 0.01 &)")
    assert len(bench.processes._background) == 1
    os.kill(int((bench.cwd / "pid").read_text()), signal.SIGKILL)
    bench.eventually(lambda: bench.ok("bash", command="true") and bench.processes._background == [])
