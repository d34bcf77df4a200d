"""Writes lines to a client without ever blocking, so that one which stops reading stops nothing else: not an abort, not
the next command.
"""

import os
import select
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from stat import S_ISFIFO, S_ISSOCK
from threading import Condition, RLock, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linnet.core.cancel import Cancel
    from linnet.wire.dialect import Buffers

ROOM = 256 * 1024  # Unread bytes above which a run waits.
FULL = 64 * 1024 * 1024  # Unread bytes above which even commands wait.
SIZE_OF_EVENT = 100  # About the bytes of memory that an event takes until it is encoded.
PIPE_BUF = select.PIPE_BUF
MOST_BUFFERS = 1024  # What the kernel takes in one call.


class Outlet:
    """Writes lines whole and in order, without ever blocking the caller.

    While the reader keeps up, the caller's own thread writes. What does not fit is kept, and a thread of its own writes
    it as room appears. Lines come as iterables, and each is made when there is room for it, so that what is kept stays
    small. `_changed` guards all of it; callers may hold the session's lock, so that nothing that takes that is called
    under it.
    """

    def __init__(self, fd: int, wake: Callable[[], None]) -> None:
        """`wake` is called, in any thread and under this object's lock, when the reader is gone, when all is written,
        and when it is no longer full. It must not block.
        """
        self._fd = fd
        self._wake = wake
        self._write = _writer(fd)
        self._lock = RLock()
        self._changed = Condition(self._lock)
        self._rest: memoryview | bytes = b""  # Of the line that is being written; cutting a view copies nothing.
        self._sources: deque[tuple[Iterator[Buffers], int]] = deque()  # Lines to be made, and what they count for.
        self._unread = 0  # Bytes of the line that is being written, and what the sources count for.
        self._line_size = 0  # Bytes of the line that was made last: those to come will be about as long.
        self._broken = False
        self._wakeup: tuple[int, int] | None = None  # A pipe, by which the thread is woken from its poll.
        self._woken = False  # There is a byte in it.
        self._thread: Thread | None = None

    @property
    def broken(self) -> bool:
        """Return whether nobody reads any more: what is written from then on is dropped."""
        return self._broken

    @property
    def unread(self) -> int:
        """Return how much is not written yet. If it is not 0, `wake` is called when it is."""
        with self._changed:  # Not while something is being written: then it may become 0 without a call of `wake`.
            return self._unread

    def write(self, lines: "Iterable[Buffers]", size: int = 0) -> None:
        """Write these lines after all others. `size` is what they count for, in bytes, until they are made:
        SIZE_OF_EVENT for each event.
        """
        with self._lock:
            if self._broken:
                return
            idle = not self._unread  # Or else the pipe is full, and the thread writes this in its turn.
            self._sources.append((iter(lines), size))
            self._unread += size + 1  # One that is empty is still to be looked at.
            if idle:
                self._pump()
            if self._unread:
                self._rouse()

    def pace(self, cancel: "Cancel") -> None:
        """Wait while the reader is far behind. Raises Cancelled if an abort comes. Not to be called under the session's
        lock.
        """
        if self._unread <= ROOM and len(self._sources) * self._line_size <= ROOM:  # As `is_behind`, for each batch.
            return
        with cancel.interrupting(self._notify), self._changed:
            self._changed.wait_for(lambda: not self.is_behind or self._broken or cancel.is_set)

    @property
    def is_behind(self) -> bool:
        """Return whether a run should wait: too much is unread, or would be if all that waits were encoded."""
        return self._unread > ROOM or len(self._sources) * self._line_size > ROOM

    @property
    def is_full(self) -> bool:
        """Return whether even commands should wait. If so, `wake` is called when they need not any more. One long line
        that is being written does not count: an abort may be on its way.
        """
        with self._changed:
            return self._unread - len(self._rest) > FULL

    def flush(self, timeout: float) -> None:
        """Wait until all is written, at most so many seconds."""
        with self._changed:
            self._changed.wait_for(lambda: not self._unread or self._broken, timeout)

    def watch(self) -> None:
        """Start the thread, which also notices a reader that goes away while there is nothing to write."""
        with self._changed:
            self._rouse()

    def close(self, timeout: float) -> None:
        """Wait until all is written, at most so many seconds, and end the thread. What is written after that is
        dropped, so that no line is begun that nobody will finish. The descriptor stays open.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._unread or self._broken, timeout)
            self._break()  # The lock is held since the wait ended: nobody can have begun a line in between.
            thread, self._thread = self._thread, None
            if self._wakeup is not None:
                os.write(self._wakeup[1], b".")
        if thread is not None:
            thread.join()  # Not under the lock, which it may be waiting for.

    def _pump(self) -> None:
        """Write until the pipe is full or there is nothing left. Called with `_changed` held."""
        try:
            while True:
                if self._rest:
                    count = self._write([self._rest])
                    if not count:
                        return
                    self._rest = self._rest[count:]
                    self._unread -= count
                    continue
                if not self._sources:
                    return
                source, size = self._sources[0]
                buffers = next(source, None)
                if buffers is None:
                    self._sources.popleft()
                    self._unread -= size + 1
                    continue
                self._line_size = total = sum(map(len, buffers))
                count = self._write(buffers)
                if count < total:  # What did not fit is copied: the buffers may change once the next are asked for.
                    self._rest = memoryview(b"".join(buffers))[count:]
                    self._unread += len(self._rest)
                    return
        except OSError:
            self._break()

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _rouse(self) -> None:
        """Have the thread look again, and start it if there is none. Called with `_changed` held."""
        if self._broken:
            return
        if self._wakeup is None:
            self._begin()
        elif not self._woken:
            self._woken = True
            os.write(self._wakeup[1], b".")

    def _begin(self) -> None:
        """Start the thread. If the system gives none, the next caller tries again; but if something is unread now,
        nobody might ever write it, so that the reader counts as gone.
        """
        pipe: tuple[int, ...] = ()
        try:
            self._wakeup = pipe = os.pipe()
            self._thread = Thread(target=self._drain, args=pipe, name="linnet-outlet", daemon=True)
            self._thread.start()
        except (OSError, RuntimeError):
            self._wakeup = self._thread = None
            for fd in pipe:
                os.close(fd)
            if self._unread:
                self._break()

    def _drain(self, wakeup: int, waker: int) -> None:
        """Write as room appears, until the reader is gone: what the thread of this object does."""
        poll = select.poll()
        poll.register(wakeup, select.POLLIN)
        while not self._broken:
            # Asked for nothing, poll still reports that the other end was closed.
            poll.register(self._fd, select.POLLOUT if self._unread else 0)
            for fd, event in poll.poll():
                if fd == wakeup:
                    os.read(wakeup, 4096)
                    self._woken = False
                else:
                    self._drained(event)
        with self._changed:  # Whoever wakes this thread holds it: nobody writes to a number that is closed.
            self._wakeup = None
            os.close(wakeup)
            os.close(waker)

    def _drained(self, event: int) -> None:
        """Write what fits by now, or note that the reader is gone."""
        with self._changed:
            was_full = self.is_full
            if event & (select.POLLERR | select.POLLHUP | select.POLLNVAL):
                self._break()
                return
            self._pump()
            self._changed.notify_all()
            if not self._unread or (was_full and not self.is_full):
                self._wake()

    def _break(self) -> None:
        """Drop all that is unread, now and from here on. Called with `_changed` held."""
        self._broken = True
        self._sources.clear()
        self._rest = b""
        self._unread = 0
        self._changed.notify_all()
        self._wake()


def _writer(fd: int) -> "Callable[[Sequence[memoryview | bytearray | bytes]], int]":
    """Return a function that writes as much of some buffers as fits without blocking, and returns how many bytes that
    was.

    O_NONBLOCK is not an option: it belongs to the pipe, and would change it for everybody who shares it.
    """
    mode = os.fstat(fd).st_mode
    if not (S_ISFIFO(mode) or S_ISSOCK(mode)):
        # Files and terminals make the writer wait, but not for long.
        return lambda buffers: os.writev(fd, buffers[:MOST_BUFFERS])
    flag = getattr(os, "RWF_NOWAIT", None)
    if flag is None:
        return lambda buffers: _write_if_ready(fd, buffers)

    def write(buffers: "Sequence[memoryview | bytearray | bytes]") -> int:
        try:
            return os.pwritev(fd, buffers[:MOST_BUFFERS], -1, flag)
        except BlockingIOError:
            return 0

    try:
        os.pwritev(fd, [b""], -1, flag)
    except OSError:
        return lambda buffers: _write_if_ready(fd, buffers)
    return write


def _write_if_ready(fd: int, buffers: "Sequence[memoryview | bytearray | bytes]") -> int:
    """Write up to PIPE_BUF bytes, which a pipe that polls as writable takes without blocking. Return how many."""
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    first = next((each for each in buffers if each), b"")
    return os.write(fd, first[:PIPE_BUF]) if poll.poll(0) else 0
