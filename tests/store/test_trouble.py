"""What can happen to a session's file while it is open. The conversation goes on; nobody's bytes are overwritten."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

import pytest

from linnet.errors import SessionError
from linnet.store.entries import Named
from linnet.store.session_folder import Opened
from linnet.store.store import Store

if TYPE_CHECKING:
    from tests.store.conftest import Child

GONE = "; the conversation goes on, but is not saved there any more"


def replace(path: Path) -> None:
    path.with_name("new").write_bytes(b"somebody else's\n")
    path.with_name("new").rename(path)


def recreate(path: Path) -> None:
    path.unlink()
    path.write_bytes(b"somebody else's\n")


def append(path: Path) -> None:
    with path.open("ab") as raw:
        raw.write(b"somebody else's\n")


def rewrite(path: Path) -> None:
    """As pi does it when it brings a file up to date."""
    data = path.read_bytes()
    path.write_bytes(b" " + data)


def scribble(at: int, text: bytes) -> Callable[[Path], None]:
    """Something else in the same place, and the size as it was."""

    def change(path: Path) -> None:
        size = path.stat().st_size
        with path.open("r+b") as raw:
            raw.seek(at % size)
            raw.write(text or b"x" * size)
        assert path.stat().st_size == size
        os.utime(path, ns=(1, 1))  # Another tick of the clock, however quick this was.

    return change


TROUBLE: dict[str, tuple[Callable[[Path], object], str]] = {
    "deleted": (lambda path: path.unlink(), "was deleted"),
    "moved away": (lambda path: path.rename(path.with_name("elsewhere")), "was deleted"),
    "its folder deleted": (lambda path: shutil.rmtree(path.parent), "was deleted"),
    "replaced": (replace, "was replaced by another file"),
    "made anew": (recreate, "was replaced by another file"),
    "written to": (append, "was written to by another program"),
    "rewritten": (rewrite, "was written to by another program"),
    "rewritten in place": (scribble(0, b""), "was written to by another program"),
    "begun differently in place": (scribble(2, b"TYPE"), "was written to by another program"),
    "ended differently in place": (scribble(-4, b"x"), "was written to by another program"),
    "emptied": (lambda path: os.truncate(path, 0), "was cut short by another program"),
    "cut in a line": (lambda path: os.truncate(path, path.stat().st_size - 1), "was cut short by another program"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "folder"


@pytest.mark.parametrize("kind", TROUBLE)
def test_a_file_that_others_changed_is_left_alone_and_the_conversation_goes_on(
    kind: str, create: Callable[..., Store], folder: Path
) -> None:
    path = folder / "session.jsonl"
    store = create(at=path)
    store.append(Named("before"))
    TROUBLE[kind][0](path)
    theirs = {each.name: each.read_bytes() for each in folder.iterdir()} if folder.exists() else None

    for number in range(3):
        with pytest.raises(SessionError) as refused:
            store.append(Named(str(number)))
        assert str(refused.value) == f"{path} {TROUBLE[kind][1]}{GONE}"
    with pytest.raises(SessionError):
        store.append(Named("strictly"), strict=True)
    added = store.entries(store.tree.nodes[1:])
    assert [each.content for each in added] == [Named("0"), Named("1"), Named("2")]
    assert store.name == "2"
    store.log.sync()
    store.log.close()
    now = {each.name: each.read_bytes() for each in folder.iterdir()} if folder.exists() else None
    assert now == theirs


@pytest.mark.parametrize("kind", ["deleted", "moved away", "its folder deleted", "replaced", "made anew", "written to"])
def test_what_was_written_before_can_still_be_read_back(kind: str, create: Callable[..., Store], folder: Path) -> None:
    store = create(at=folder / "session.jsonl")
    store.append(Named("before"))
    TROUBLE[kind][0](folder / "session.jsonl")
    with pytest.raises(SessionError):
        store.append(Named("after"))
    assert [each.content for each in store.entries()] == [Named("before"), Named("after")]


def test_lines_that_were_run_together_in_the_middle_are_noticed_and_a_new_time_is_not(
    create: Callable[..., Store], folder: Path
) -> None:
    path = folder / "session.jsonl"
    store = create(at=path)
    for number in range(3):
        store.append(Named(str(number) * 5000))
        os.utime(path, ns=(number, number))
    store.append(Named("it is only the time"))
    scribble(path.read_bytes().index(b"\n", 8000), b" ")(path)
    with pytest.raises(SessionError, match="was written to by another program"):
        store.append(Named("after"))


def test_a_line_that_others_cut_off_is_an_error_and_not_half_a_line(store: Store, path: Path) -> None:
    store.append(Named("a"))
    store.append(Named("b"))
    os.truncate(path, path.stat().st_size - 5)
    assert store.log.line(0).endswith(b'"a"}')
    with pytest.raises(SessionError) as refused:
        store.lines()
    assert str(refused.value) == f"{path} was cut short by another program"


def test_a_file_that_is_back_in_its_place_was_never_away(store: Store, path: Path) -> None:
    store.append(Named("a"))
    path.rename(path.with_name("elsewhere"))
    path.with_name("elsewhere").rename(path)
    store.append(Named("b"))
    assert len(path.read_bytes().splitlines()) == 3


def test_half_a_line_is_taken_back(store: Store, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store.append(Named("a"))
    before = path.read_bytes()
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[: len(data) // 2]))
    with pytest.raises(SessionError, match="could not be written to: No space left on device"):
        store.append(Named("b"))
    assert path.read_bytes() == before
    monkeypatch.undo()
    store.append(Named("c"))
    assert path.read_bytes().split(b"\n")[1:-1] == store.lines()
    assert [each.content for each in store.entries()] == [Named("a"), Named("b"), Named("c")]


def test_a_line_that_only_lacks_its_end_is_taken_back_too(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = path.read_bytes()
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:-1]))
    with pytest.raises(SessionError):
        store.append(Named("a"))
    assert path.read_bytes() == before


def test_half_a_line_that_others_have_written_after_is_left_where_it_is(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write

    def disturbed(fd: int, data: bytes) -> int:
        wrote = write(fd, data[: len(data) // 2])
        append(path)
        return wrote

    monkeypatch.setattr(os, "write", disturbed)
    with pytest.raises(SessionError):
        store.append(Named("a"))
    monkeypatch.undo()
    assert path.read_bytes().endswith(b"somebody else's\n")
    with pytest.raises(SessionError, match="was written to by another program"):
        store.append(Named("b"))


def test_lines_that_wait_are_tried_once_more_at_the_end(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch, reopen: Callable[..., Opened]
) -> None:
    def fails(*args: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", fails)
    for name in "ab":
        with pytest.raises(SessionError, match="could not be written to: No space left on device"):
            store.append(Named(name))
    with pytest.raises(SessionError):
        store.append(Named("never"), strict=True)
    monkeypatch.undo()
    store.log.close()
    assert [each.content for each in reopen().store.entries()] == [Named("a"), Named("b")]


def test_when_only_some_of_those_that_wait_fit_they_are_not_written_twice(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    room = 0

    def limited(fd: int, data: bytes) -> int:
        nonlocal room
        if room == 0:
            raise OSError(28, "No space left on device")
        room -= 1
        return write(fd, data)

    monkeypatch.setattr(os, "write", limited)
    for name in "abc":
        with pytest.raises(SessionError):
            store.append(Named(name))
    room = 2
    with pytest.raises(SessionError):
        store.append(Named("d"))
    assert path.read_bytes().split(b"\n")[1:-1] == store.lines()[:2]
    room = 9
    store.append(Named("e"))
    assert path.read_bytes().split(b"\n")[1:-1] == store.lines()
    assert [each.content for each in store.entries()] == [Named(name) for name in "abcde"]


def test_a_disk_that_is_full_and_has_room_again_has_everything_in_its_order(
    child: Callable[..., "Child"], path: Path
) -> None:
    child("full", path).ends()


def may_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    mount = ["unshare", "-rm", "mount", "-t", "tmpfs", "none", gettempdir()]
    return subprocess.run(mount, stderr=subprocess.DEVNULL, check=False).returncode == 0


@pytest.mark.skipif(not may_mount(), reason="nothing can be mounted here")
def test_a_real_disk_that_is_full_does_the_same(child: Callable[..., "Child"], tmp_path: Path) -> None:
    child("small_disk", tmp_path, under=("unshare", "-rm")).ends()


def test_whoever_may_not_write_or_read_is_told_so_and_nothing_is_changed(child: Callable[..., "Child"]) -> None:
    assert child("nobody").ends().split() == ["unreadable", "read_only_file", "read_only_folder", "out_of_sight"]
