"""What systemd passes to a service, and is told by it."""

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from linnet.serve.unix.systemd import notify

ACTIVATED = """
import os, sys
given = os.environ.pop("GIVEN")
os.environ["LISTEN_PID"] = str(os.getpid() + int(os.environ.pop("PID_DIFFERS", "0")))
os.dup2(int(given), 3)
from linnet.errors import ConfigError
from linnet.serve.unix.systemd import inherited
try:
    found = inherited()
except ConfigError as error:
    print(error)
else:
    print(found.getsockname() if found else None, os.get_inheritable(3))
print([name for name in os.environ if name.startswith("LISTEN_")])
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="systemd-") as folder:
        yield Path(folder)


def activated(passed: socket.socket, **variables: str) -> list[str]:
    """What a process that is started with a socket finds."""
    env = {**os.environ, "LISTEN_FDS": "1", "LISTEN_FDNAMES": "linnet", "GIVEN": str(passed.fileno()), **variables}
    done = subprocess.run(
        [sys.executable, "-c", ACTIVATED],
        env=env,
        pass_fds=[passed.fileno()],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_a_socket_that_systemd_listens_on_is_taken_over(folder: Path) -> None:
    path = str(folder / "serve.sock")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        assert activated(listening) == [f"{path} False", "[]"]


@pytest.mark.parametrize("variables", [{"LISTEN_FDS": "0"}, {"LISTEN_FDS": "x"}, {"PID_DIFFERS": "1"}])
def test_what_is_for_another_process_is_left_alone(folder: Path, variables: dict[str, str]) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "serve.sock"))
        listening.listen()
        assert activated(listening, **variables) == ["None True", "[]"]


@pytest.mark.parametrize("kind", ["datagrams", "not listening", "network"])
def test_another_socket_than_a_listening_one_is_refused(folder: Path, kind: str) -> None:
    family = socket.AF_INET if kind == "network" else socket.AF_UNIX
    with socket.socket(family, socket.SOCK_DGRAM if kind == "datagrams" else socket.SOCK_STREAM) as other:
        other.bind(("127.0.0.1", 0) if kind == "network" else str(folder / "serve.sock"))
        if kind == "network":
            other.listen()
        assert activated(other)[0].startswith("systemd passed no unix socket that listens")


@pytest.mark.parametrize("abstract", [False, True])
def test_states_are_told(folder: Path, abstract: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"{folder}/notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.bind(f"\0{name}" if abstract else name)
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}" if abstract else name)
        notify("READY=1")
        assert supervisor.recv(100) == b"READY=1"


@pytest.mark.parametrize("place", ["", "/nowhere/at/all", "vsock:1:2", "/" + "x" * 200, "@" + "x" * 200])
def test_where_nobody_wants_to_be_told_nothing_happens(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", place)
    notify("READY=1")
    monkeypatch.delenv("NOTIFY_SOCKET")
    notify("READY=1")
