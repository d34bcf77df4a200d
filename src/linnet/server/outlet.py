"""The one writer of stdout. A reader that stops reading must stop nothing else: not an abort, not the next command."""

import os
import select
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from stat import S_ISFIFO, S_ISSOCK
from threading import Condition, RLock, Thread
from typing import TYPE_CHECKING

from linnet.wire.dialect import Buffers

if TYPE_CHECKING:
    from linnet.core.cancel import Cancel

ROOM = 256 * 1024  # Unread bytes above which a run waits.
FULL = 64 * 1024 * 1024  # Unread bytes above which even commands wait.
SIZE_OF_EVENT = 100  # About what one takes while it waits to be put into words.
PIPE_BUF = select.PIPE_BUF
MOST_BUFFERS = 1024  # What the kernel takes in one call.


class Outlet:
    """Writes what it is given, whole and in order, without ever blocking the giver.

    While the reader keeps up, the giver's own thread writes: no hand-over, no wait. What does not fit is kept, and a
    thread of its own writes it as room appears. Lines that are made one at a time are made when there is room for them,
    so that what is kept stays small. `wake` is called when somebody waiting on the outlet should look again.
    """

    def __init__(self, fd: int, wake: Callable[[], None]) -> None:
        self._fd = fd
        self._wake = wake
        self._write = _writer(fd)
        self._lock = RLock()
        self._changed = Condition(self._lock)
        self._rest: memoryview | bytes = b""  # Of the line that is being written; cutting a view copies nothing.
        self._sources: deque[tuple[Iterator[Buffers], int]] = deque()
        self._unread = 0
        self._line_size = 0  # Bytes of the line that was made last: those to come will be about as long.
        self._broken = False
        self._wakeup: tuple[int, int] | None = None
        self._woken = False
        self._thread: Thread | None = None

    @property
    def broken(self) -> bool:
        """Nobody reads any more; what is written from now on is dropped."""
        return self._broken

    @property
    def unread(self) -> int:
        """If this is not 0, `wake` is called when it is. So it is not looked at while something is being written."""
        with self._changed:
            return self._unread

    def write(self, lines: Iterable[Buffers], size: int = 0) -> None:
        """`size` is what lines that are not made yet count for: SIZE_OF_EVENT for each event."""
        with self._lock:
            if self._broken:
                return
            idle = not self._unread
            self._sources.append((iter(lines), size))
            self._unread += size + 1  # One that is empty is still to be looked at.
            if idle:
                self._pump()
            if self._unread:
                self._rouse()

    def pace(self, cancel: "Cancel") -> None:
        """Wait while the reader is far behind. An abort ends the wait with Cancelled."""
        if self._unread <= ROOM and len(self._sources) * self._line_size <= ROOM:  # As `is_behind`, for each batch.
            return
        with cancel.interrupting(self._notify), self._changed:
            self._changed.wait_for(lambda: not self.is_behind or self._broken or cancel.is_set)

    @property
    def is_behind(self) -> bool:
        """Whether a run should wait: too much is unread, or would be if all that waits were put into words."""
        return self._unread > ROOM or len(self._sources) * self._line_size > ROOM

    @property
    def is_full(self) -> bool:
        """Whether even commands should wait. One long line, which is made already, is no reason for that: an abort is
        what may be on its way. If they should, `wake` is called when they should not, as for `unread`.
        """
        with self._changed:
            return self._unread - len(self._rest) > FULL

    def flush(self, timeout: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._unread or self._broken, timeout)

    def watch(self) -> None:
        """Start to look out for a reader that goes away while there is nothing to write."""
        with self._changed:
            self._rouse()

    def close(self, timeout: float) -> None:
        """Write what there is, for so many seconds, and end the thread. What is given from then on is dropped, so that
        no line is begun that nobody will finish. The fd stays open.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._unread or self._broken, timeout)
            self._break()  # Under the lock since then: nobody can have given anything in between.
            thread, self._thread = self._thread, None
            if self._wakeup is not None:
                os.write(self._wakeup[1], b".")
        if thread is not None:
            thread.join()  # Not under the lock, which it may be waiting for.

    def _pump(self) -> None:
        """Write until the pipe is full or there is nothing left."""
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
        if self._broken:
            return
        if self._wakeup is None:
            self._begin()
        elif not self._woken:
            self._woken = True
            os.write(self._wakeup[1], b".")

    def _begin(self) -> None:
        """Start the thread. Where the system gives none, the next who needs it tries again; but what has no room now
        might wait for ever, and counts as not read.
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
        with self._changed:  # Whoever would wake this thread holds the lock, and sees that there is nothing to wake.
            self._wakeup = None
            os.close(wakeup)
            os.close(waker)

    def _drained(self, event: int) -> None:
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
        self._broken = True
        self._sources.clear()
        self._rest = b""
        self._unread = 0
        self._changed.notify_all()
        self._wake()


def _writer(fd: int) -> "Callable[[Sequence[memoryview | bytearray | bytes]], int]":
    """How to write as much as fits. O_NONBLOCK is not an option: it would leak to everybody who shares the pipe."""
    mode = os.fstat(fd).st_mode
    if not (S_ISFIFO(mode) or S_ISSOCK(mode)):
        # Files and terminals: they make the writer wait, but not for long.
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
    """A pipe that polls as writable takes PIPE_BUF bytes without blocking."""
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    first = next((each for each in buffers if each), b"")
    return os.write(fd, first[:PIPE_BUF]) if poll.poll(0) else 0
