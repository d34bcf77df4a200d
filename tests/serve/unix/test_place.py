"""Where a server's socket is: one server has it at a time, and leaves alone what is not its own."""

import os
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from linnet.errors import ConfigError
from linnet.serve.unix.place import Place, peer_uid

SERVER = """
import os, sys
from linnet.serve.unix.place import Place
place = Place(sys.argv[1], {})
place.listen()
print("listening", flush=True)
sys.stdin.read()
place.close()
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="place-") as folder:
        yield Path(folder)


@pytest.fixture
def path(folder: Path) -> Path:
    return folder / "run" / "serve.sock"


def server(path: Path) -> "subprocess.Popen[str]":
    """Another process that has the place."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdout.readline() == "listening\n"
    return process


def refusal(path: Path) -> str:
    with pytest.raises(ConfigError) as refused:
        Place(str(path), {}).listen()
    return str(refused.value)


def test_the_socket_is_for_its_owner_alone_and_is_gone_at_the_end(path: Path) -> None:
    before = os.umask(0)
    try:
        place = Place(str(path), {})
        listening = place.listen()
    finally:
        os.umask(before)
    assert place.path == str(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        accepted, _ = listening.accept()
        with accepted:
            assert peer_uid(accepted) == os.geteuid()
    place.close()
    place.close()
    assert listening.fileno() == -1
    assert [each.name for each in path.parent.iterdir()] == ["serve.sock.lock"]


def test_it_is_found_by_the_variables(folder: Path) -> None:
    assert Place(None, {"XDG_RUNTIME_DIR": "/run/user/1"}).path == "/run/user/1/linnet/serve.sock"
    assert Place(None, {"LINNET_HOME": "/l"}).path == "/l/serve.sock"
    assert Place("here.sock", {}).path == f"{os.getcwd()}/here.sock"
    with pytest.raises(ConfigError, match="give a whole path"):
        Place(None, {"LINNET_HOME": "here"})


def test_where_a_server_is_another_is_refused_and_told_which(path: Path) -> None:
    with server(path) as other:
        assert refusal(path) == f"a server is already there: {path} (process {other.pid})"
        assert path.exists()
        other.communicate()
    place = Place(str(path), {})
    place.listen()
    place.close()


def test_what_a_killed_server_left_is_replaced(path: Path) -> None:
    with server(path) as other:
        other.kill()
        other.communicate()
    assert path.exists()
    place = Place(str(path), {})
    place.listen()
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
    place.close()
    assert not path.exists()


@pytest.mark.parametrize("full", [False, True])
def test_a_socket_that_somebody_listens_on_without_the_lock_is_left_alone(path: Path, full: bool) -> None:
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as systemd, socket.socket(socket.AF_UNIX) as waiting:
        systemd.bind(str(path))
        systemd.listen(0)
        if full:
            waiting.connect(str(path))
        assert refusal(path) == f"a server is already there: {path}"
    assert path.exists()


def test_a_file_that_is_no_socket_is_not_removed(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("mine")
    assert refusal(path) == f"there is something else, which is no socket: {path}"
    assert path.read_text() == "mine"
    path.unlink()
    path.symlink_to("serve.sock.lock")
    assert refusal(path) == f"there is something else, which is no socket: {path}"


def test_a_folder_in_which_others_could_replace_the_socket_is_refused(folder: Path) -> None:
    open_to_all = folder / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    with pytest.raises(ConfigError, match="others could put a socket of their own"):
        Place(str(open_to_all / "serve.sock"), {}).listen()
    assert [*open_to_all.iterdir()] == []
    open_to_all.chmod(0o1777)  # As /tmp is: nobody removes what is somebody else's.
    place = Place(str(open_to_all / "serve.sock"), {})
    place.listen()
    place.close()


def test_a_folder_that_another_group_may_write_to_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o770)
    place = Place(str(folder / "s"), {})
    place.listen().close()  # A group of the user's own.
    place.close()
    monkeypatch.setattr(os, "getegid", lambda: folder.stat().st_gid + 1)
    with pytest.raises(ConfigError, match="others could put a socket of their own"):
        Place(str(folder / "s"), {}).listen()
    folder.chmod(0o1770)
    place = Place(str(folder / "s"), {})
    place.listen().close()
    place.close()


def test_a_path_that_no_socket_can_have_is_refused(folder: Path) -> None:
    path = folder / ("x" * 120)
    assert refusal(path) == f"the path of the socket has {len(str(path))} bytes, and may have 107: {path}"


def test_a_folder_that_cannot_be_made_or_used_is_told(folder: Path) -> None:
    (folder / "file").write_text("")
    assert refusal(folder / "file" / "serve.sock") == f"Not a directory: {folder}/file/serve.sock"
    assert refusal(Path("/proc/linnet/serve.sock")) == "No such file or directory: /proc/linnet/serve.sock"
    assert refusal(Path("/proc/serve.sock")).endswith(": /proc/serve.sock")


def test_a_refused_place_is_free_again(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("mine")
    refusal(path)
    path.unlink()
    place = Place(str(path), {})
    place.listen()
    place.close()


def test_at_the_end_the_socket_of_another_is_left_alone(path: Path) -> None:
    place = Place(str(path), {})
    place.listen()
    path.unlink()
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        place.close()
        assert path.exists()


def test_a_socket_that_was_passed_is_neither_made_nor_removed(path: Path) -> None:
    path.parent.mkdir()
    code = (
        "import os, sys; os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1'); os.dup2(int(sys.argv[1]), 3);"
        "from linnet.serve.unix.place import Place; place = Place(None, {'LINNET_HOME': '/elsewhere'});"
        "print(place.listen().getsockname(), place.path); place.close()"
    )
    with socket.socket(socket.AF_UNIX) as systemd:
        systemd.bind(str(path))
        systemd.listen()
        command = [sys.executable, "-c", code, str(systemd.fileno())]
        done = subprocess.run(command, pass_fds=[systemd.fileno()], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == (f"{path} {path}\n", "")
    assert path.exists()
