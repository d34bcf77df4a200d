import os
import signal
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from linnet.concurrency.cancel import CancelToken
from linnet.errors import Closed
from linnet.processes.child import Child
from linnet.processes.process import Processes
from linnet.processes.shared_spawner import SharedSpawner
from linnet.testing.escapes import ESCAPES, noted, survivors
from linnet.testing.processes import alive, wait_until

ECHO = ["/bin/bash", "-c", 'while read -r line; do echo "heard $line"; done; echo bye']


def test_it_is_written_to_and_read_from_line_by_line(processes: Processes, tmp_path: Path) -> None:
    child = processes.start(ECHO, cwd=tmp_path)
    for word in (b"one", b"two"):
        child.write(word + b"\n")
        assert child.stdout.readline() == b"heard " + word + b"\n"
    assert child.wait(0) is None
    child.close()


def test_closing_with_grace_lets_it_end_by_itself(processes: Processes, tmp_path: Path) -> None:
    child = processes.start(["/bin/bash", "-c", "cat; echo bye > said; exit 3"], cwd=tmp_path)
    child.close(grace=10)
    assert child.wait() == 3
    assert (tmp_path / "said").read_text() == "bye\n"


def test_closing_without_grace_kills_it(processes: Processes, tmp_path: Path) -> None:
    child = processes.start(["sleep", "600"], cwd=tmp_path)
    child.close()
    child.close()
    assert child.wait() == -signal.SIGKILL
    assert not alive(child.pid)
    with pytest.raises(BrokenPipeError):
        child.write(b"x")


def test_its_exit_code_is_known_when_it_ends(processes: Processes, tmp_path: Path) -> None:
    child = processes.start(["/bin/sh", "-c", "exit 5"], cwd=tmp_path)
    assert child.wait() == 5
    assert child.stdout.read() == b""
    child.close()


def test_the_end_of_its_stderr_is_kept(processes: Processes, tmp_path: Path) -> None:
    child = processes.start(["/bin/bash", "-c", "seq 1 50000 >&2; printf 'caf\\xc3' >&2; exit 1"], cwd=tmp_path)
    assert child.wait() == 1
    child.close()
    lines = child.stderr.splitlines()
    assert lines[-2:] == ["50000", "caf\N{REPLACEMENT CHARACTER}"]
    assert len(child.stderr) <= 64 * 1024


def test_stderr_is_there_while_it_runs(processes: Processes, tmp_path: Path) -> None:
    child = processes.start(["/bin/bash", "-c", "echo trouble >&2; sleep 600"], cwd=tmp_path)
    wait_until(lambda: child.stderr == "trouble\n")
    child.close()


def test_a_kill_ends_all_that_it_started_and_whoever_waits(processes: Processes, tmp_path: Path) -> None:
    everything = "\n".join(escape.script for escape in ESCAPES.values())
    child = processes.start(["/bin/bash", "-c", f"{everything}\necho ready; wait; sleep 600"], cwd=tmp_path)
    assert child.stdout.readline() == b"ready\n"
    wait_until(lambda: len(noted(tmp_path)) >= len(ESCAPES))
    read: list[bytes] = []
    reader = Thread(target=lambda: read.append(child.stdout.read()))
    failed: list[BaseException] = []

    def write() -> None:
        try:
            child.write(bytes(1 << 24))
        except BrokenPipeError as error:
            failed.append(error)

    writer = Thread(target=write)
    for thread in (reader, writer):
        thread.start()
    child.kill()
    assert child.wait() == -signal.SIGKILL
    for thread in (reader, writer):
        thread.join()
    assert read == [b""]
    assert len(failed) == 1
    child.close()
    assert survivors(tmp_path) == []


def test_closing_does_not_wait_for_a_writer_that_nobody_reads(processes: Processes, tmp_path: Path) -> None:
    child = processes.start(["sleep", "600"], cwd=tmp_path)
    failed: list[BaseException] = []

    def write() -> None:
        try:
            child.write(bytes(1 << 24))
        except BrokenPipeError as error:
            failed.append(error)

    writer = Thread(target=write)
    writer.start()
    wait_until(lambda: child._writing.locked())
    child.close(grace=0.01)
    writer.join()
    assert len(failed) == 1


def test_closing_everything_ends_those_that_stay(processes: Processes, tmp_path: Path) -> None:
    children = [processes.start(["sleep", "600"], cwd=tmp_path) for _ in range(3)]
    processes.close()
    assert [child.wait() for child in children] == [-signal.SIGKILL] * 3
    assert not any(alive(child.pid) for child in children)
    with pytest.raises(Closed):
        processes.start(["true"], cwd=tmp_path)


def test_it_gets_what_commands_get_and_what_is_added(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZOTCORE_RPC_TOKEN", "hush-hush")
    monkeypatch.setenv("GIVEN", "kept")
    child = processes.start(["env"], cwd=tmp_path, env={"ADDED": "new"})
    lines = child.stdout.read().decode().splitlines()
    assert {"GIVEN=kept", "ADDED=new"} <= set(lines)
    assert not any(line.startswith("ZOTCORE_RPC_TOKEN") for line in lines)
    child.close()


def test_one_that_cannot_be_started_raises_and_leaves_nothing(processes: Processes, tmp_path: Path) -> None:
    processes.start(["true"], cwd=tmp_path).close()
    before = sorted(os.listdir("/proc/self/fd"))
    with pytest.raises(FileNotFoundError) as raised:
        processes.start(["no-such-program"], cwd=tmp_path)
    assert raised.value.filename == "no-such-program"
    with pytest.raises(FileNotFoundError):
        processes.start(["true"], cwd=tmp_path / "gone")
    with pytest.raises(ValueError, match="null byte"):
        processes.start(["a\0b"], cwd=tmp_path)
    with pytest.raises(ValueError, match="environment"):
        processes.start(["true"], cwd=tmp_path, env={"A=B": "c"})
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_its_pipes_are_closed_with_it(processes: Processes, tmp_path: Path) -> None:
    processes.start(["true"], cwd=tmp_path).close()
    before = sorted(os.listdir("/proc/self/fd"))
    for _ in range(5):
        child = processes.start(ECHO, cwd=tmp_path)
        child.write(b"hello\n")
        child.stdout.readline()
        child.close()
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_it_dies_with_its_supervisor_and_says_so(processes: Processes, tmp_path: Path) -> None:
    child = processes.start(["sleep", "600"], cwd=tmp_path)
    assert processes._spawner.pid
    os.kill(processes._spawner.pid, signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    assert child.stdout.read() == b""
    child.close()
    again = processes.start(ECHO, cwd=tmp_path)
    again.write(b"hello\n")
    assert again.stdout.readline() == b"heard hello\n"
    again.close()


def test_one_that_starts_while_all_is_closed_does_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    processes = Processes(shared=(shared := SharedSpawner()))
    kept = Processes(shared=shared)  # So that the supervisor stays.

    def started(*args: Any, **options: Any) -> Child:
        child = Child(*args, **options)
        processes.close()  # Which cannot know of it yet.
        return child

    monkeypatch.setattr("linnet.processes.process.Child", started)
    child = processes.start(["sleep", "600"], cwd=tmp_path)
    assert child.closed
    assert not alive(child.pid)
    kept.close()


def test_nothing_is_started_once_all_is_closed_whoever_else_has_the_supervisor(tmp_path: Path) -> None:
    kept = Processes(shared=(shared := SharedSpawner()))
    processes = Processes(shared=shared)
    processes.close()
    with pytest.raises(Closed):
        processes.run(["touch", "ran"], cwd=tmp_path, sink=Quiet(), cancel=CancelToken())
    assert not (tmp_path / "ran").exists()
    kept.close()


class Quiet:
    def feed(self, data: bytes) -> None:
        pass

    def tick(self) -> float | None:
        return None
