"""Golden transcripts: a folder is a conversation, a file in it is every byte that one dialect prints.

    stdin.jsonl              the lines sent, byte for byte. The next one is sent when what the last one started is over,
                             unless a mark says otherwise (below).
    model.json               what the scripted model does
    flags.json               a list of command-line flags (optional)
    files/                   what is in the working folder at the start (optional)
    stdout.DIALECT.jsonl     what is printed; `--update-golden` writes it, and the diff is the review

A mark is a line of stdin.jsonl that starts with `# `. It is not sent; it says what to wait for after the line above it:

    # once TextGrew          until this event of the core has happened since that line was sent
    # at once                nothing

The clock stands still; the folder is printed as CWD, the version as VERSION, a command's time as 0.0 s.
"""

import json
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Condition, Thread

import pytest
from msgspec import Struct

from linnet import __version__
from linnet.core.cancel import Cancel
from linnet.core.events import Event
from linnet.flags import Flags, parse
from linnet.runtime.config import Config, resolve
from linnet.runtime.machinery import build
from linnet.runtime.session import Audience, Session
from linnet.server.serve import Server
from linnet.server.stdio import Stdio
from linnet.wire.dialect import Dialect
from linnet.wire.zot.dialect import Zot

HERE = Path(__file__).parent
NOON = 1_767_268_800_000  # 2026-01-01T12:00:00Z
PATIENCE = 20.0
DIALECTS: dict[str, Callable[[Flags], Dialect]] = {"zot": lambda flags: Zot(show_thinking=flags.show_thinking)}


class Line(Struct, frozen=True):
    """`until`: an event to wait for, or nothing at all if it is empty; None for the end of what the line started."""

    data: bytes
    until: str | None = None


class Watched:
    """Tells the server what happens, and remembers it for whoever waits for it."""

    def __init__(self, server: Audience) -> None:
        self._server = server
        self._changed = Condition()
        self._heard: list[str] = []

    def hear(self, events: Sequence[Event]) -> None:
        self._server.hear(events)
        with self._changed:
            self._heard += [type(event).__name__ for event in events]
            self._changed.notify_all()

    def pace(self, cancel: Cancel) -> None:
        self._server.pace(cancel)

    def forget(self) -> None:
        with self._changed:
            self._heard.clear()

    def wait_for(self, event: str) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: event in self._heard, PATIENCE), f"{event} never happened"


class Reader:
    """Takes what is printed, so that nothing waits for it."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._changed = Condition()
        self.printed = b""

    def run(self) -> None:
        while chunk := os.read(self._fd, 1 << 16):
            with self._changed:
                self.printed += chunk
                self._changed.notify_all()

    def wait_for_responses(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self._responses() >= count, PATIENCE), "a line was never answered"

    def _responses(self) -> int:
        return sum(
            b'"type":"response"' in line for line in self.printed.splitlines(keepends=True) if line[-1:] == b"\n"
        )


def read_script(path: Path) -> list[Line]:
    lines: list[Line] = []
    for data in path.read_bytes().splitlines(keepends=True):
        mark = re.fullmatch(rb"# (?:once (\w+)|at once)\n", data)
        if mark:
            lines[-1] = Line(lines[-1].data, (mark[1] or b"").decode())
        else:
            lines.append(Line(data))
    return lines


def converse(lines: Sequence[Line], stdin: int, reader: Reader, watched: Watched, session: Session) -> None:
    sent = 0
    for line in lines:
        watched.forget()
        os.write(stdin, line.data)
        sent += bool(line.data.strip())
        if line.until is None:
            reader.wait_for_responses(sent)
            session.finish()
        elif line.until:
            watched.wait_for(line.until)


@contextmanager
def signals_kept() -> Iterator[None]:
    """The server takes the process's signals for its own."""
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    handlers = [signal.getsignal(number) for number in numbers]
    try:
        yield
    finally:
        signal.set_wakeup_fd(-1)
        for number, handler in zip(numbers, handlers, strict=True):
            signal.signal(number, handler)


def play(folder: Path, dialect: str, cwd: Path) -> bytes:
    """What the server prints on a real pair of pipes, with the conversation held on another thread."""
    if (folder / "files").exists():
        shutil.copytree(folder / "files", cwd, dirs_exist_ok=True)
    flags_file = folder / "flags.json"
    flags = parse(["rpc", *(json.loads(flags_file.read_text()) if flags_file.exists() else [])])
    config = Config(**{"cwd": str(cwd), "script": str(folder / "model.json"), **flags.config})
    settings = resolve(config, {"LINNET_HOME": str(cwd / "no-home")})
    source, stdin = os.pipe()
    stdout, sink = os.pipe()
    opened: list[tuple[Watched, Session]] = []

    def open_session(server: Server) -> Session:
        watched = Watched(server)
        session = Session(settings, watched, lambda: build(settings, adopt_orphans=False), clock=lambda: NOON)
        opened.append((watched, session))
        return session

    server = Server(DIALECTS[dialect](flags), Stdio(source, sink), open_session, None)
    reader = Reader(stdout)
    faults: list[BaseException] = []

    def talk() -> None:
        try:
            converse(read_script(folder / "stdin.jsonl"), stdin, reader, *opened[0])
        except BaseException as fault:
            faults.append(fault)
        finally:
            os.close(stdin)

    threads = [Thread(target=reader.run), Thread(target=talk)]
    for thread in threads:
        thread.start()
    with signals_kept():
        code = server.run()
    os.close(sink)
    for thread in threads:
        thread.join()
    os.close(source)
    os.close(stdout)
    for fault in faults:
        raise AssertionError(f"{fault}; printed so far:\n{reader.printed.decode()}") from fault
    assert code == 0
    return reader.printed


def normalised(printed: bytes, cwd: Path) -> bytes:
    printed = printed.replace(str(cwd).encode(), b"CWD").replace(
        b'"version":"' + __version__.encode(), b'"version":"VERSION'
    )
    return re.sub(rb"Took \d+\.\ds", b"Took 0.0s", printed)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "dialect" not in metafunc.fixturenames:
        return
    cases = [(file.parent.name, file.name.split(".")[1]) for file in sorted(HERE.glob("*/stdout.*.jsonl"))]
    if metafunc.config.getoption("--update-golden", default=False):
        new = {file.parent.name for file in HERE.glob("*/stdin.jsonl")} - {name for name, _ in cases}
        cases += [(name, "zot") for name in sorted(new)]
    metafunc.parametrize(("name", "dialect"), cases, ids=[f"{name}-{dialect}" for name, dialect in cases])


def test_a_conversation_prints_exactly_what_it_did(
    name: str, dialect: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    printed = normalised(play(HERE / name, dialect, tmp_path), tmp_path)
    golden = HERE / name / f"stdout.{dialect}.jsonl"
    if request.config.getoption("--update-golden", default=False):
        golden.write_bytes(printed)
    assert printed.split(b"\n") == golden.read_bytes().split(b"\n")


def test_every_conversation_is_whole() -> None:
    for folder in (path for path in HERE.iterdir() if path.is_dir() and path.name != "__pycache__"):
        assert (folder / "model.json").exists(), folder.name
        assert (folder / "stdin.jsonl").exists(), folder.name
        dialects = [file.name.split(".")[1] for file in folder.glob("stdout.*.jsonl")]
        assert dialects, f"{folder.name}: run `make golden`"
        assert set(dialects) <= set(DIALECTS), folder.name
