"""A page is on disk, whole, or nothing is."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from linnet.export.file import write


def failing() -> Iterator[str]:
    yield "half of it"
    raise RuntimeError("no more")


def test_the_pieces_are_the_file(tmp_path: Path) -> None:
    write(tmp_path / "page.html", iter(["a\n", "é", "\ud800"]))
    assert (tmp_path / "page.html").read_bytes() == "a\né?".encode()
    assert os.listdir(tmp_path) == ["page.html"]


def test_an_old_file_is_replaced_and_keeps_its_mode(tmp_path: Path) -> None:
    old = tmp_path / "page.html"
    old.write_text("old")
    old.chmod(0o640)
    write(old, ["new"])
    assert (old.read_text(), stat.S_IMODE(old.stat().st_mode)) == ("new", 0o640)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.html").write_text("old")
    (tmp_path / "link.html").symlink_to("real.html")
    write(tmp_path / "link.html", ["new"])
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "real.html").read_text() == "new"


def test_a_failure_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    old = tmp_path / "page.html"
    old.write_text("old")
    with pytest.raises(RuntimeError, match="no more"):
        write(old, failing())
    assert (os.listdir(tmp_path), old.read_text()) == (["page.html"], "old")


@pytest.mark.parametrize("place", ["missing/page.html", "folder", "file/page.html", "pipe"])
def test_what_cannot_be_written_is_an_os_error(tmp_path: Path, place: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(OSError, match=r"\S"):
        write(tmp_path / place, ["x"])
    assert sorted(os.listdir(tmp_path)) == before
