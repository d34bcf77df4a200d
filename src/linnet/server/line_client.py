"""A client that is reached by a pair of descriptors: its lines are read, lines are written to it, and it ends. What its
lines say belongs to whoever derives from this.
"""

import os
from collections.abc import Callable

from linnet.errors import LinnetError
from linnet.server.outlet import Outlet
from linnet.server.stdio import Stdio
from linnet.server.terminal import LEADS, say
from linnet.wire.jsonl import Lines, Overlong

CHUNK = 64 * 1024  # Bytes of one read.
MOST_READS = 1024  # After something broke, of what was sent before that; a client may never stop sending.
LAST_WORDS = 5.0  # Seconds that a client has to read the last lines.


class LineClient:
    """One thread, that of the server, reads and calls `outcome`. Lines are written by the threads that caused them,
    mostly with a session's lock held, so that they leave in the order of the changes; that is safe because the outlet
    never blocks.
    """

    def __init__(self, stdio: Stdio, wake: Callable[[], None], leads: tuple[str, str] = LEADS) -> None:
        """`wake` is called, in any thread, when the server should call `outcome` again. `leads` are what an error and a
        note on stderr begin with.
        """
        self.source = stdio.source
        self._sink = stdio.sink
        self._wake = wake
        self._leads = leads
        self._outlet = Outlet(stdio.sink, wake)
        self._fault: LinnetError | None = None  # Why nothing more can be done.
        self._lines = Lines()
        self._ended = False  # Nothing more will come.
        self._finishing = False  # An extension asked for the end.
        self._shut_out = False  # It may not say anything more.

    def warm(self) -> None:
        """Import and build what the first run would otherwise wait for. Called once, in a thread of its own."""

    def _take(self, line: bytes | Overlong) -> None:
        """Do what a line says."""
        raise NotImplementedError

    def _input_ended(self) -> None:
        """Take note that nothing more will come. What came last is not taken yet."""

    def _input_taken(self) -> None:
        """Take note that all that ever came is taken."""

    @property
    def _is_busy(self) -> bool:
        raise NotImplementedError

    def _close_sessions(self) -> None:
        raise NotImplementedError

    @property
    def may_read(self) -> bool:
        """Return whether the server should read from this client now: more may come, and answers have room."""
        return not (self._ended or self._shut_out or self._outlet.is_full)

    def read(self) -> None:
        """Read what the client has sent, and take its lines. Blocks if there is nothing to read."""
        try:
            chunk = os.read(self.source, CHUNK)
        except OSError:  # A socket whose other end was closed with something unread in it, say.
            chunk = b""
        self._ended = not chunk
        if self._ended:
            self._input_ended()
        for line in self._lines.feed(chunk) if chunk else self._lines.finish():
            if isinstance(line, Overlong) or (line and not line.isspace()):
                self._take(line)
                if self._shut_out:
                    return
        if self._ended:
            self._input_taken()

    def outcome(self, has_sent: Callable[[], bool]) -> int | None:
        """Return the exit code if the connection has ended, and close all but the descriptors; None if it goes on.

        It ends with 0 when the client has ended its input and all that it asked for is done and read, or when it does
        not read any more; with 1 when it was shut out, or nothing more can be done. `has_sent` says whether there is
        something to read.
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

    def watch(self) -> None:
        """Start to notice a client that goes away while there is nothing to tell it."""
        self._outlet.watch()

    def idle(self) -> None:
        """Take note that a session has nothing left to do: after the end of input, the connection may have ended."""
        if self._ended or self._finishing:
            self._wake()

    def finish(self) -> None:
        """Take note that the connection is to end once nothing is left to do, whatever the client sends."""
        self._finishing = True
        self._wake()

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

    def _send(self, line: bytes) -> None:
        if line:
            self._outlet.write([[line]], size=len(line))
