"""`linnet monitor` around real processes: every byte, every signal and every exit code passes through."""

import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from linnet.monitor import tap
from linnet.monitor.stream import Stream
from linnet.monitor.watch import Watch
from linnet.testing.processes import alive, wait_until
from tests.suite import forked

LINNET = str(Path(sys.executable).with_name("linnet"))
PATIENCE = 30


def monitor(*command: str, flags: tuple[str, ...] = (), **options: Any) -> "subprocess.Popen[bytes]":
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return forked.Popen([LINNET, "monitor", *flags, "--", *command], **{**pipes, **options})


@contextmanager
def running(*command: str, **options: Any) -> Iterator["subprocess.Popen[bytes]"]:
    process = monitor(*command, **options)
    try:
        yield process
    finally:
        process.kill()
        with suppress(BrokenPipeError, ValueError):
            process.communicate()


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def run(*command: str, given: bytes = b"", flags: tuple[str, ...] = ()) -> tuple[int, bytes, bytes]:
    with running(*command, flags=flags) as process:
        out, err = process.communicate(given, PATIENCE)
        return process.returncode, out, err


def changes(err: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in err.splitlines() if line.startswith(b'{"state"')]


def test_every_byte_passes_both_ways(tmp_path: Path) -> None:
    data = os.urandom(3 << 20) + b"\n\r\n\xe2\x80\xa8\0" + b"x" * 100_000
    code, out, err = run("cat", given=data)
    assert (code, out) == (0, data)
    assert b"lines that are no JSON" in err


@pytest.mark.parametrize("mode", ["wb", "ab"])
def test_every_byte_passes_into_a_file(tmp_path: Path, mode: str) -> None:
    data = b"".join(b'{"type":"text_delta","delta":"%d"}\n' % n for n in range(50_000))
    with (tmp_path / "out").open(mode) as file, running("cat", stdout=file) as process:
        process.communicate(data, PATIENCE)
    assert (tmp_path / "out").read_bytes() == data


def test_the_agent_s_own_words_pass_and_its_states_are_told(tmp_path: Path) -> None:
    asked = b'{"id":"1","type":"prompt","message":"go"}\n'
    code, out, err = run(LINNET, "rpc", "--provider", "scripted", "--no-tools", given=asked, flags=("--json",))
    assert code == 0
    types = [json.loads(line)["type"] for line in out.splitlines()]
    assert (types[0], types[-1]) == ("response", "done")
    told = changes(err)
    states = [change["state"] for change in told]
    assert states[0] == "idle"
    assert states[-2:] == ["idle", "gone"]
    assert {"thinking", "speaking"} <= set(states)
    assert told[-1]["frames"] == len(types)
    assert all(change["at"] >= 0 for change in told)


def test_people_get_lines_at_a_modest_pace() -> None:
    lines = b'{"type":"turn_start"}\n{"type":"text_delta","delta":"a"}\n' * 1000
    _, out, err = run("cat", given=lines)
    assert out == lines
    said = err.decode().splitlines()
    assert 1 <= len(said) < 20
    assert said[-1].startswith("linnet monitor: gone, exit 0, while speaking · 1,000 turns")


def test_a_terminal_has_one_line_that_rewrites_itself() -> None:
    ours, theirs = pty.openpty()
    try:
        with running("cat", stderr=theirs) as process:
            process.communicate(b'{"type":"done"}\n', PATIENCE)
        shown = os.read(ours, 1 << 16)
    finally:
        os.close(ours)
        os.close(theirs)
    assert shown.startswith(b"\r\x1b[K")
    assert shown.endswith(b"gone, exit 0\r\n")
    assert shown.count(b"\n") == 1


@pytest.mark.parametrize(("ending", "code"), [("exit 3", 3), ("kill -9 $$", 137), ("kill -TERM $$", 143)])
def test_it_ends_as_the_agent_ends(ending: str, code: int) -> None:
    returned, out, err = run("sh", "-c", f'echo \'{{"type":"turn_start"}}\'; printf \'{{"type":"don\'; {ending}')
    assert returned == code
    assert out == b'{"type":"turn_start"}\n{"type":"don'
    assert f"gone, exit {code}, while thinking".encode() in err


def test_the_agent_s_stderr_is_its_own() -> None:
    _, out, err = run("sh", "-c", 'echo to stderr >&2; echo \'{"type":"done"}\'')
    assert b"to stderr\n" in err
    assert out == b'{"type":"done"}\n'


def test_the_end_of_stdin_is_passed_on_while_stdout_goes_on() -> None:
    code, out, _ = run(*python("import sys; n = len(sys.stdin.read()); print(n); sys.exit(n)"), given=b"12345")
    assert (code, out) == (5, b"5\n")


def test_what_is_printed_arrives_before_the_next_thing_is_asked() -> None:
    with running("cat") as process:
        assert process.stdin
        assert process.stdout
        for number in range(20):
            process.stdin.write(b"%d\n" % number)
            process.stdin.flush()
            assert process.stdout.readline() == b"%d\n" % number


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_signals_reach_the_agent_and_its_answer_comes_back(number: signal.Signals) -> None:
    code = f"""
import signal, sys, time
def heard(number, _):
    print("heard", number, flush=True)
    sys.exit(7)
signal.signal({int(number)}, heard)
print("ready", flush=True)
while True: time.sleep(0.05)  # Not signal.pause(): a signal that comes just before it would not end it.
"""
    with running(*python(code)) as process:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        assert process.stdout.readline() == b"heard %d\n" % number
        assert process.wait(PATIENCE) == 7


def test_the_agent_does_not_outlive_a_monitor_that_is_killed() -> None:
    with running(*python("import os, time; print(os.getpid(), flush=True); time.sleep(600)")) as process:
        assert process.stdout
        child = int(process.stdout.readline())
        assert alive(child)
        process.kill()
        process.wait(PATIENCE)
        wait_until(lambda: not alive(child))


def test_an_agent_whose_reader_is_gone_learns_of_it_though_it_says_nothing() -> None:
    code = """
import os, select
poll = select.poll()
poll.register(1, 0)
print("ready", flush=True)
poll.poll()
os._exit(9)
"""
    with running(*python(code)) as process:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        process.stdout.close()
        assert process.wait(PATIENCE) == 9


def test_a_reader_of_stderr_who_does_not_read_slows_nothing() -> None:
    """The pipe for stderr is full before the agent begins."""
    reads, writes = os.pipe()
    fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, 4096)
    os.write(writes, b"x" * 4096)
    lines = b'{"type":"turn_start"}\n{"type":"done"}\n' * 3_000
    try:
        with running("cat", flags=("--json",), stderr=writes) as process:
            out, _ = process.communicate(lines, PATIENCE)
            assert (out == lines, process.returncode) == (True, 0)
    finally:
        os.close(reads)
        os.close(writes)


def test_a_reader_who_pauses_holds_the_agent_and_nothing_is_lost() -> None:
    code = 'import sys; sys.stdout.buffer.write(b\'{"type":"text_delta","delta":"x"}\\n\' * 200_000)'
    with running(*python(code)) as process:
        assert process.stdout
        assert process.stderr
        os.read(process.stdout.fileno(), 1)
        assert process.poll() is None
        out, err = process.communicate(timeout=PATIENCE)
        assert 1 + len(out) == 200_000 * 34
        assert b"gone, exit 0" in err


@pytest.mark.parametrize("kind", [tap.Pages, tap.Copies])
def test_a_tap_that_nobody_empties_loses_the_oldest_and_says_how_much(kind: type, tmp_path: Path) -> None:
    data = b"".join(b'{"type":"text_delta","delta":"%07d"}\n' % n for n in range(100_000))
    (tmp_path / "data").write_bytes(data)
    stream = Stream(Watch("zot"))
    with subprocess.Popen(["cat", str(tmp_path / "data")], stdout=subprocess.PIPE) as source:
        assert source.stdout
        with (tmp_path / "out").open("wb") as target:
            fds = (source.stdout.fileno(), target.fileno())
            tapped = tap.open_tap(*fds) if kind is tap.Pages else tap.Copies(*fds)
            assert isinstance(tapped, kind)
            while tapped.forward():
                if tapped.full():
                    tapped.make_room()
            lost, seen = tapped.take()
            while tapped.waiting:
                seen += tapped.take()[1]
            tapped.close()
    assert (tmp_path / "out").read_bytes() == data
    assert (lost > 0, lost + len(seen)) == (True, len(data))
    stream.skip(lost)
    stream.feed(0.0, seen)
    assert stream.watch.skipped == lost
    assert stream.watch.garbled == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["monitor"], "linnet: say what to watch: linnet monitor -- COMMAND…, or linnet monitor FILE\n"),
        (["monitor", "--"], "linnet: a command is missing after --\n"),
        (["monitor", "x", "--", "y"], "linnet: linnet monitor takes a command or a file, not both: 'x'\n"),
        (["monitor", "no-such-file"], "linnet: no-such-file could not be read: No such file or directory\n"),
        (["monitor", "--", "no-such-program"], "linnet: no-such-program: there is no such program\n"),
        (["monitor", "--dialect", "x", "f"], "linnet: --dialect must be one of zot, pi, not 'x'\n"),
    ],
)
def test_a_bad_argument_gets_one_sentence(arguments: list[str], sentence: str, tmp_path: Path) -> None:
    done = forked.run([LINNET, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode > 0, done.stderr) == (True, sentence)


@pytest.mark.parametrize("word", ["monitor", "capture"])
def test_help_is_there(word: str) -> None:
    done = forked.run([LINNET, word, "--help"], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0
    assert done.stdout.startswith(f"linnet {word}: ")
    everything = forked.run([LINNET, "--help"], capture_output=True, text=True, timeout=PATIENCE)
    assert f"  linnet {word} " in everything.stdout
