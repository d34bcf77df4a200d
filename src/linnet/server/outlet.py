"""The one writer of stdout. A reader that stops reading must stop nothing else: not an abort, not the next command."""

import os
import select
from collections import deque
from collections.abc import Callable
from stat import S_ISFIFO, S_ISSOCK
from threading import Condition, Thread

from linnet.core.cancel import Cancel

ROOM = 256 * 1024  # Unread bytes above which a run waits.
FULL = 64 * 1024 * 1024  # Unread bytes above which even commands wait.
PIPE_BUF = select.PIPE_BUF


class Outlet:
    """Writes what it is given, whole and in order, without ever blocking the giver.

    While the reader keeps up, the giver's own thread writes: no hand-over, no wait. What does not fit is kept, and a
    thread of its own writes it as room appears. `wake` is called when somebody waiting on the outlet should look again.
    """

    def __init__(self, fd: int, wake: Callable[[], None]) -> None:
        self._fd = fd
        self._wake = wake
        self._write = _writer(fd)
        self._changed = Condition()
        self._backlog: deque[memoryview] = deque()
        self._unread = 0
        self._broken = False
        self._bell: tuple[int, int] | None = None

    @property
    def broken(self) -> bool:
        """Nobody reads any more; what is written from now on is dropped."""
        return self._broken

    @property
    def unread(self) -> int:
        return self._unread

    def write(self, data: bytes) -> None:
        with self._changed:
            if self._broken:
                return
            view = memoryview(data)
            if not self._backlog:
                try:
                    view = view[self._write(view) :]
                except OSError:
                    self._break()
                    return
            if view:
                self._backlog.append(view)
                self._unread += len(view)
                self._ring()

    def pace(self, cancel: Cancel) -> None:
        """Wait while the reader is far behind. An abort ends the wait with Cancelled."""
        if self._unread <= ROOM:
            return
        with cancel.interrupting(self._notify), self._changed:
            self._changed.wait_for(lambda: self._unread <= ROOM or self._broken or cancel.is_set)

    def flush(self, timeout: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._backlog or self._broken, timeout)

    def watch(self) -> None:
        """Start to look out for a reader that goes away while there is nothing to write."""
        with self._changed:
            self._ring()

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _ring(self) -> None:
        if self._bell is None:
            self._bell = os.pipe()
            Thread(target=self._drain, args=(self._bell[0],), name="linnet-outlet", daemon=True).start()
        else:
            os.write(self._bell[1], b".")

    def _drain(self, bell: int) -> None:
        poll = select.poll()
        poll.register(bell, select.POLLIN)
        while not self._broken:
            # Asked for nothing, poll still reports that the other end was closed.
            poll.register(self._fd, select.POLLOUT if self._backlog else 0)
            for fd, event in poll.poll():
                if fd == bell:
                    os.read(bell, 4096)
                else:
                    self._drained(event)

    def _drained(self, event: int) -> None:
        with self._changed:
            was_full = self._unread > FULL
            try:
                if event & (select.POLLERR | select.POLLHUP | select.POLLNVAL):
                    raise BrokenPipeError
                while self._backlog:
                    count = self._write(self._backlog[0])
                    if not count:
                        break
                    self._unread -= count
                    rest = self._backlog[0][count:]
                    if rest:
                        self._backlog[0] = rest
                    else:
                        self._backlog.popleft()
            except OSError:
                self._break()
                return
            self._changed.notify_all()
            if not self._backlog or (was_full and self._unread <= FULL):
                self._wake()

    def _break(self) -> None:
        self._broken = True
        self._backlog.clear()
        self._unread = 0
        self._changed.notify_all()
        self._wake()


def _writer(fd: int) -> Callable[[memoryview], int]:
    """How to write as much as fits. O_NONBLOCK is not an option: it would leak to everybody who shares the pipe."""
    mode = os.fstat(fd).st_mode
    if not (S_ISFIFO(mode) or S_ISSOCK(mode)):
        return lambda data: os.write(fd, data)  # Files and terminals: they make the writer wait, but not for long.
    flag = getattr(os, "RWF_NOWAIT", None)
    if flag is None:
        return lambda data: _write_if_ready(fd, data)

    def write(data: memoryview) -> int:
        try:
            return os.pwritev(fd, [data], -1, flag)
        except BlockingIOError:
            return 0

    try:
        os.pwritev(fd, [b""], -1, flag)
    except OSError:
        return lambda data: _write_if_ready(fd, data)
    return write


def _write_if_ready(fd: int, data: memoryview) -> int:
    """A pipe that polls as writable takes PIPE_BUF bytes without blocking."""
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    return os.write(fd, data[:PIPE_BUF]) if poll.poll(0) else 0
