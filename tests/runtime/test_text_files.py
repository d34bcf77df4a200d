"""Files that may be huge, broken or no files: none of them stops anything, and each is named in one line."""

import logging
import os
from pathlib import Path
from typing import Any

import pytest

from linnet.errors import BadInput
from linnet.runtime.project.text_files import TextFile, TextFiles, entries, read


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


@pytest.fixture
def files() -> TextFiles[str]:
    def make(file: TextFile) -> str:
        if "bad" in file.text:
            raise BadInput("line 1: it is bad")
        return file.text

    return TextFiles(make, most=1024)


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _loop(path: Path) -> None:
    path.symlink_to(path)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _terminal(path: Path) -> None:
    path.symlink_to("/dev/tty")


def _hollow(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


TROUBLE: list[tuple[Any, str]] = [
    (_fifo, "it is not a plain file"),
    (_loop, "too many levels of symbolic links"),
    (_device, "it is not a plain file"),
    (_terminal, "it is not a plain file"),
    (Path.mkdir, "it is a folder"),
    (lambda path: path.write_bytes(b"a\0b"), "it is not text"),
    (lambda path: path.write_bytes(b"a\xff"), "it is not UTF-8 (byte 1)"),
    (lambda path: path.write_text("x" * 1025), "it has more than 1 KiB"),
    (_hollow, "it is not text"),
    (lambda path: path.write_text("bad"), "line 1: it is bad"),
]


@pytest.mark.parametrize(("made", "why"), TROUBLE, ids=[why + str(n) for n, (_, why) in enumerate(TROUBLE)])
def test_what_cannot_be_used_is_named_in_one_line_and_left_out(
    tmp_path: Path, files: TextFiles[str], caplog: pytest.LogCaptureFixture, made: Any, why: str
) -> None:
    path = tmp_path / "file"
    made(path)
    assert [files.get(str(path)) for _ in range(3)] == [None] * 3
    assert lines(caplog) == [f"linnet: {path} is left out: {why}"]


def test_a_file_that_is_not_there_is_nothing_to_speak_of(
    tmp_path: Path, files: TextFiles[str], caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "dead").symlink_to(tmp_path / "gone")
    for name in ("gone", "file/below", "dead"):
        assert files.get(str(tmp_path / name)) is None
    assert lines(caplog) == []


def test_a_name_with_a_line_end_is_still_one_line(
    tmp_path: Path, files: TextFiles[str], caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "two\nlines"
    path.mkdir()
    files.get(str(path))
    (line,) = lines(caplog)
    assert "\n" not in line


def test_a_file_is_read_again_only_when_it_has_changed(tmp_path: Path) -> None:
    made: list[str] = []
    files = TextFiles(lambda file: made.append(file.text))
    path = tmp_path / "file"
    for text in ("one", "three", "three"):
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
        files.get(str(path))
    assert made == ["one", "three"]
    path.unlink()
    assert files.get(str(path)) is None
    path.write_text("back")
    files.get(str(path))
    assert made[-1] == "back"


def test_what_is_too_long_may_be_cut_between_two_characters(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("ab\u20ac\u20ac")
    assert read(str(path), 100) == ("ab\u20ac\u20ac", False)
    assert read(str(path), 8) == ("ab\u20ac\u20ac", False)
    assert read(str(path), 7) == ("ab\u20ac", True)
    assert read(str(path), 3) == ("ab", True)
    path.write_bytes(b"\xef\xbb\xbfmarked")
    assert read(str(path), 100) == ("marked", False)


def test_a_link_that_leads_out_of_a_folder_is_not_followed_where_that_matters(
    tmp_path: Path, files: TextFiles[str], caplog: pytest.LogCaptureFixture
) -> None:
    inside, key = tmp_path / "inside", tmp_path / "inside-not"
    (inside / "deep").mkdir(parents=True)
    key.write_text("key")
    (inside / "real").write_text("text")
    (inside / "deep" / "in").symlink_to("../real")
    (inside / "out").symlink_to(key)
    (inside / "around").symlink_to(inside / ".." / "inside-not")
    (inside / "folder").symlink_to(tmp_path)
    root = str(inside)
    assert files.get(str(inside / "deep" / "in"), root) == "text"
    for name in ("out", "around", "folder/inside-not"):
        assert files.get(str(inside / name), root) is None
        assert files.get(str(inside / name)) == "key"
    assert len(lines(caplog)) == 3
    assert all(f"a link that leads out of {root}" in line for line in lines(caplog))


def test_a_folder_is_listed_in_order_or_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("b", "a", "C"):
        (tmp_path / name).write_text("")
    told: list[str] = []
    assert [entry.name for entry in entries(str(tmp_path), told.append)] == ["C", "a", "b"]
    assert list(entries(str(tmp_path / "gone"), told.append)) == []
    assert told == []
    assert list(entries(str(tmp_path / "a"), told.append)) == []
    assert told == [f"{tmp_path / 'a'} is left out: not a directory"]


def test_a_line_goes_to_stderr_where_nobody_listens_to_logging(
    tmp_path: Path, files: TextFiles[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").mkdir()
    root = logging.getLogger()
    before, root.handlers = root.handlers, []
    try:
        files.get(str(tmp_path / "file"))
    finally:
        root.handlers = before
    assert capsys.readouterr().err == f"linnet: {tmp_path / 'file'} is left out: it is a folder\n"
