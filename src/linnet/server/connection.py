"""One client: passes its lines as commands to the sessions that it drives, and writes their events and answers as
lines.
"""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING

from linnet.core.events import Event
from linnet.errors import BadInput, Closed, LinnetError
from linnet.runtime.listener import Listener
from linnet.runtime.session import Session
from linnet.server.dispatch import dispatch
from linnet.server.line_client import LineClient
from linnet.server.outlet import SIZE_OF_EVENT, Outlet
from linnet.server.stdio import Stdio
from linnet.server.terminal import LEADS, say
from linnet.wire.dialect import Asked, Dialect, Encoder, Rejected
from linnet.wire.jsonl import Overlong

if TYPE_CHECKING:
    from linnet.core.cancel import Cancel
    from linnet.server.gate import TokenGate

NO_SESSION = "there is no session {!r} on this connection"
TAKEN = "there is a session {!r} on this connection already"


class Connection(LineClient):
    """Invariants: every non-empty line gets exactly one response. The sessions belong to the connection: when it ends,
    they are closed.
    """

    def __init__(
        self,
        dialect: Dialect,
        stdio: Stdio,
        wake: Callable[[], None],
        gate: "TokenGate | None" = None,
        leads: tuple[str, str] = LEADS,
    ) -> None:
        super().__init__(stdio, wake, leads)
        self._dialect = dialect
        self._gate = gate  # The first line has to open it.
        self._sessions: dict[str, Session] = {}
        self._lock = Lock()  # Guards `_closed`, and adding to `_sessions`: any thread may open one.
        self._closed = False

    def open(self, open_session: Callable[[Listener], Session], name: str = "") -> Session:
        """Open a session that commands reach under `name`, and have the client told what happens in it. May be called
        in any thread. Raises what opening it raises, Closed if the connection has ended by then, BadInput if the name
        is taken; and then there is none.
        """
        watcher = _Watcher(self, lambda: self._dialect.encoder(name), self._outlet, self._leads[1])
        session = open_session(watcher)
        with self._lock:
            refusal = Closed() if self._closed else BadInput(TAKEN.format(name)) if name in self._sessions else None
            if refusal is None:
                self._sessions[name] = session
        watcher.session = session  # Not before it is in `_sessions`: `broke` would take it for a released one.
        if refusal is not None:
            session.close()  # Or else nobody ever would.
            raise refusal
        if self._ended:  # Asked after it is in `_sessions`: the reader tells those that are.
            session.end_input()
            if not self._dialect.finishes:
                session.stop()
        return session

    def release(self, name: str) -> None:
        """Close one session. The others go on."""
        self._sessions.pop(name).close()

    def warm(self) -> None:
        """Import and build what the first run would otherwise wait for. Called once, in a thread of its own."""
        for session in self._opened:
            session.warm()
        self._dialect.warm()

    def broke(self, session: Session | None, error: LinnetError) -> None:
        """Take note that a session can do nothing any more, and why; None is one that is being opened. One that was
        released does not matter.
        """
        if session is None or session in self._opened:
            self._fault = error
            self._wake()

    @property
    def _opened(self) -> list[Session]:
        """Return the sessions in a list of their own: other threads open and release some meanwhile."""
        return list(self._sessions.values())

    @property
    def _is_busy(self) -> bool:
        return any(session.busy for session in self._opened)

    def _input_ended(self) -> None:
        for session in self._opened:
            session.end_input()

    def _input_taken(self) -> None:
        if not self._dialect.finishes:
            for session in self._opened:
                session.stop()

    def _close_sessions(self) -> None:
        with self._lock:
            self._closed = True  # Whoever opens another from here on finds out, and closes it.
        for session in self._opened:
            session.close()

    def _take(self, line: bytes | Overlong) -> None:
        """Decode a line and dispatch the command; or refuse it. The first has to open the gate, if there is one."""
        asked = self._dialect.decode(line)
        if self._gate is not None:
            refusal = self._gate.refusal(asked)
            if refusal:
                self._shut_out = True
                self._send(self._dialect.refuse(asked, refusal))
                self._outlet.flush(timeout=1)
                say("rpc: bad auth token")
                return
            self._gate = None
        if isinstance(asked, Rejected):
            # In its turn among what a session tells, where the log may wait. Which one it was meant for, nobody knows.
            opened = self._opened  # Asked once: another thread may release the last of them.
            tell = opened[0].tell if opened else lambda act: act()
            tell(lambda: self._send(self._dialect.refuse(asked, asked.reason)))
        else:
            self._dispatch(asked)

    def _dispatch(self, asked: Asked) -> None:
        session = self._sessions.get(asked.session)
        if session is None:
            self._send(self._dialect.refuse(asked, NO_SESSION.format(asked.session)))
        else:
            dispatch(asked, self._dialect, session, lambda line, succeeded: self._answer(asked, line, succeeded))

    def _answer(self, asked: Asked, line: bytes, succeeded: bool) -> None:
        if succeeded:
            self._dialect.heed(asked)
        self._send(line)


class _Watcher(Listener):
    """Tells a connection what happens in one of its sessions."""

    session: Session | None = None

    def __init__(self, connection: Connection, make_encoder: Callable[[], Encoder], outlet: Outlet, note: str) -> None:
        self._connection = connection
        self._note = note
        self._make_encoder = make_encoder
        self._encoder: Encoder | None = None  # Until something happens.
        self._outlet = outlet

    def hear(self, events: Sequence[Event]) -> None:
        if self._encoder is None:
            self._encoder = self._make_encoder()
        self._outlet.write(self._encoder.encode(events), SIZE_OF_EVENT * len(events))

    def pace(self, cancel: "Cancel") -> None:
        """Wait while the client is far behind with reading. Raises Cancelled if an abort comes."""
        self._outlet.pace(cancel)

    def warned(self, sentence: str) -> None:
        say(sentence, self._note)

    def broke(self, error: LinnetError) -> None:
        self._connection.broke(self.session, error)

    def idle(self) -> None:
        self._connection.idle()

    def finish(self) -> None:
        self._connection.finish()

    def is_behind(self) -> bool:
        return self._outlet.is_behind
