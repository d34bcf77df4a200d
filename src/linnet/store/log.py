"""The logs that the lines of a session are added to, in a file or in memory. None of them knows what a line says."""

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from errno import ENOSPC
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from linnet.errors import LogRefused, SessionError
from linnet.files.folders import sync_folder
from linnet.files.lock import unlock
from linnet.store.reading import Span, Spans

if TYPE_CHECKING:
    from linnet.store.snapshot import LineReader

EDGE = 4096  # So many bytes at either end of a file are compared with what they were.


class OwnedLog(Protocol):
    """Lines under a key, added at the end by one owner at a time, and never changed. A `LogFactory` opens it."""

    @property
    def key(self) -> str:
        """Return what the factory opens it by; empty if it is kept nowhere."""

    @property
    def path(self) -> str | None:
        """Return where people find it, if it is a file; else None."""

    @property
    def epoch(self) -> int:
        """Return a count of the owners, if a new one takes over from one that may not know it: whoever has an older
        epoch is refused from then on. A log that is locked while it is open needs none, and always returns 0.
        """

    @property
    def may_wait(self) -> bool:
        """Return whether any method may take its time. Each is then called without a lock, by one thread at a time, and
        may raise LogUnavailable, after which the same is tried again, and LogRefused, after which nothing is. If not,
        none takes longer than writing to a file, and the log is a `Log`, too.
        """

    def head(self) -> int:
        """Return how many lines there are. Raises LogRefused if somebody else owns it by now: some may be theirs."""

    def append_after(self, head: int, lines: Sequence[bytes]) -> None:
        """Add all of these lines, or none, if there are exactly `head` lines and this owner's epoch is the newest; they
        survive whatever a `sync` is meant for. Raises LogRefused otherwise.
        """

    def read(self, first: int = 0) -> Sequence[bytes]:
        """Return the lines from this index on."""

    def close(self) -> None:
        """Let go of the log, so that somebody else may own it. Idempotent; never raises."""

    def discard(self) -> None:
        """Close the log, and take it away, if it is still ours."""


class Log(Protocol):
    """A log as a session's `Store` writes to it, under the session's lock: no method waits for more than a file."""

    key: str
    path: str | None

    @property
    def lost(self) -> bool:
        """Return whether the file was found to be changed by others: no more lines are going to be written there."""

    @property
    def intact(self) -> bool:
        """Return whether the file is as we left it."""

    def holds(self, key: str) -> bool:
        """Return whether `key` is that of this log; for a file, whether it is any of its names."""

    def append(self, line: bytes, *, strict: bool = False) -> None:
        """Add a line. Raises SessionError if it could not be written. Unless `strict` it can be read back even so, and
        is tried again with the next.
        """

    def line(self, index: int) -> bytes:
        """Return the line at an index. Raises SessionError if it is not there any more."""

    def snapshot(self) -> "LineReader":
        """Return the lines that there are now, for another thread to read, even after this is closed."""

    def flush(self) -> None:
        """Write the lines that could not be written before. Raises SessionError if they still cannot."""

    def sync(self) -> None:
        """Make what was written survive a power cut. Raises SessionError."""

    def close(self) -> None: ...

    def discard(self) -> None:
        """Close the log, and take it away, if it is ours and as we left it."""


class _InPlace(Log, Protocol):
    """A log that is written in place and locked while it is open: an `OwnedLog` without epochs."""

    epoch: int = 0
    may_wait: bool = False

    def head(self) -> int: ...

    def append_after(self, head: int, lines: Sequence[bytes]) -> None:
        """Add lines one by one: if one cannot be written, those before it stay. Raises LogRefused or SessionError."""
        if head != self.head():
            raise LogRefused(self.key, f"it has {self.head()} entries where {head} were expected")
        for line in lines:
            self.append(line, strict=True)

    def read(self, first: int = 0) -> list[bytes]:
        return [self.line(index) for index in range(first, self.head())]


class MemoryLog(_InPlace):
    """Lines that last as long as this object. Nothing can go wrong with them."""

    path: str | None = None
    lost = False
    intact = True

    def __init__(self, lines: Iterable[bytes] = (), key: str = "") -> None:
        self.key = key
        self._lines = list(lines)

    def holds(self, key: str) -> bool:
        return key == self.key != ""

    def head(self) -> int:
        return len(self._lines)

    def append(self, line: bytes, *, strict: bool = False) -> None:
        self._lines.append(line)

    def line(self, index: int) -> bytes:
        return self._lines[index]

    def snapshot(self) -> "LineReader":
        from linnet.store.snapshot import LineReader

        return LineReader(self._lines[:])

    def flush(self) -> None:
        pass

    def sync(self) -> None:
        pass

    def close(self) -> None:
        pass

    def discard(self) -> None:
        pass


class FileLog(_InPlace):
    """A file that is open, locked and ours.

    Invariants:
    - A line is written in one piece, at the end, and only if the file is as we left it. Nothing that somebody else put
      there is ever overwritten.
    - A line that could not be written waits in memory, and those after it too: they are tried again, in their order,
      with the next one. So the lines in the file are always the first of those that were added.
    - Once the file has been changed by others it is left alone.
    """

    def __init__(self, fd: int, path: str, size: int, spans: Iterable[Span]) -> None:
        self.path: str | None = path
        self.key = self._name = path
        self._fd = fd
        self._size = size
        self._spans = spans if isinstance(spans, Spans) else Spans(spans)
        self._waiting: list[bytes] = []
        self._lost = ""  # Why the file is no longer ours, as the end of a sentence; empty while it is.
        self._dirty = True  # Something was written that may not have reached the disk.
        self._new = True  # Its name in the folder may not have reached the disk.
        self._closed = False
        self._syncing = Lock()
        self._owner = os.getpid()
        self._changed_at = os.fstat(fd).st_mtime_ns
        self._ends = self._edges()  # How the file begins and ends.

    @property
    def lost(self) -> bool:
        return bool(self._lost)

    @property
    def intact(self) -> bool:
        try:
            return not (self._lost or self._change())
        except OSError:
            return False

    def holds(self, key: str) -> bool:
        try:
            return not self._closed and os.path.samestat(os.fstat(self._fd), os.stat(key))
        except OSError:
            return False

    def head(self) -> int:
        """Return how many lines can be read, those included that could not be written yet."""
        return len(self._spans) + len(self._waiting)

    def append(self, line: bytes, *, strict: bool = False) -> None:
        self._waiting.append(line)
        try:
            self._write()
        except SessionError:
            if strict:
                self._waiting.pop()
            raise

    def line(self, index: int) -> bytes:
        if index >= len(self._spans):
            return self._waiting[index - len(self._spans)]
        if self._closed:
            raise SessionError(f"{self._name} is closed")
        span = self._spans[index]
        line = os.pread(self._fd, span.length, span.start)
        if len(line) < span.length:
            raise SessionError(f"{self._name} was cut short by another program")
        return line

    def snapshot(self) -> "LineReader":
        from linnet.store.snapshot import LineReader

        if self._closed:
            raise SessionError(f"{self._name} is closed")
        return LineReader(self._waiting[:], os.dup(self._fd), self._spans.copy(), self._name)

    def flush(self) -> None:
        if self._waiting and not self._lost:
            self._write()

    def sync(self) -> None:
        """Make the lines that are there at the call survive a power cut. Another thread may add lines meanwhile."""
        with self._syncing:
            if not self._dirty or self._lost or self._closed:
                return
            self._dirty = False  # Before, not after: a line that is added meanwhile makes it true again.
            try:
                os.fsync(self._fd)
                if self._new:  # After the content: a name must not lead to a file whose lines are not on disk.
                    sync_folder(os.path.dirname(os.path.realpath(self._name)))
                self._new = False
            except OSError as error:
                self._dirty = True
                raise SessionError(f"{self._name} could not be saved: {error.strerror}") from None

    def close(self) -> None:
        if os.getpid() != self._owner:
            self._release()  # It was forked off: the file is not ours, and the thread that held `_syncing` is gone.
            return
        with suppress(SessionError):
            if self._waiting:
                self._write()
            self.sync()
        with self._syncing:
            if not self._closed:
                unlock(self._fd)  # Or else a process that was forked off meanwhile would hold the lock.
            self._release()

    def discard(self) -> None:
        if not self._closed and os.getpid() == self._owner and self.intact:
            with suppress(OSError):
                os.unlink(self._name)  # While it is locked: nobody else can have begun to write to it.
            self._lost = "was taken away"
        self.close()

    def _release(self) -> None:
        if not self._closed:
            self._closed = True
            os.close(self._fd)

    def _write(self) -> None:
        """Write the lines that wait, in their order, up to the first that cannot be written. Raises SessionError."""
        self._check()  # Each time: the lock does not keep those out who ask for none.
        written = 0
        try:
            for line in self._waiting:
                wrote = os.write(self._fd, line + b"\n")
                if wrote <= len(line):  # Half a line would swallow the next one.
                    self._take_back(wrote)
                    raise OSError(ENOSPC, os.strerror(ENOSPC))
                self._dirty = True
                self._spans.append(Span(self._size, len(line)))
                self._size += len(line) + 1
                written += 1
                first, last = self._ends
                self._ends = (
                    (first + line + b"\n")[:EDGE] if len(first) < EDGE else first,
                    (last + line + b"\n")[-EDGE:],
                )
        except OSError as error:
            raise SessionError(f"{self._name} could not be written to: {error.strerror}") from None
        finally:  # Also after a failure: the lines before it are in the file, and must not be written twice.
            del self._waiting[:written]
            self._changed_at = os.fstat(self._fd).st_mtime_ns

    def _take_back(self, wrote: int) -> None:
        """Remove the part of a line that fitted, unless somebody else has written behind it meanwhile."""
        with suppress(OSError):
            if os.fstat(self._fd).st_size == self._size + wrote:
                os.ftruncate(self._fd, self._size)

    def _check(self) -> None:
        """Raise SessionError unless the file is open and as we left it."""
        if self._closed:
            raise SessionError(f"{self._name} is closed")
        try:
            self._lost = self._lost or self._change()
        except OSError as error:
            raise SessionError(f"{self._name} cannot be looked at: {error.strerror}") from None
        if self._lost:
            raise SessionError(f"{self._name} {self._lost}; the conversation goes on, but is not saved there any more")

    def _change(self) -> str:
        """Return what others did to the file, as the end of a sentence; empty if it is as we left it."""
        ours = os.fstat(self._fd)
        try:
            there = os.stat(self._name)
        except FileNotFoundError:
            return "was deleted"
        if (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino):
            return "was replaced by another file"
        if ours.st_size < self._size:
            return "was cut short by another program"
        if ours.st_size > self._size or (ours.st_mtime_ns != self._changed_at and self._is_rewritten()):
            return "was written to by another program"
        self._changed_at = ours.st_mtime_ns
        return ""

    def _is_rewritten(self) -> bool:
        """Return whether the file, though as large as it was, is not made of our lines any more. A time alone proves
        nothing: whoever restores or copies files sets it, and some file systems correct it late.
        """
        if self._edges() != self._ends:
            return True
        data = os.pread(self._fd, self._size, 0)
        ends = (span.start + span.length for span in self._spans)
        return any(data[end : end + 1] not in (b"\n", b"\r") for end in ends)

    def _edges(self) -> tuple[bytes, bytes]:
        """Return how the file begins and ends."""
        return os.pread(self._fd, EDGE, 0), os.pread(self._fd, EDGE, max(0, self._size - EDGE))
