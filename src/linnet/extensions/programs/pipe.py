"""Sends lines to a program that stays, without ever waiting, and reads its lines in one thread.

That thread also writes what did not fit into the pipe at once.
"""

import os
import select
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from math import ceil
from threading import Lock
from typing import TYPE_CHECKING

from linnet.extensions.lines import Oversized, ProgramLines

if TYPE_CHECKING:
    from linnet.extensions.programs.log import ExtensionLog
    from linnet.processes.child import Child
    from linnet.processes.process import Processes

READ_SIZE = 1 << 16
MOST_UNREAD = 8 * 1024 * 1024  # Bytes that may wait for a program to read them.
DYING = 0.3  # How long it may take until a program that has closed its input or output is seen to have ended.


class ProgramPipe:
    """The pipes of a program. Any thread may `send` and `end`; one reads `batches`, and closes it.

    Invariants: lines are sent in the order of the calls to `send`, whole; for a program that does not read, no more is
    kept than `most` bytes and one line: over that it is killed.
    """

    def __init__(
        self, processes: "Processes", argv: Sequence[str], folder: str, log: "ExtensionLog", most: int = MOST_UNREAD
    ) -> None:
        """Start it. Raises OSError or ValueError if it cannot be started."""
        self.stuck = False
        """Whether it was killed because it does not read."""
        self._most = most
        self._lock = Lock()  # For all below, and to write: lines must not mix.
        self._pending: deque[memoryview] = deque()
        self._size = 0  # Bytes in `_pending`.
        self._ending = False  # Whether its input ends, or has ended.
        self._deaf = False  # Whether the program has closed its input, and may be about to end.
        self._closed = False
        with ExitStack() as undo:
            self._woken, self._wake = os.pipe()
            for fd in (self._woken, self._wake):
                os.set_blocking(fd, False)
                undo.callback(os.close, fd)
            trusted = not processes.confines_extensions
            self.child: Child = processes.start(argv, cwd=folder, trusted=trusted, errors=log.write, exited=self._rouse)
            undo.pop_all()
        os.set_blocking(self.child.stdout.fileno(), False)

    def send(self, line: bytes) -> None:
        """Send a line, or keep it to be sent. Returns at once; nothing happens if its input has ended."""
        with self._lock:
            if self._ending:
                return
            self._pending.append(memoryview(line))
            self._size += len(line)
            if len(self._pending) == 1:  # Otherwise there was no room for the one before.
                self._flush()
            if self._size > self._most and len(self._pending) > 1:
                self.stuck = True
                self.child.kill()
        if self._pending or self._deaf:
            self._rouse()

    def end(self) -> None:
        """End its input after what was sent. Returns at once."""
        with self._lock:
            self._ending = True
            self._flush()
        self._rouse()

    def batches(self, quiet: Callable[[], float | None]) -> Iterator[list[bytes | Oversized]]:
        """Yield the lines that it prints, as they come, until it has ended or closed its output. When it has ended, so
        has all that it started. `quiet` returns for how many seconds nothing may come: after that, an empty batch is
        yielded; None is for ever.
        """
        lines = ProgramLines()
        stdout = self.child.stdout.fileno()
        while self.child.wait(DYING if self._deaf else 0) is None:
            if self._deaf:  # It can be told nothing any more, and does not end by itself.
                self._deaf = False
                self.child.kill()
            data = _read(stdout)
            if data:
                yield lines.feed(data)
            elif data is None:
                if not self._wait(stdout, quiet()):
                    yield []
            else:
                return
            with self._lock:
                self._flush()
        self.child.kill()
        while data := _read(stdout):
            yield lines.feed(data)

    def _wait(self, stdout: int, seconds: float | None) -> bool:
        """Wait for something to read, for room to write, or to be roused. Return False if nothing came in time."""
        poller = select.poll()
        for fd in (self._woken, stdout):
            poller.register(fd, select.POLLIN)
        stdin = self.child.stdin
        if self._pending and stdin is not None:
            poller.register(stdin, select.POLLOUT)
        came = poller.poll(None if seconds is None else ceil(max(0.0, seconds) * 1000))
        with suppress(BlockingIOError):
            os.read(self._woken, READ_SIZE)
        return bool(came)

    def close(self) -> None:
        """End it and all it started, and close the pipes. For the thread that reads, when it has read all."""
        self.child.close()
        with self._lock:
            self._ending = self._closed = True
            os.close(self._woken)
            os.close(self._wake)

    def _flush(self) -> None:
        """Write what there is room for, with the lock held, and end the input if that is all."""
        try:
            while self._pending:
                sent = self.child.offer(self._pending[0])
                self._size -= sent
                if sent < len(self._pending[0]):
                    self._pending[0] = self._pending[0][sent:]
                    return
                self._pending.popleft()
        except OSError:
            self._pending.clear()
            self._size = 0
            self._deaf = not self._ending
            self._ending = True
            return
        if self._ending:
            self.child.end_input()

    def _rouse(self) -> None:
        """Have the thread that reads look again: there is something to write, or the program has ended."""
        with self._lock:
            if not self._closed:
                with suppress(BlockingIOError):  # It is roused already.
                    os.write(self._wake, b"!")


def _read(fd: int) -> bytes | None:
    """Return what can be read; None if there is nothing now, and no bytes at the end."""
    try:
        return os.read(fd, READ_SIZE)
    except BlockingIOError:
        return None
