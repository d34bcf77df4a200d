"""Many clients of one server in one loop: they come, go, stand still, are cut off, and come back to where they were."""

import json
import socket
from collections.abc import Callable
from random import Random
from selectors import EVENT_READ, DefaultSelector

from msgspec import Struct

from tests.serve.unix.network import Network, call
from tests.serve.unix.serving import Served
from tests.serve.unix.tape import Frame, Tape


class View(Struct, frozen=True):
    """How a client wants to be told: those with equal ones are told the same, byte for byte."""

    agent: str
    dialect: str
    stream: str | None = None
    settled: bool = False


class Watcher:
    """Invariant: on its tape is what one has been told that never left, up to a number."""

    role = "watch"
    client = ""

    def __init__(self, crowd: "Crowd", view: View) -> None:
        self.crowd = crowd
        self.view = view
        self.tape = Tape()
        self.network: Network | None = None
        self._socket: socket.socket | None = None
        self._attached = False
        self._paused = False
        self._asked = 0
        self.finished = True
        """It was told everything up to when it asked for the last time."""
        self.is_busy = False
        """Something ran then."""

    @property
    def is_connected(self) -> bool:
        return self._socket is not None

    @property
    def is_attached(self) -> bool:
        return self._socket is not None and self._attached

    def come(self, *, through_network: bool) -> None:
        """Attach from the number that was seen last, if the server is there."""
        assert self._socket is None
        try:
            if through_network:
                self.network = Network(self.crowd.served.socket, self.crowd.selector)
                connection = self.network.end
            else:
                connection = socket.socket(socket.AF_UNIX)
                connection.connect(str(self.crowd.served.socket))
        except OSError:
            return
        connection.setblocking(False)
        self._socket, self._attached, self._paused = connection, False, False
        self.crowd.selector.register(connection, EVENT_READ, self._read)
        self._say(self._first_line())

    def leave(self) -> None:
        """Go without a word, as a process does that is killed: what was not read is lost. Idempotent."""
        connection, self._socket = self._socket, None
        if connection is not None:
            if not self._paused:
                self.crowd.selector.unregister(connection)
            connection.close()
            if self.network is not None:
                self.network.cut()
                self.network = None
            self.tape.cut()

    def pause(self) -> None:
        """Read nothing, as a process does that is stopped."""
        if self._socket is not None and not self._paused:
            self._paused = True
            self.crowd.selector.unregister(self._socket)

    def go_on(self) -> None:
        if self._socket is not None and self._paused:
            self._paused = False
            self.crowd.selector.register(self._socket, EVENT_READ, self._read)
        if self.network is not None:
            self.network.resume()

    def ask(self) -> None:
        """Ask for something that changes nothing: its answer stands between events."""
        self._asked += 1
        self._say({"id": f"asked-{self._asked}", "type": "get_state"})

    def finish(self) -> None:
        """Ask for the last time."""
        self.finished = False
        self.ask()

    def hear(self, frame: Frame) -> None:
        """Take in what was told."""
        assert frame["type"] not in ("gap", "snapshot"), frame
        if frame["type"] == "response" and frame.get("id") == f"asked-{self._asked}":
            self.finished = True
            state = frame["data"]
            self.is_busy = any(
                state.get(name) for name in ("busy", "isStreaming", "isCompacting", "pendingMessageCount")
            )

    def begin(self) -> None:
        """Do what is to be done whenever it is attached."""
        if not self.finished:
            self.ask()

    def _first_line(self) -> Frame:
        view = self.view
        said = {
            "type": "attach",
            "agent": view.agent,
            "dialect": view.dialect,
            "from": self.tape.seq,
            "role": self.role,
        }
        asked = {"cursor": True, "stream": view.stream, "settled": view.settled, "client": self.client}
        return said | {name: value for name, value in asked.items() if value}

    def _say(self, frame: Frame) -> None:
        if self._socket is not None:
            try:
                self._socket.send(json.dumps(frame).encode() + b"\n")
            except OSError:
                self.leave()

    def _read(self, events: int = 0) -> None:
        if self._socket is None:
            return
        try:
            chunk = self._socket.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        self.crowd.received += len(chunk)
        if not chunk:
            self.leave()
            return
        for frame in self.tape.feed(chunk):
            if not self._attached:
                if frame.get("code") == "log_unavailable":  # Of a database that is away: worth another try.
                    self.leave()
                    return
                assert frame["success"], frame
                self._attached = True
                self.begin()
            else:
                self.hear(frame)  # Also when what is said to an earlier one has found the connection cut: it was told.


class Crowd:
    """All clients, and the loop that they live in."""

    def __init__(self, served: Served, chance: Random) -> None:
        self.served = served
        self.chance = chance
        self.selector = DefaultSelector()
        self.received = 0
        """Bytes, by all."""
        self.members: list[Watcher] = []
        self.kills = 0
        """How often the server was killed."""

    def close(self) -> None:
        for member in self.members:
            member.leave()
        self.selector.close()

    def run(self, until: Callable[[], bool], *, quiet: float | None = None) -> None:
        """Serve all until this holds, or for so many seconds nothing came."""
        while not until():
            for member in self.members:
                if not member.is_connected:
                    member.come(through_network=self.chance.random() < 0.5)
            ready = self.selector.select(quiet)
            if not ready and quiet is not None:
                return
            for key, events in ready:
                if self.selector.get_map().get(key.fd) is key:  # Or else it was let go of by what was done for another.
                    call(key, events)
