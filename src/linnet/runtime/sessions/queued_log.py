"""A Log in front of one that may take its time: lines are in memory at once, and written by a thread in their turn."""

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
    """Implements `Log`. All lines are in memory, so that reading never waits.

    Invariant: what was written is a beginning of what was appended. Lines are appended with the session's lock held;
    the thread of `telling` makes, writes and closes the log. Whoever opens the session again before its last entries
    are written goes on with the same object (`revive`): the factory would open a log that lacks them.
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
        self._in_doubt = False  # The last write failed so that the lines may be there, or not.
        self._closing = Lock()  # Guards the next three: the thread of `telling` closes, other threads leave and revive.
        self._stay = 0  # How often it was revived. A close that was queued before the last time does nothing.
        self._left = False
        self._is_closed = False

    @classmethod
    def opened(cls, telling: Telling, owned: OwnedLog, header: Header, lines: Sequence[bytes]) -> "QueuedLog":
        """Return one for a log that exists and has these lines."""
        return cls(telling, owned.key, header, lines, owned)

    @classmethod
    def to_be_made_locked(
        cls, telling: Telling, logs: LogFactory, header: Header, lines: Sequence[bytes]
    ) -> "QueuedLog":
        """Return one for a log that the thread of `telling` makes in its turn."""
        log = cls(telling, header.id, header, lines)
        telling.do_locked(log.key, lambda: log._make(logs, header, lines))
        return log

    @property
    def lines(self) -> Sequence[bytes]:
        return self._lines

    def revive(self) -> bool:
        """Go on with a log that was left and is not closed yet, so that it will not be. Return whether that was so.

        Raises SessionInUse if it was not left.
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
        """Queue a line. What is told after it is told when it is written; if it cannot be, nothing after it is told."""
        self._lines.append(line)
        self._telling.write_locked(self, line)

    def line(self, index: int) -> bytes:
        return self._lines[index]

    def snapshot(self) -> LineReader:
        return LineReader(self._lines[:])

    def flush(self) -> None:
        """Do nothing: what waits is written in its turn, also after the session was left."""

    def sync(self) -> None:
        """Do nothing: whatever was told is written for good."""

    def close(self) -> None:
        self._leave(lambda owned: owned.close())

    def discard(self) -> None:
        self._leave(lambda owned: owned.discard())

    def write(self, lines: Sequence[bytes]) -> None:
        """Write these lines. Called in the thread of `telling`, and may block. Raises SessionError if they are refused,
        and once the log was closed, since somebody else may own it by then.

        After LogUnavailable it is called with the same lines again. Then the log is asked first how many it has, since
        it may have taken them: all or none.
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
        """Make the log, in the thread of `telling`. Its id is new: if it exists after a failure, that try made it."""
        if self._in_doubt and logs.exists(self.key):
            self._owned, _ = logs.open(self.key)
        else:
            self._in_doubt = True
            self._owned = logs.create(header, lines)
        self._in_doubt = False

    def _leave(self, leave: Callable[[OwnedLog], None]) -> None:
        """Queue that the log is closed after its last entry, unless it is revived before that. Idempotent."""
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
