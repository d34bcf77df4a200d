"""Joins a dialect, a session and a pair of streams: lines in, frames out, until there is nothing left to do."""

import gc
import os
from collections.abc import Callable, Sequence
from threading import Thread

from linnet.core.cancel import Cancel
from linnet.core.events import Event
from linnet.errors import LinnetError
from linnet.runtime.fault import start
from linnet.runtime.listener import Listener
from linnet.runtime.session import Session
from linnet.server.dispatch import dispatch
from linnet.server.gate import Gate
from linnet.server.outlet import FULL, Outlet
from linnet.server.stdio import Stdio, say
from linnet.server.wakeup import Wakeup
from linnet.wire.dialect import Dialect, Rejected
from linnet.wire.jsonl import Lines, Overlong

CHUNK = 64 * 1024
MOST_READS = 1024  # Of what was sent to an agent that turns out to be of no use; a client may never stop.
LAST_WORDS = 5.0  # Seconds that a client has to read why it is over.


class Server(Listener):
    """The main thread reads and dispatches; a run has a thread of its own; frames are written by whoever made them.

    Every non-empty line gets exactly one response.
    """

    def __init__(self, dialect: Dialect, stdio: Stdio, open_session: Callable[["Server"], Session], gate: Gate | None):
        self._dialect = dialect
        self._source = stdio.source
        self._wakeup = Wakeup()
        self._outlet = Outlet(stdio.sink, self._wakeup.wake)
        self._fault: LinnetError | None = None
        self._session = open_session(self)
        self._gate = gate
        self._lines = Lines()
        self._ended = False
        self._warm = False

    def hear(self, events: Sequence[Event]) -> None:
        self._outlet.tell(self._dialect.encode(events), len(events))

    def warned(self, sentence: str) -> None:
        say(sentence)

    def broke(self, error: LinnetError) -> None:
        self._fault = error
        self._wakeup.wake()

    def idle(self) -> None:
        if self._ended:
            self._wakeup.wake()

    def pace(self, cancel: Cancel) -> None:
        self._outlet.pace(cancel)

    def is_behind(self) -> bool:
        return self._outlet.is_behind

    def run(self) -> int:
        """Until stdin ends and all that was asked is done, nobody reads any more, or a signal says stop; or until it
        turns out that nothing can be done, which is 1.
        """
        self._wakeup.on_signals()
        if not self._wakeup.wait(self._source, block=False):
            self._warm_up()
        while True:
            if self._wakeup.signal:
                self._session.close()
                self._outlet.flush(timeout=1)
                return 128 + self._wakeup.signal
            if self._fault is not None:
                return self._give_up(self._fault)
            # In this order: whoever ends a run has written its last words by then.
            done = self._ended and not self._session.busy and not self._outlet.unread
            if done or self._outlet.broken:
                self._session.close()
                return 0
            may_read = not self._ended and self._outlet.unread <= FULL
            if self._wakeup.wait(self._source if may_read else None) and not self._read():
                return 1
            self._warm_up()  # Whoever had asked already has been answered by now.

    def _give_up(self, fault: LinnetError) -> int:
        """Answer what was sent until now, too: whoever sent it waits for an answer."""
        for _ in range(MOST_READS):
            if self._ended or not self._wakeup.wait(self._source, block=False) or not self._read():
                break
        self._session.close()
        self._outlet.flush(timeout=LAST_WORDS)
        say(str(fault))
        return 1

    def _read(self) -> bool:
        """Take in what stdin has. False if the gate stayed shut."""
        chunk = os.read(self._source, CHUNK)
        self._ended = not chunk
        if self._ended:
            self._session.end_input()
        for line in self._lines.feed(chunk) if chunk else self._lines.finish():
            if (isinstance(line, Overlong) or (line and not line.isspace())) and not self._take(line):
                return False
        return True

    def _take(self, line: bytes | Overlong) -> bool:
        asked = self._dialect.decode(line)
        if self._gate is not None:
            refusal = self._gate.refusal(asked)
            if refusal:
                self._send(self._dialect.refuse(asked, refusal))
                self._outlet.flush(timeout=1)
                say("rpc: bad auth token")
                return False
            self._gate = None
        if isinstance(asked, Rejected):
            self._send(self._dialect.refuse(asked, asked.reason))
        else:
            dispatch(asked, self._dialect, self._session, self._send)
        return True

    def _send(self, line: bytes) -> None:
        if line:
            self._outlet.write([[line]], size=len(line))

    def _warm_up(self) -> None:
        """Do in the background, once, what the first run would otherwise wait for."""
        if self._warm:
            return
        self._warm = True
        self._outlet.watch()
        try:
            start(Thread(target=self._load, name="linnet-warm", daemon=True))
        except LinnetError:
            gc.enable()

    def _load(self) -> None:
        try:
            self._session.warm()
        finally:
            gc.freeze()  # What is loaded by now stays; no collection needs to look at it again.
            gc.enable()
