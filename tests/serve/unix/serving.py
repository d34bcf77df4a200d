"""A real `linnet serve` that can be killed, stopped and started again, and a client on its socket."""

import json
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.serve.unix.tape import Frame, Tape
from tests.suite.forked import Popen

PATIENCE = 60.0  # Seconds. To be seen to hang, not to be fast: a machine may be busy.
LINNET = Path(sys.executable).with_name("linnet")


class Served:
    """A server's place: its socket, the folder of its state, its home and a folder for its agents to work in. At most
    one process serves there. All of it is gone when the context is left.
    """

    def __init__(self, model_url: str, *flags: str, env: Mapping[str, str] | None = None) -> None:
        # Not in pytest's folders: the path of a socket has at most 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="linnet-serve-"))
        self.socket = self.folder / "serve.sock"
        self.state = self.folder / "state"
        self.work = self.folder / "work"
        self.work.mkdir()
        self.flags = flags
        usual = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
        asked = {"LINNET_PROVIDER": "anthropic", "LINNET_MODEL": "claude-sonnet-4-5", "LINNET_BASE_URL": model_url}
        home = {"LINNET_HOME": str(self.folder / "home"), "ANTHROPIC_API_KEY": "x"}
        self._env = {**usual, **asked, **home, **(env or {})}
        self._process: Popen | None = None
        self._clients = ExitStack()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clients.close()
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def stderr(self) -> str:
        """Everything that all of its processes have printed on stderr."""
        return (self.folder / "stderr").read_text(errors="replace")

    def start(self, *flags: str) -> None:
        """Start it, and return when it takes connections, which it tells as a service of systemd does."""
        place = ["--socket", str(self.socket), "--state", str(self.state)]
        self._process = self._started([str(LINNET), "serve", *place, *self.flags, *flags])

    def _started(self, command: list[str]) -> Popen:
        """Start a service, and return it when it has told that it is ready."""
        told = self.folder / "notify"
        told.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear, (self.folder / "stderr").open("ab") as errors:
            ear.bind(str(told))
            process = Popen(
                command,
                stderr=errors,
                stdin=-3,
                stdout=-3,
                cwd=self.work,
                env={**self._env, "NOTIFY_SOCKET": str(told)},
            )
            over = os.pidfd_open(process.pid)
            try:
                ready, _, _ = select.select([ear.fileno(), over], [], [], PATIENCE)
            finally:
                os.close(over)
            if ear.fileno() not in ready:
                process.kill()
                process.wait()
                raise AssertionError(f"the server did not start:\n{self.stderr}")
            assert ear.recv(100) == b"READY=1"
        return process

    def kill(self) -> None:
        """End it as a power cut would, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def restart(self, *flags: str) -> None:
        self.kill()
        self.start(*flags)

    def signal(self, number: int) -> None:
        assert self._process is not None
        os.kill(self._process.pid, number)

    def stop(self) -> None:
        """Have it stand still, and whoever speaks to it wait."""
        self.signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self.signal(signal.SIGCONT)

    def ended(self) -> int:
        """Wait for it to end, and return its exit code."""
        assert self._process is not None
        process, self._process = self._process, None
        return int(process.wait(PATIENCE))

    def connected(self) -> "Client":
        """Return a connection on which nothing was said yet."""
        return self._clients.enter_context(Client(self.socket))

    def open(self, *flags: str, **said: Any) -> "Client":
        """Return the driver of a new agent."""
        client = self.connected()
        client.say({"type": "open", "cwd": str(self.work), "dialect": "pi-1", "flags": flags, **said})
        return client.begun()

    def attach(self, agent: str, **said: Any) -> "Client":
        """Return a client of an agent; `after` is the number that was seen last."""
        client = self.connected()
        client.say({"type": "attach", "agent": agent, **_with_from(said)})
        return client.begun()

    def agents(self) -> dict[str, Frame]:
        """Return the summaries of all agents, by their ids."""
        with Client(self.socket) as client:
            client.say({"type": "agents"})
            return {each["id"]: each for each in client.read()["data"]["agents"]}

    def memory(self) -> int:
        """Return the bytes that the process has in memory."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


class Client:
    """One connection. What it reads is on `tape`, and in `seen`."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(str(path))
        self.tape = Tape()
        self.seen: list[Frame] = []
        self.agent = ""
        self.first: Frame = {}
        """The answer to the first line."""
        self._ready: list[Frame] = []
        self._ids = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    def say(self, *frames: Frame) -> None:
        """Send these lines in one write."""
        self.socket.sendall(b"".join(json.dumps(each).encode() + b"\n" for each in frames))

    def read(self) -> Frame:
        """Return the next line. Raises EOFError if there is none any more."""
        while not self._ready:
            chunk = self.socket.recv(1 << 16)
            if not chunk:
                raise EOFError(f"the server has closed the connection, after {self.seen[-3:]}")
            self._ready = self.tape.feed(chunk)
        self.seen.append(self._ready.pop(0))
        return self.seen[-1]

    def begun(self) -> Self:
        """Read the answer to the first line, which opens an agent or attaches to one."""
        self.first = self.read()
        assert self.first["success"], self.first
        self.agent = self.first["data"]["agent"]
        return self

    def until(self, wanted: str | Callable[[Frame], object]) -> Frame:
        """Return the first line from now on that is of this type, or of which this holds."""
        while True:
            frame = self.read()
            if frame["type"] == wanted if isinstance(wanted, str) else wanted(frame):
                return frame

    def ask(self, type: str, **fields: Any) -> Frame:
        """Send a command, and return its response."""
        id = fields.pop("id", None) or self._next_id()
        self.say({"id": id, "type": type, **fields})
        return self.until(lambda frame: frame["type"] == "response" and frame.get("id") == id)

    def done(self, type: str, **fields: Any) -> Any:
        """Send a command that must succeed, and return what its response has to say."""
        answer = self.ask(type, **fields)
        assert answer["success"], answer
        return answer.get("data")

    def rest(self) -> list[Frame]:
        """Return all that comes until the server closes the connection."""
        before = len(self.seen)
        try:
            while True:
                self.read()
        except EOFError:
            return self.seen[before:]

    def close(self) -> None:
        self.socket.close()

    def _next_id(self) -> str:
        self._ids += 1
        return f"ask-{self._ids}"


def _with_from(said: dict[str, Any]) -> dict[str, Any]:
    return {"from" if name == "after" else name: value for name, value in said.items()}
