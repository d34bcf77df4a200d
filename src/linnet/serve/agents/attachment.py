"""One client of an agent: its commands go in, and lines come out, those of events and of answers in one order."""

from collections import deque
from collections.abc import Callable, Iterator
from threading import Lock
from typing import get_args

from msgspec import Struct

from linnet.core import commands
from linnet.eventlog.cursor import Gap
from linnet.eventlog.followed import Log
from linnet.eventlog.follower import Follower
from linnet.serve.agents.doors import Followed, Role, Send
from linnet.wire.dialect import Asked, Buffers, Dialect, Rejected
from linnet.wire.jsonl import Overlong, encode_lines
from linnet.wire.numbered import Framing, framed
from linnet.wire.served_frames import Gap as GapLine

ENOUGH = 64 * 1024  # Bytes that are sent at once.
_AT_ONCE = (*get_args(commands.Control), *get_args(commands.Query))
"""Kinds of commands that begin nothing."""
FULL = 8 * 1024 * 1024  # Bytes of answers that a client has not read, above which it is not read from.


class _Answer(Struct):
    """An answer, in its place after an event."""

    after: int
    line: bytes | None = None
    """None if it is not told yet."""
    asked: Asked | None = None


class Attachment:
    """Invariant: an answer stands after all events up to where it was decided, and before all later ones.

    One thread at a time calls `take`. Commands are answered in any thread.
    """

    def __init__(
        self,
        agent: Followed,
        log: Log,
        dialect: Dialect,
        framing: Framing,
        role: Role,
        wake: Callable[[], None],
        client: str = "",
    ) -> None:
        self.agent = agent
        self.role: Role = role
        self.ended = False
        """The agent is gone: what can be taken is all that there will be."""
        self._log = log
        self._dialect = dialect
        self._framing: Framing = framing
        self._wake = wake
        self._performing = agent.performing(dialect, role, client, self._place, self)
        self._follower = Follower(log, dialect.encoder, framing, wake)
        self._lines: Iterator[Buffers] | None = None  # Of events that were taken, and not all sent.
        self._lock = Lock()  # Guards what follows.
        self._answers: deque[_Answer] = deque()
        self._unread = 0  # Bytes of answers.
        self._asking = 0  # Commands that are not answered.
        self._notices: deque[bytes] = deque()  # Lines that come before all others.
        self._catching_up = False  # A snapshot is being taken.
        self._snapshot: tuple[int, bytes] | None = None
        self._closed = False

    def begin(self, after: int | None) -> None:
        """Go on after this number; without one, with what comes from now on."""
        self._log.listen(self._wake)
        if after is None:
            self._follower.join()
        elif isinstance(self._follower.seek(after), Gap):
            self._miss(after)

    @property
    def position(self) -> int:
        """Return the number of the event that was told last."""
        return self._follower.position

    @property
    def is_full(self) -> bool:
        """Return whether the client has so many answers to read that it should not be read from."""
        return self._unread > FULL

    @property
    def is_answered(self) -> bool:
        """Return whether every command was answered, and all answers were taken."""
        with self._lock:
            return not self._asking and not self._answers

    def command(self, line: bytes | Overlong) -> Callable[[], None] | None:
        """Carry out a command; its answer will be taken in its turn. If that may take a moment, return what does it,
        in any thread, before the next command is given. Never raises, nor does that.
        """
        with self._lock:
            self._asking += 1
        asked = self._dialect.decode(line)
        if isinstance(asked, Rejected) or (isinstance(asked.command, _AT_ONCE) and not self.agent.may_wait):
            self._performing.carry_out(asked, line)
            return None
        return lambda: self._performing.carry_out(asked, line)

    def take(self) -> bytes | None:
        """Return the next bytes to send; None if there are none now."""
        parts: list[bytes] = []
        size = 0
        while size < ENOUGH:
            part = self._next()
            if part is None:
                break
            parts.append(part)
            size += len(part)
        return b"".join(parts) if parts else None

    def poke(self) -> None:
        """Have the client looked at: something may be over."""
        self._wake()

    def end(self) -> None:
        """Take note that the agent is gone."""
        self.ended = True
        self._wake()

    def close(self) -> None:
        """Be told nothing any more. Idempotent."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._log.unlisten(self._wake)
        self._follower.close()
        self.agent.detach(self)

    def _place(self) -> Send:
        """Keep a place for an answer: after the events up to now. Return what takes it."""
        with self._lock:
            answer = _Answer(self._log.told)
            self._answers.append(answer)
        return lambda line, asked: self._answered(answer, line, asked)

    def _answered(self, answer: _Answer, line: bytes, asked: Asked | None) -> None:
        with self._lock:
            self._asking -= 1
            answer.line, answer.asked = line, asked
            self._unread += len(line)
        self._wake()

    def _next(self) -> bytes | None:
        """Return the bytes of the next line, or of several; None if there is none now."""
        while True:
            if self._lines is not None:
                buffers = next(self._lines, None)
                if buffers is not None:
                    return b"".join(buffers)
                self._lines = None
            with self._lock:
                if self._notices:
                    return framed(self._notices.popleft(), self._framing)
                snapshot, self._snapshot = self._snapshot, None
                waits = self._catching_up
                upto = self._answers[0].after if self._answers else None
            if snapshot is not None:
                return self._caught_up(*snapshot)
            if waits:
                return None
            if upto is not None and upto <= self._follower.position:
                return self._take_answer()
            found = self._follower.take(upto)
            if isinstance(found, Gap):
                self._miss(found.after)
                continue
            if found is None:
                return None if upto is None or self._follower.waits else self._take_answer()
            self._lines = found

    def _take_answer(self) -> bytes | None:
        """Return the next answer; None if it is not told yet, and nothing that comes after it may be."""
        with self._lock:
            line, asked = self._answers[0].line, self._answers[0].asked
            if line is None:
                return None
            self._answers.popleft()
            self._unread -= len(line)
        if asked is not None:
            self._dialect.heed(asked)
        return framed(line, self._framing)

    def _miss(self, after: int) -> None:
        """Tell of a gap, and have a snapshot taken, from which the client can go on."""
        with self._lock:
            self._catching_up = True
            self._notices.append(encode_lines([GapLine(after)]))
        self.agent.tell_snapshot(self._dialect, self._take_snapshot)

    def _take_snapshot(self, seq: int, line: bytes) -> None:
        with self._lock:
            self._snapshot, self._catching_up = (seq, line), False
        self._wake()

    def _caught_up(self, seq: int, line: bytes) -> bytes:
        if isinstance(self._follower.seek(seq), Gap):
            self._follower.join()
        return framed(line, self._framing, seq)
