"""Serves any number of clients at once, until the last of them has ended. stdin and stdout are one client."""

import gc
from collections import deque
from collections.abc import Callable
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING

from linnet.errors import LinnetError
from linnet.runtime.error_report import explained, start
from linnet.server.line_client import LineClient
from linnet.server.stdio import Stdio
from linnet.server.terminal import LEADS
from linnet.server.wakeup import Wakeup

if TYPE_CHECKING:
    from linnet.runtime.listener import Listener
    from linnet.runtime.session import Session
    from linnet.server.connection import Connection
    from linnet.server.gate import TokenGate
    from linnet.wire.dialect import Dialect

LAST_WORDS = 1.0  # Seconds that a client has to read what was said before a signal came.


class Server:
    """Reads lines and dispatches commands, in the thread that calls `run`; runs of the agent have threads of their own.

    Invariant: a connection is looked at when it has something to read, or when it has called for that, and not
    otherwise: what one connection does costs the same however many others there are.
    """

    def __init__(self, *, owns_process: bool = False) -> None:
        """`owns_process`: nothing else runs in this process, so that its signals and its garbage are handled here. Then
        `run` is called in the main thread.
        """
        self._wakeup = Wakeup()
        self._owns_process = owns_process
        self._connections: dict[int, LineClient] = {}
        self._calling: deque[LineClient] = deque()  # Those to look at. Any thread adds to it.
        self._cold: deque[LineClient] = deque()  # Those for whose first runs nothing was made ready yet.
        self._code = 0  # The largest exit code of the connections that have ended.

    def connect(
        self,
        dialect: "Dialect",
        stdio: Stdio,
        open_session: "Callable[[Listener], Session]",
        gate: "TokenGate | None" = None,
        leads: tuple[str, str] = LEADS,
    ) -> "Connection":
        """Serve a client from now on, with one session; the connection can open more. `leads` are what an error and a
        note on stderr begin with. May be called in any thread, also
        while `run` goes on. Raises what opening the session raises, and then there is no connection.
        """
        from linnet.server.connection import Connection  # Editors are clients of another kind.

        connection = Connection(dialect, stdio, lambda: self._call(connection), gate, leads)
        connection.open(open_session)  # Before the first line is read: it is for this session.
        self._serve(connection)
        return connection

    def add(self, make: Callable[[Callable[[], None]], LineClient]) -> None:
        """Serve a client of another kind from now on. `make` is given what the client calls to be looked at. May be
        called in any thread, also while `run` goes on.
        """
        client: LineClient = make(lambda: self._call(client))
        self._serve(client)

    def _serve(self, client: LineClient) -> None:
        self._connections[client.source] = client
        self._cold.append(client)
        self._call(client)

    def run(self) -> int:
        """Serve until no connection is left, or a signal asks for the end. Return the exit code: the largest of the
        connections', or 128 plus the signal's number.
        """
        if self._owns_process:
            self._wakeup.on_signals()
        self._look_at_callers()
        if not self._wakeup.is_ready():
            self._warm_up()
        while self._connections:
            if self._wakeup.signal:
                for connection in list(self._connections.values()):
                    connection.close(LAST_WORDS)
                return 128 + self._wakeup.signal
            for source in self._wakeup.wait():
                self._connections[source].read()
                self._look_at(self._connections[source])
            self._look_at_callers()
            self._warm_up()  # After the first answers: those need none of it.
        return self._code

    def _call(self, connection: LineClient) -> None:
        """Have the serving thread look at a connection. Called in any thread."""
        self._calling.append(connection)
        self._wakeup.wake()

    def _look_at_callers(self) -> None:
        """Look at the connections that have called, but for those that have ended."""
        while self._calling:
            connection = self._calling.popleft()
            if self._connections.get(connection.source) is connection:
                self._look_at(connection)

    def _look_at(self, connection: LineClient) -> None:
        """Remove a connection that has ended; otherwise have it polled for input, or not, as it has room."""
        code = connection.outcome(partial(self._wakeup.has, connection.source))
        if code is not None:
            self._wakeup.forget(connection.source)
            del self._connections[connection.source]
            connection.close_descriptors()  # Last: whoever connects from another thread may get this number then.
            self._code = max(self._code, code)
        elif connection.may_read:
            self._wakeup.heed(connection.source)
        else:
            self._wakeup.forget(connection.source)

    def _warm_up(self) -> None:
        """Make ready in a thread what the first runs of new connections would otherwise wait for."""
        if not self._cold:
            return
        connections: list[LineClient] = []
        while self._cold:
            connections.append(self._cold.popleft())
            connections[-1].watch()
        try:
            start(Thread(target=self._load, args=(connections,), name="linnet-warm", daemon=True))
        except LinnetError:
            self._collect_garbage()

    def _load(self, connections: list[LineClient]) -> None:
        """Make these connections ready: what that thread does."""
        try:
            for connection in connections:
                try:
                    connection.warm()
                except Exception as fault:  # Its first run will say what is wrong. The others are made ready anyway.
                    explained(fault, "what a first run needs could not be made ready")
        finally:
            self._collect_garbage()

    def _collect_garbage(self) -> None:
        """Turn on the garbage collector, which is off while the process starts, if the process is ours."""
        if self._owns_process and not gc.isenabled():
            gc.freeze()  # What is loaded by now stays; no collection needs to look at it again.
            gc.enable()
