"""The network between a client and a server: it counts bytes, and can be cut at any of them, or stand still."""

import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from selectors import EVENT_READ, EVENT_WRITE, BaseSelector, SelectorKey

CHUNK = 64 * 1024


class Direction:
    """What goes from one end to the other."""

    def __init__(self, source: socket.socket, target: socket.socket) -> None:
        self.source = source
        self.target = target
        self.waiting = b""  # Read, and not passed on.
        self.passed = 0
        self.left: int | None = None
        """Bytes until the connection is cut; None: it is not."""

    def pump(self) -> bool:
        """Pass on what there is room for, and return whether the connection is still to be used. Raises OSError."""
        if not self.waiting:
            chunk = self.source.recv(CHUNK)
            if not chunk:
                return False
            self.waiting = chunk
        count = self.target.send(self.waiting if self.left is None else self.waiting[: self.left])
        self.passed += count
        self.waiting = self.waiting[count:]
        if self.left is not None:
            self.left -= count
        return self.left != 0


class Network:
    """One connection to a server, through this. `end` is the client's end. The loop of whoever has the selector calls
    what it finds in `data` of a key.
    """

    def __init__(self, path: Path, selector: BaseSelector) -> None:
        """Raises OSError if there is no server."""
        self._selector = selector
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(str(path))
        except OSError:
            server.close()
            raise
        self.end, near = socket.socketpair()
        self.down = Direction(server, near)
        self.up = Direction(near, server)
        self._stalled = self._cut = False
        for each in (server, near):
            each.setblocking(False)
        self._want()

    def cut(self) -> None:
        """End both connections, with what is on the way. Idempotent."""
        if not self._cut:
            self._cut = True
            self._forget()
            for direction in (self.down, self.up):
                direction.source.close()

    def stall(self) -> None:
        """Pass on nothing."""
        self._stalled = True
        self._forget()

    def resume(self) -> None:
        self._stalled = False
        if not self._cut:
            self._want()

    def _pump(self, direction: Direction) -> None:
        try:
            goes_on = direction.pump()
        except BlockingIOError:
            goes_on = True
        except OSError:
            goes_on = False
        if goes_on:
            self._want()
        else:
            self.cut()

    def _want(self) -> None:
        """Wait for what can be done next: for room where something waits, or else for something to read."""
        self._forget()
        if self._stalled or self._cut:
            return
        calls: dict[socket.socket, list[tuple[int, Direction]]] = {}
        for direction in (self.down, self.up):
            place, event = (direction.target, EVENT_WRITE) if direction.waiting else (direction.source, EVENT_READ)
            calls.setdefault(place, []).append((event, direction))
        for place, wanted in calls.items():
            events = sum(event for event, _ in wanted)
            self._selector.register(place, events, self._caller(wanted))

    def _caller(self, wanted: list[tuple[int, Direction]]) -> Callable[[int], None]:
        def call(ready: int) -> None:
            for event, direction in wanted:
                if event & ready and not self._cut:
                    self._pump(direction)

        return call

    def _forget(self) -> None:
        for direction in (self.down, self.up):
            with suppress(KeyError, ValueError):
                self._selector.unregister(direction.source)


def call(key: SelectorKey, events: int) -> None:
    """Do what a key of the selector is for."""
    key.data(events)
