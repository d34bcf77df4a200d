"""One client: its lines become commands for the sessions it drives, and what happens in those becomes lines for it."""

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
from linnet.server.terminal import say
from linnet.wire.dialect import Asked, Dialect, Encoder, Rejected
from linnet.wire.jsonl import Lines, Overlong

if TYPE_CHECKING:
    from linnet.server.gate import TokenGate

CHUNK = 64 * 1024
MOST_READS = 1024  # Of what was sent to an agent that turns out to be of no use; a client may never stop.
LAST_WORDS = 5.0  # Seconds that a client has to read why it is over.
NO_SESSION = "there is no session {!r} on this connection"
TAKEN = "there is a session {!r} on this connection already"


class Connection:
    """Invariants: every non-empty line gets exactly one response. The sessions are the connection's own: when it is
    over, they are closed. Lines are read by one thread; frames are written by whoever made them.
    """

    def __init__(
        self, dialect: Dialect, stdio: Stdio, wake: Callable[[], None], gate: "TokenGate | None" = None
    ) -> None:
        """`wake` is called, in any thread, when whoever serves this should call `outcome` again."""
        self.source = stdio.source
        self._sink = stdio.sink
        self._dialect = dialect
        self._wake = wake
        self._gate = gate
        self._outlet = Outlet(stdio.sink, wake)
        self._sessions: dict[str, Session] = {}
        self._lock = Lock()  # Of these two: sessions are opened in any thread, also while the connection ends.
        self._closed = False
        self._fault: LinnetError | None = None
        self._lines = Lines()
        self._ended = False  # Nothing more will come.
        self._shut_out = False  # The first line did not open the gate.

    def open(self, open_session: Callable[[Listener], Session], name: str = "") -> Session:
        """Open a session that commands reach under `name`. What happens in it is told here. Raises what opening it
        raises, Closed if the connection is over by then, BadInput if the name is taken; and then there is none.
        """
        watcher = _Watcher(self, lambda: self._dialect.encoder(name), self._outlet)
        session = open_session(watcher)
        with self._lock:
            refusal = Closed() if self._closed else BadInput(TAKEN.format(name)) if name in self._sessions else None
            if refusal is None:
                self._sessions[name] = session
        watcher.session = session  # When it is known, and not before: what breaks meanwhile matters.
        if refusal is not None:
            session.close()  # Or else nobody ever would.
            raise refusal
        if self._ended:  # After it is known: whoever reads tells all that are, and may have come before that.
            session.end_input()
        return session

    def release(self, name: str) -> None:
        """Close one session. The others go on."""
        self._sessions.pop(name).close()

    @property
    def may_read(self) -> bool:
        return not (self._ended or self._shut_out or self._outlet.is_full)

    def read(self) -> None:
        """Take in what the client has sent. Blocks if that is nothing."""
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

    def outcome(self, has_sent: Callable[[], bool]) -> int | None:
        """Return the exit code if all is over, and close all but the descriptors then; None if it goes on.

        It is over when the client has ended its input and all that it asked for is done, or does not read any more:
        0; when it did not open the gate, or a session can do nothing any more: 1. `has_sent` says whether there is
        something to read.
        """
        if self._shut_out:
            self._hang_up()
            return 1
        if self._fault is not None:
            return self._give_up(self._fault, has_sent)
        # In this order: whoever ends a run has written its last words by then.
        done = self._ended and not self._is_busy and not self._outlet.unread
        if done or self._outlet.broken:
            self._hang_up()
            return 0
        return None

    def close(self, seconds: float) -> None:
        """Close the sessions; the client has so many seconds to read the last words. The process is about to end."""
        self._close_sessions()
        self._outlet.flush(timeout=seconds)

    def close_descriptors(self) -> None:
        """Close what the client is reached by, after `outcome`: whoever serves others goes on without a trace of it.

        Another client may have the same numbers from here on, so nothing may be known by them any more.
        """
        for fd in {self.source, self._sink}:  # A socket is both.
            os.close(fd)

    def warm(self) -> None:
        """Do what the first runs would otherwise wait for. Called once, without any lock."""
        for session in self._opened:
            session.warm()
        self._dialect.warm()

    def watch(self) -> None:
        """Notice a client that goes away, also while there is nothing to tell it."""
        self._outlet.watch()

    def broke(self, session: Session | None, error: LinnetError) -> None:
        """Take note that a session can do nothing any more, and why. Whether one that was released can matters to
        nobody; None is one that is being opened.
        """
        if session is None or session in self._opened:
            self._fault = error
            self._wake()

    def idle(self) -> None:
        """Take note that a session has nothing left to do."""
        if self._ended:
            self._wake()

    @property
    def _opened(self) -> list[Session]:
        """Return the sessions, in a list of its own: they are opened and released in any thread."""
        return list(self._sessions.values())

    @property
    def _is_busy(self) -> bool:
        return any(session.busy for session in self._opened)

    def _give_up(self, fault: LinnetError, has_sent: Callable[[], bool]) -> int:
        """Hang up for this reason, when all that was sent until now is answered: whoever sent it waits for that."""
        for _ in range(MOST_READS):
            if self._ended or self._shut_out or not has_sent():
                break
            self.read()
        self._hang_up()
        say(str(fault))
        return 1

    def _hang_up(self) -> None:
        """Close all but the descriptors. A session may have something to tell until it is closed, and after that."""
        self._close_sessions()
        self._outlet.close(LAST_WORDS)

    def _close_sessions(self) -> None:
        with self._lock:
            self._closed = True  # Whoever opens another from here on finds out, and closes it.
        for session in self._opened:
            session.close()

    def _take(self, line: bytes | Overlong) -> None:
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
            # In the order of what its sessions tell. Nobody can say which of them it was meant for.
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

    def __init__(self, connection: Connection, make_encoder: Callable[[], Encoder], outlet: Outlet) -> None:
        self._connection = connection
        self._make_encoder = make_encoder
        self._encoder: Encoder | None = None  # Until something happens.
        self._outlet = outlet
        self.pace = outlet.pace  # type: ignore[method-assign]  # Asked for each batch of events.

    def hear(self, events: Sequence[Event]) -> None:
        if self._encoder is None:
            self._encoder = self._make_encoder()
        self._outlet.write(self._encoder.encode(events), SIZE_OF_EVENT * len(events))

    def warned(self, sentence: str) -> None:
        say(sentence)

    def broke(self, error: LinnetError) -> None:
        self._connection.broke(self.session, error)

    def idle(self) -> None:
        self._connection.idle()

    def is_behind(self) -> bool:
        return self._outlet.is_behind
