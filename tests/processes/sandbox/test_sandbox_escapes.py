"""Every way out of the sandbox that we know of is tried; what would be found outside is made by the test."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Thread

import pytest

from linnet.concurrency.cancel import CancelToken
from linnet.processes.process import Processes
from linnet.processes.sandbox.bubblewrap import Sandbox
from linnet.testing.breakouts import BREAKOUTS, Breakout
from linnet.testing.processes import wait_until
from linnet.tools.text.output import CommandOutput

SECRET = "planted-5f1e0c77"
HOMELY = (
    ".ssh/id_rsa",
    ".ssh/authorized_keys",
    ".linnet/auth.json",
    ".bash_history",
    ".bashrc",
    ".cargo/credentials.toml",
)

pytestmark = pytest.mark.foreign  # bubblewrap, two hundred times.


class Outside:
    """A folder, a home, a process and sockets that nobody in the sandbox may touch."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "outside"
        self.home = folder / "home"
        self.work = folder / "work"
        for each in (self.folder, self.home, self.work):
            each.mkdir()
        (folder / "in-tmp").write_text(SECRET)
        self.shm = Path("/dev/shm") / f"linnet-{os.getpid()}"
        self.heard = 0
        self._stack = ExitStack()
        self._serving: list[tuple[socket.socket, Thread]] = []
        self._restore()
        ports = {}
        for name, family, kind, address in (
            ("TCP", socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", 0)),
            ("TCP6", socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0)),
            ("UDP", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            ("", socket.AF_UNIX, socket.SOCK_STREAM, str(self.folder / "socket")),
            ("", socket.AF_UNIX, socket.SOCK_STREAM, f"\0linnet-{os.getpid()}"),
        ):
            listener = self._stack.enter_context(socket.socket(family, kind))
            listener.bind(address)
            if name:
                ports[name] = str(listener.getsockname()[1])
            if kind == socket.SOCK_STREAM:
                listener.listen()
            thread = Thread(target=self._serve, args=(listener,), daemon=True)
            thread.start()
            self._serving.append((listener, thread))
        self._before = self._tree()
        self.victim = self._new_victim()
        self.variables = {
            **ports,
            "OUT": str(self.folder),
            "REAL_HOME": str(self.home),
            "HOME": str(self.home),
            "SHM": str(self.shm),
            "ABSTRACT": f"linnet-{os.getpid()}",
            "SSH_AUTH_SOCK": str(self.folder / "socket"),
            "DOCKER_HOST": f"unix://{self.folder}/socket",
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.folder}/socket",
            "ADDRESS": _address(),
            "AGENT": str(os.getpid()),
        }

    def harmed(self) -> list[str]:
        """What a script did, put right again."""
        found = []
        if self._tree() != self._before:
            found.append("files")
            self._restore()
        if self.heard:
            found.append("sockets")
            self.heard = 0
        if self.victim.poll() is not None:
            found.append("process")
        if found:
            self.victim.kill()
            self.victim.wait()
            self.victim = self._new_victim()
            self._before = self._tree()
        return found

    def close(self) -> None:
        self.victim.kill()
        self.victim.wait()
        for listener, thread in self._serving:
            # Before it is closed: a thread that still waits would read from whatever gets its number next.
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            thread.join()
        self._stack.close()
        self.shm.unlink(missing_ok=True)

    def _restore(self) -> None:
        for path in (*self.folder.iterdir(), self.home, self.shm):
            if path.name != "socket":
                subprocess.run(["rm", "-rf", path], check=True)
        for name in HOMELY:
            (self.home / name).parent.mkdir(exist_ok=True, parents=True)
        for path in (self.folder / "target", self.shm, *(self.home / name for name in HOMELY)):
            path.write_text(SECRET)
        (self.home / ".cargo" / "bin").mkdir()
        (self.home / ".gitconfig").write_text(f"[user]\n\tname = Ada\n[http]\n\textraheader = {SECRET}\n")

    def _tree(self) -> list[tuple[object, ...]]:
        rows: list[tuple[object, ...]] = []
        for root in (self.folder, self.home, self.shm):
            for path in [root, *sorted(root.rglob("*"))]:
                status = path.stat()
                content = path.read_bytes() if path.is_file() else b""
                times = status.st_mtime_ns if path.is_file() else 0
                marks = tuple(os.listxattr(path)) if path.is_file() else ()
                rows.append((str(path), status.st_mode, status.st_nlink, times, content, marks))
        return rows

    def _new_victim(self) -> "subprocess.Popen[bytes]":
        with open(self.folder / "target", "ab") as target:
            return subprocess.Popen(
                [SECRET, "600"],
                executable="/bin/sleep",
                cwd=self.folder,
                env={**os.environ, "PASSWORD": SECRET},
                stdout=target,
                start_new_session=True,
            )

    def _serve(self, listener: socket.socket) -> None:
        """Tell a secret to whoever asks. It is counted first: who has heard it must not be found only later."""
        while True:
            try:
                if listener.type == socket.SOCK_DGRAM:
                    _, who = listener.recvfrom(99)
                    if who is None:  # It was shut down.
                        return
                    self.heard += 1
                    listener.sendto(SECRET.encode(), who)
                else:
                    connection, _ = listener.accept()
                    self.heard += 1
                    with connection:
                        connection.sendall(SECRET.encode())
            except OSError:
                return


def _address() -> str:
    """Of this machine in its network; its own name for itself if it is in none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(("192.0.2.1", 9))
            return str(asking.getsockname()[0])
        except OSError:
            return "127.0.0.1"


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outside]:
    outside = Outside(tmp_path_factory.mktemp("escapes"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{outside.home}/.cargo/bin:{os.environ['PATH']}")
        for name, value in outside.variables.items():
            patch.setenv(name, value)
        yield outside
    outside.close()


@pytest.fixture(scope="module")
def inside(outside: Outside) -> Iterator[Processes]:
    sandbox = Sandbox(str(outside.work.resolve()), str(outside.home / ".linnet"), os.environ, network=False)
    processes = Processes(sandbox=sandbox)
    yield processes
    processes.close()
    assert not os.path.exists(sandbox.temporary)


@pytest.fixture(scope="module")
def unconfined(outside: Outside) -> Iterator[Processes]:
    processes = Processes()
    yield processes
    processes.close()


def tried(processes: Processes, script: str, outside: Outside, monkeypatch: pytest.MonkeyPatch) -> str:
    """Everything it printed. Each attempt has a new folder to work in, below the one that may be written to."""
    monkeypatch.setenv("VICTIM", str(outside.victim.pid))
    monkeypatch.setenv("SUPERVISOR", str(processes._spawner.pid))
    folder = outside.work
    printed: list[str] = []
    output = CommandOutput(printed.append)
    argv = ["/bin/bash", "-c", f"{script}\necho $?: tried"]
    processes.run(argv, cwd=folder, sink=output, cancel=CancelToken(), timeout=20)
    text = output.finish().text
    output.close()
    for left in folder.iterdir():
        subprocess.run(["rm", "-rf", left], check=True)
    return text


@pytest.mark.parametrize("breakout", BREAKOUTS.values(), ids=BREAKOUTS)
def test_no_way_out_works(
    breakout: Breakout, inside: Processes, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside.warm()
    said = tried(inside, breakout.script, outside, monkeypatch)
    assert SECRET not in said
    assert "ESCAPED" not in said
    assert outside.harmed() == []
    assert said.endswith(": tried\n")


def test_there_are_at_least_sixty() -> None:
    assert len(BREAKOUTS) >= 60


WORKING = {name: breakout for name, breakout in BREAKOUTS.items() if breakout.works}


@pytest.mark.parametrize("breakout", WORKING.values(), ids=WORKING)
def test_without_a_sandbox_it_would_have_worked(
    breakout: Breakout, unconfined: Processes, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = tried(unconfined, breakout.script, outside, monkeypatch)
    wait_until(lambda: bool(outside.harmed()) or SECRET in said or "ESCAPED" in said)
