"""One client: passes its lines as commands to the sessions that it drives, and writes their events and answers as
lines.
"""

import os
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING

from linnet.core.events import Event
from linnet.errors import BadInput, Closed, LinnetError
from linnet.runtime.listener import Listener
from linnet.runtime.session import Session
from linnet.server.dispatch import dispatch
from linnet.server.outlet import SIZE_OF_EVENT, Outlet
from linnet.server.stdio import Stdio
from linnet.server.terminal import LEADS, say
from linnet.wire.dialect import Asked, Dialect, Encoder, Rejected
from linnet.wire.jsonl import Lines, Overlong

if TYPE_CHECKING:
    from linnet.core.cancel import Cancel
    from linnet.server.gate import TokenGate

CHUNK = 64 * 1024  # Bytes of one read.
MOST_READS = 1024  # After a session broke, of what was sent before that; a client may never stop sending.
LAST_WORDS = 5.0  # Seconds that a client has to read the last lines.
NO_SESSION = "there is no session {!r} on this connection"
TAKEN = "there is a session {!r} on this connection already"


class Connection:
    """Invariants: every non-empty line gets exactly one response. The sessions belong to the connection: when it ends,
    they are closed.

    One thread, that of the server, reads and calls `outcome`. Lines are written by the threads that caused them, mostly
    with a session's lock held, so that they leave in the order of the changes; that is safe because the outlet never
    blocks.
    """

    def __init__(
        self,
        dialect: Dialect,
        stdio: Stdio,
        wake: Callable[[], None],
        gate: "TokenGate | None" = None,
        leads: tuple[str, str] = LEADS,
    ) -> None:
        """`wake` is called, in any thread, when the server should call `outcome` again."""
        self.source = stdio.source
        self._sink = stdio.sink
        self._dialect = dialect
        self._wake = wake
        self._gate = gate
        self._leads = leads
        self._outlet = Outlet(stdio.sink, wake)
        self._sessions: dict[str, Session] = {}
        self._lock = Lock()  # Guards `_closed`, and adding to `_sessions`: any thread may open one.
        self._closed = False
        self._fault: LinnetError | None = None  # Why a session can do nothing any more.
        self._lines = Lines()
        self._ended = False  # Nothing more will come.
        self._finishing = False  # An extension asked for the end.
        self._shut_out = False  # The first line did not open the gate.

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

    @property
    def may_read(self) -> bool:
        """Return whether the server should read from this client now: more may come, and answers have room."""
        return not (self._ended or self._shut_out or self._outlet.is_full)

    def read(self) -> None:
        """Read what the client has sent, and dispatch its lines. Blocks if there is nothing to read."""
        try:
            chunk = os.read(self.source, CHUNK)
        except OSError:  # A socket whose other end was closed with something unread in it, say.
            chunk = b""
        self._ended = not chunk
        if self._ended:
            for session in self._opened:
                session.end_input()
        for line in self._lines.feed(chunk) if chunk else self._lines.finish():
            if isinstance(line, Overlong) or (line and not line.isspace()):
                self._take(line)
                if self._shut_out:
                    return
        if self._ended and not self._dialect.finishes:
            for session in self._opened:
                session.stop()

    def outcome(self, has_sent: Callable[[], bool]) -> int | None:
        """Return the exit code if the connection has ended, and close all but the descriptors; None if it goes on.

        It ends with 0 when the client has ended its input and all that it asked for is done and read, or when it does
        not read any more; with 1 when its first line did not open the gate, or a session can do nothing any more.
        `has_sent` says whether there is something to read.
        """
        if self._shut_out:
            self._hang_up()
            return 1
        if self._fault is not None:
            return self._give_up(self._fault, has_sent)
        # In this order: a run writes its last line before it stops being busy.
        done = (self._ended or self._finishing) and not self._is_busy and not self._outlet.unread
        if done or self._outlet.broken:
            self._hang_up()
            return 0
        return None

    def close(self, seconds: float) -> None:
        """Close the sessions, since the process is about to end; the client has so many seconds to read the
        last lines.
        """
        self._close_sessions()
        self._outlet.flush(timeout=seconds)

    def close_descriptors(self) -> None:
        """Close the descriptors, after `outcome` returned a code.

        Another client may get the same numbers from here on, so the server must have forgotten them before.
        """
        for fd in {self.source, self._sink}:  # A socket is both.
            os.close(fd)

    def warm(self) -> None:
        """Import and build what the first run would otherwise wait for. Called once, in a thread of its own."""
        for session in self._opened:
            session.warm()
        self._dialect.warm()

    def watch(self) -> None:
        """Start to notice a client that goes away while there is nothing to tell it."""
        self._outlet.watch()

    def broke(self, session: Session | None, error: LinnetError) -> None:
        """Take note that a session can do nothing any more, and why; None is one that is being opened. One that was
        released does not matter.
        """
        if session is None or session in self._opened:
            self._fault = error
            self._wake()

    def idle(self) -> None:
        """Take note that a session has nothing left to do: after the end of input, the connection may have ended."""
        if self._ended or self._finishing:
            self._wake()

    def finish(self) -> None:
        """Take note that the connection is to end once nothing is left to do, whatever the client sends."""
        self._finishing = True
        self._wake()

    @property
    def _opened(self) -> list[Session]:
        """Return the sessions in a list of their own: other threads open and release some meanwhile."""
        return list(self._sessions.values())

    @property
    def _is_busy(self) -> bool:
        return any(session.busy for session in self._opened)

    def _give_up(self, fault: LinnetError, has_sent: Callable[[], bool]) -> int:
        """End the connection for this reason, once all that was sent before is answered: the client waits for that."""
        for _ in range(MOST_READS):
            if self._ended or self._shut_out or not has_sent():
                break
            self.read()
        self._hang_up()
        say(str(fault), self._leads[0])
        return 1

    def _hang_up(self) -> None:
        """Close the sessions, and then the outlet: sessions write until they are closed."""
        self._close_sessions()
        self._outlet.close(LAST_WORDS)

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
            dispatch(asked, self._dialect, session, self._send)

    def _send(self, line: bytes) -> None:
        if line:
            self._outlet.write([[line]], size=len(line))


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
