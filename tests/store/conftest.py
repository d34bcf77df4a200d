"""Session files in a folder of the test's own, with ids that count and a clock that stands still; and processes."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest

from linnet.store import file, session_folder
from linnet.store.header import Header
from linnet.store.store import EntrySources, Store

NOON = 1_767_268_800_000
HEADER = Header("0000-session", "2026-01-01T12:00:00.000Z", "CWD", None, 3)


@pytest.fixture(autouse=True)
def no_power_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting for the disk a thousand times would prove nothing: whoever is killed has left it all to the kernel."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)


class Child:
    """`child.py` at work on one of its tasks. It says what it has done, a line each, and goes when stdin ends."""

    def __init__(self, task: str, *args: str, under: Sequence[str]) -> None:
        command = [*under, sys.executable, str(Path(__file__).parent / "child.py"), task, *args]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    @property
    def pid(self) -> int:
        return self.process.pid

    def says(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def ends(self) -> str:
        """Everything it still has to say. It must end well."""
        rest, _ = self.process.communicate()
        assert self.process.returncode == 0
        return rest

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def child() -> Iterator[Callable[..., Child]]:
    with ExitStack() as stack:

        def start(task: str, *args: object, under: Sequence[str] = ()) -> Child:
            started = Child(task, *map(str, args), under=under)
            stack.callback(started.kill)
            return started

        yield start


@pytest.fixture
def sources() -> EntrySources:
    ids = count(1)
    return EntrySources(lambda: NOON, lambda: f"{next(ids):08x}")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


@pytest.fixture
def create(path: Path, sources: EntrySources) -> Iterator[Callable[..., Store]]:
    """A new session that has these lines in it, in a file unless another is named. It is closed in the end."""
    with ExitStack() as stack:

        def new(*lines: bytes, at: Path = path, header: Header = HEADER) -> Store:
            store = Store(header, file.create(str(at), header, lines), session_folder.glances(lines), sources=sources)
            stack.callback(store.log.close)
            return store

        yield new


@pytest.fixture
def reopen(path: Path, sources: EntrySources) -> Iterator[Callable[..., session_folder.Opened]]:
    with ExitStack() as stack:

        def open_again(at: Path = path, *, to_write: bool = True) -> session_folder.Opened:
            opened = session_folder.open_store(str(at), to_write=to_write, sources=sources)
            stack.callback(opened.store.log.close)
            return opened

        yield open_again


@pytest.fixture
def store(create: Callable[..., Store]) -> Store:
    """A new session, and nothing in it yet."""
    return create()
