"""A log that may wait, as a store writes to it: lines are there at once, and written when their turn comes."""

import os
from collections.abc import Callable, Sequence
from threading import Lock

from linnet.errors import SessionError, SessionInUse
from linnet.runtime.sessions.telling import UNSAVED, Telling
from linnet.store.factory import LogFactory
from linnet.store.header import Header
from linnet.store.log import OwnedLog
from linnet.store.snapshot import LineReader


class QueuedLog:
    """A `Log`. Its lines are kept in memory, so that reading one never waits.

    Invariants: what was written is a beginning of what was appended; the thread of `telling` writes. Whoever comes back
    before its last entries are written goes on with the same one (`revive`): to open it again would be to refuse them.
    """

    lost = False
    intact = True

    def __init__(
        self, telling: Telling, key: str, header: Header, lines: Sequence[bytes], owned: OwnedLog | None = None
    ) -> None:
        self.key = key
        self.header = header
        self.path = owned.path if owned is not None else None
        self._telling = telling
        self._lines = list(lines)
        self._owned = owned
        self._head = len(lines)  # Lines that are known to be written.
        self._in_doubt = False  # What was to be written last may be there, or not.
        self._closing = Lock()
        self._stay = 0  # How often somebody came back to it.
        self._left = False
        self._is_closed = False

    @classmethod
    def opened(cls, telling: Telling, owned: OwnedLog, header: Header, lines: Sequence[bytes]) -> "QueuedLog":
        """Return one for a log that is there and has these lines."""
        return cls(telling, owned.key, header, lines, owned)

    @classmethod
    def to_be_made_locked(
        cls, telling: Telling, logs: LogFactory, header: Header, lines: Sequence[bytes]
    ) -> "QueuedLog":
        """Return one for a log that is made when its turn comes. Whoever calls this holds the session's lock."""
        log = cls(telling, header.id, header, lines)
        telling.do_locked(log.key, lambda: log._make(logs, header, lines))
        return log

    @property
    def lines(self) -> Sequence[bytes]:
        return self._lines

    def revive(self) -> bool:
        """Go on with it, if it was left and is not closed yet; it will not be, then. Return whether that was so.

        Raises SessionInUse while somebody goes on with it: to open it again would be to refuse what they say.
        """
        with self._closing:
            if self._is_closed:
                return False
            if not self._left:
                raise SessionInUse(f"the session {self.key}", os.getpid())
            self._left = False
            self._stay += 1
            return True

    def holds(self, key: str) -> bool:
        return key == self.key

    def append(self, line: bytes, *, strict: bool = False) -> None:
        """Take it in. What is told behind it is told when it is written; if it never can be, nothing is."""
        self._lines.append(line)
        self._telling.write_locked(self, line)

    def line(self, index: int) -> bytes:
        return self._lines[index]

    def snapshot(self) -> LineReader:
        return LineReader(self._lines[:])

    def flush(self) -> None:
        """Do nothing: what waits is written in its turn, also when the session was left."""

    def sync(self) -> None:
        """Do nothing: what is told was written for good."""

    def close(self) -> None:
        self._leave(lambda owned: owned.close())

    def discard(self) -> None:
        self._leave(lambda owned: owned.discard())

    def write(self, lines: Sequence[bytes]) -> None:
        """Write these lines, in the thread of `telling`. May block. Raises SessionError, also once the log was let go
        of: somebody else may own it.

        After LogUnavailable it is called with the same ones again, and the log is asked first what it has: it has taken
        all of them, or none.
        """
        if self._is_closed:
            raise SessionError(UNSAVED)
        assert self._owned is not None
        if not (self._in_doubt and self._owned.head() == self._head + len(lines)):
            self._in_doubt = True
            self._owned.append_after(self._head, lines)
        self._head += len(lines)
        self._in_doubt = False

    def _make(self, logs: LogFactory, header: Header, lines: Sequence[bytes]) -> None:
        """Make the log. Its id is new, so that if there is one by now, an earlier try made it."""
        if self._in_doubt and logs.exists(self.key):
            self._owned, _ = logs.open(self.key)
        else:
            self._in_doubt = True
            self._owned = logs.create(header, lines)
        self._in_doubt = False

    def _leave(self, leave: Callable[[OwnedLog], None]) -> None:
        """Let go of it when its entries are written, unless somebody comes back before that."""
        with self._closing:
            if self._left:
                return
            self._left, stay = True, self._stay

        def act() -> None:
            with self._closing:
                self._is_closed = self._left and self._stay == stay
            if self._is_closed and self._owned is not None:
                leave(self._owned)

        self._telling.do_locked(self.key, act)
