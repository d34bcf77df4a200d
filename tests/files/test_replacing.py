"""A file is as it was or as it should be, whole, whoever else writes and whenever a process dies."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from linnet.files.lock import changing
from linnet.files.replacing import FOLDER, new_file, replace, sweep


def failing() -> Iterator[bytes]:
    yield b"half of it"
    raise RuntimeError("no more")


def test_the_pieces_are_the_file(tmp_path: Path) -> None:
    replace(tmp_path / "page.html", iter([b"a\n", b"b"]))
    assert (tmp_path / "page.html").read_bytes() == b"a\nb"
    assert os.listdir(tmp_path) == ["page.html"]


def test_an_old_file_keeps_its_mode_unless_another_is_asked_for(tmp_path: Path) -> None:
    old = tmp_path / "file"
    old.write_text("old")
    old.chmod(0o640)
    replace(old, b"new")
    assert (old.read_text(), stat.S_IMODE(old.stat().st_mode)) == ("new", 0o640)
    replace(old, b"newer", mode=0o600)
    assert (old.read_text(), stat.S_IMODE(old.stat().st_mode)) == ("newer", 0o600)


def test_a_mode_that_is_asked_for_does_not_depend_on_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        replace(tmp_path / "private", b"", mode=0o600)
        os.umask(0o777)
        replace(tmp_path / "shared", b"", mode=0o644)
    finally:
        os.umask(before)
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("private", "shared")] == [0o600, 0o644]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    replace(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_failure_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    old = tmp_path / "file"
    old.write_text("old")
    with pytest.raises(RuntimeError, match="no more"):
        replace(old, failing())
    assert (os.listdir(tmp_path), old.read_text()) == (["file"], "old")


@pytest.mark.parametrize("place", ["folder", "file/page.html", "pipe", "nul\0"])
def test_what_cannot_be_written_is_an_os_error(tmp_path: Path, place: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(OSError, match=r"\S"):
        replace(f"{tmp_path}/{place}", b"x")
    assert sorted(os.listdir(tmp_path)) == before


def test_what_a_killed_write_left_is_removed_by_the_next(tmp_path: Path) -> None:
    program = """
import os, signal, sys
from linnet.files.replacing import replace

def dying():
    yield b"sk-half a key"
    os.kill(os.getpid(), signal.SIGKILL)

replace(sys.argv[1] + "/auth.json", dying(), mode=0o600)
"""
    assert subprocess.run([sys.executable, "-c", program, tmp_path], check=False).returncode == -9
    assert b"sk-half a key" in [each.read_bytes() for each in tmp_path.iterdir()]
    replace(tmp_path / "another", b"x")
    assert os.listdir(tmp_path) == ["another"]


def test_what_others_are_writing_or_have_called_so_is_left_alone(tmp_path: Path) -> None:
    folder = os.open(tmp_path, FOLDER)
    name, fd = new_file(folder, 0o600)
    (tmp_path / ".linnet-notes").touch()
    (tmp_path / ".linnet-00000000000g").touch()
    (tmp_path / ".linnet-000000000000").mkdir()
    (tmp_path / ".linnet-000000000001").symlink_to(".linnet-notes")
    os.mkfifo(tmp_path / ".linnet-000000000002")
    there = set(os.listdir(tmp_path))
    sweep(folder)
    assert set(os.listdir(tmp_path)) == there
    os.close(fd)
    sweep(folder)
    assert set(os.listdir(tmp_path)) == there - {name}
    os.close(folder)


def test_changes_of_one_file_take_turns(tmp_path: Path) -> None:
    program = """
import sys
from linnet.files.lock import changing
from linnet.files.replacing import replace

for _ in range(20):
    with changing(sys.argv[1]):
        try:
            count = int(open(sys.argv[1]).read())
        except FileNotFoundError:
            count = 0
        replace(sys.argv[1], str(count + 1).encode())
"""
    path = tmp_path / "new" / "count"
    running = [subprocess.Popen([sys.executable, "-c", program, path]) for _ in range(4)]
    assert [each.wait() for each in running] == [0, 0, 0, 0]
    assert path.read_text() == "80"
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_somebody_who_never_finishes_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from linnet.errors import ConfigError
    from linnet.files import lock

    monkeypatch.setattr(lock, "PATIENCE", 0.0)
    path = str(tmp_path / "settings.json")
    with (
        changing(path),
        pytest.raises(ConfigError, match=r"is being changed by .*process.*; try again"),
        changing(path),
    ):
        pass
    with changing(path):
        pass
