"""Whatever lies where a file should be is a sentence, at once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from linnet.errors import ConfigError
from linnet.files.reading import contents, read, required


def test_all_of_a_file_or_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    assert contents(str(tmp_path / "file")) == b"abc"
    assert contents(str(tmp_path / "none")) is None
    assert contents(str(tmp_path / "file" / "below")) is None
    with pytest.raises(ConfigError, match="cannot be read: there is no such file"):
        required(str(tmp_path / "none"))


def test_no_more_is_read_than_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"x" * 2000)
    assert contents(str(path), 2000) == b"x" * 2000
    with pytest.raises(ConfigError, match="larger than 1 KiB"):
        contents(str(path), 1999)
    found = read(str(path), 10)
    assert (found.data, found.cut) == (b"x" * 10, True)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "socket", "zero", "link to a pipe", "nul"])
def test_what_is_no_plain_file_is_a_sentence_and_never_waited_for(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "models.json")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        os.mkdir(path)
    elif kind == "device":
        os.symlink("/dev/tty", path)
    elif kind == "zero":
        os.symlink("/dev/zero", path)
    elif kind == "socket":
        import socket

        with socket.socket(socket.AF_UNIX) as sock:
            monkeypatch.chdir(tmp_path)  # A socket's path is short.
            sock.bind("models.json")
    elif kind == "link to a pipe":
        os.mkfifo(tmp_path / "pipe")
        os.symlink("pipe", path)
    else:
        path += "\0"
    with pytest.raises(ConfigError, match=r"cannot be read: it(s name has| is a folder| is not a plain file)"):
        contents(path)


def test_a_pipe_that_was_handed_over_is_read_to_its_end() -> None:
    program = "import sys; from linnet.files.reading import required; print(required(sys.argv[1]))"
    reading, writing = os.pipe()
    command = [sys.executable, "-c", program, f"/dev/fd/{reading}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, pass_fds=[reading]) as child:
        os.write(writing, b"first ")
        os.write(writing, b"second")
        os.close(writing)
        os.close(reading)
        assert child.communicate()[0] == b"b'first second'\n"


def test_a_file_that_changes_while_it_is_read_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    real = os.read
    changes = 1

    def changing(fd: int, size: int) -> bytes:
        nonlocal changes
        found = real(fd, size)
        if changes > 0:
            changes -= 1
            path.write_bytes(b"newer")
        return found

    monkeypatch.setattr(os, "read", changing)
    assert contents(str(path)) == b"newer"
    changes = 1000
    path.write_bytes(b"x")
    os.utime(path, ns=(0, 0))

    def restless(fd: int, size: int) -> bytes:
        nonlocal changes
        changes += 1
        found = real(fd, size)
        os.utime(path, ns=(0, changes))
        return found

    monkeypatch.setattr(os, "read", restless)
    with pytest.raises(ConfigError, match="it changes while it is read"):
        contents(str(path))
