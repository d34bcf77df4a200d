"""Lines to and from a program that stays. Whoever sends never waits; one thread reads, and writes what did not fit."""

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


class ProgramPipe:
    """Invariants: lines are sent in the order of the calls to `send`, whole; of a program that does not read, no more
    is kept than `most` bytes and one line: over that it is killed, and `stuck` says so.
    """

    def __init__(
        self, processes: "Processes", argv: Sequence[str], folder: str, log: "ExtensionLog", most: int = MOST_UNREAD
    ) -> None:
        """Start it. Raises OSError or ValueError if it cannot be started."""
        self.stuck = False
        self._most = most
        self._lock = Lock()
        self._pending: deque[memoryview] = deque()
        self._size = 0
        self._ending = False
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
        """Returns at once. Nothing happens if it cannot be told any more."""
        with self._lock:
            if self._ending:
                return
            self._pending.append(memoryview(line))
            self._size += len(line)
            if len(self._pending) == 1:
                self._flush()
            if self._size > self._most and len(self._pending) > 1:
                self.stuck = True
                self.child.kill()
        if self._pending:
            self._rouse()

    def end(self) -> None:
        """End its input behind what was sent. Returns at once."""
        with self._lock:
            self._ending = True
            self._flush()
        self._rouse()

    def batches(self, quiet: Callable[[], float | None]) -> Iterator[list[bytes | Oversized]]:
        """The lines that it prints, as they come, until it has ended or closed its output. When it has ended, so has
        all that it started. `quiet` is asked for how many more seconds nothing may come: after that, an empty batch
        does.
        """
        lines = ProgramLines()
        stdout = self.child.stdout.fileno()
        while self.child.wait(0) is None:
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
        """For something to read, for room to write what is left, or to be roused. False if nothing came in time."""
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
        try:
            while self._pending:
                sent = self.child.offer(self._pending[0])
                self._size -= sent
                if sent < len(self._pending[0]):
                    self._pending[0] = self._pending[0][sent:]
                    return
                self._pending.popleft()
        except OSError:  # It closed its input, and can be told nothing any more.
            self._pending.clear()
            self._size = 0
            if not self._ending:
                self._ending = True
                self.child.kill()
            return
        if self._ending:
            self.child.end_input()

    def _rouse(self) -> None:
        with self._lock:
            if not self._closed:
                with suppress(BlockingIOError):  # It is roused already.
                    os.write(self._wake, b"!")


def _read(fd: int) -> bytes | None:
    """None if there is nothing now; empty at the end."""
    try:
        return os.read(fd, READ_SIZE)
    except BlockingIOError:
        return None
