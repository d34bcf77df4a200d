"""Passes a pipe on, byte for byte, and keeps a copy of what went by, to be looked at when there is time."""

import errno
import os
import select
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

SLICE: Final = 1 << 16  # Bytes to look at in one go.
ROOM: Final = 1 << 20  # Asked of the kernel for each pipe: with little room, an agent at full speed waits for us.
_NON_BLOCKING: Final = 2  # SPLICE_F_NONBLOCK


class Tap(Protocol):
    """Passes bytes from one pipe to another, and keeps a copy of them, which has a limit.

    When the copy is full, somebody has to take from it, or to make room and lose what is in it: looking must not slow
    what is looked at.
    """

    waiting: int
    """How many bytes there are to look at."""

    def forward(self) -> bool:
        """Pass on what is there. Return False at the end of the source."""

    def make_room(self) -> None:
        """Drop the copy."""

    def full(self) -> bool:
        """Return whether there is no room in the copy."""

    def take(self) -> tuple[int, bytes]:
        """Take some of the copy; return it, and how many bytes before it were lost."""

    def close(self) -> None:
        """Close what it opened itself."""


def open_tap(source: int, target: int) -> Tap:
    """Return a tap: one that copies nothing where the kernel can pass pages from pipe to pipe, else one that does."""
    for pipe in (source, target):
        widen(pipe)
    tee = _tee() if hasattr(os, "splice") else None
    return Pages(source, target, tee) if tee else Copies(source, target)


class Pages:
    """The kernel moves the pages, and a second pipe refers to the same ones: only what is looked at is copied."""

    def __init__(self, source: int, target: int, tee: Callable[[int, int, int], int]) -> None:
        self._source, self._target, self._tee = source, target, tee
        self._out, self._in = os.pipe()
        widen(self._in)
        self._nowhere = os.open(os.devnull, os.O_WRONLY)
        self._splices = True
        self._lost = 0
        self._full = False
        self.waiting = 0

    def forward(self) -> bool:
        """Pass on what is there; to be called when the source is readable and the copy is not full."""
        size = self._tee(self._source, self._in, ROOM)
        if size < 0:
            self._full = True
            return True
        if size == 0:
            return False
        self.waiting += size
        self._move(size)
        return True

    def full(self) -> bool:
        return self._full

    def make_room(self) -> None:
        self._lost += self.waiting
        while self.waiting:
            self.waiting -= os.splice(self._out, self._nowhere, self.waiting)
        self._full = False

    def take(self) -> tuple[int, bytes]:
        lost, self._lost = self._lost, 0
        data = os.read(self._out, min(self.waiting, SLICE)) if self.waiting else b""
        self.waiting -= len(data)
        self._full = False
        return lost, data

    def close(self) -> None:
        for fd in (self._out, self._in, self._nowhere):
            os.close(fd)

    def _move(self, size: int) -> None:
        """Move so many bytes, of which the copy has been made, from the source to the target."""
        while size and self._splices:
            try:
                size -= os.splice(self._source, self._target, size)
            except BlockingIOError:
                _wait_for_room(self._target)
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
                self._splices = False  # Such as a terminal, or a file that is only added to.
        while size:
            chunk = os.read(self._source, size)
            size -= len(chunk)
            put(self._target, chunk)


class Copies:
    """Reads and writes, and keeps what was read."""

    def __init__(self, source: int, target: int) -> None:
        self._source, self._target = source, target
        self._parts: deque[bytes] = deque()
        self._lost = 0
        self.waiting = 0

    def forward(self) -> bool:
        chunk = os.read(self._source, SLICE)
        put(self._target, chunk)
        self._parts.append(chunk)
        self.waiting += len(chunk)
        return bool(chunk)

    def full(self) -> bool:
        return self.waiting >= ROOM

    def make_room(self) -> None:
        self._lost += self.waiting
        self._parts.clear()
        self.waiting = 0

    def take(self) -> tuple[int, bytes]:
        lost, self._lost = self._lost, 0
        data = self._parts.popleft() if self._parts else b""
        self.waiting -= len(data)
        return lost, data

    def close(self) -> None:
        pass


def put(fd: int, data: bytes) -> None:
    """Write all of it, however little the other side takes at a time."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:
            _wait_for_room(fd)


def _wait_for_room(fd: int) -> None:
    """Wait until there is room: somebody who shares our stdout has made it non-blocking."""
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    poll.poll()


def widen(pipe: int) -> None:
    """Give a pipe more room, where that can be done."""
    if sys.platform == "linux":
        from fcntl import F_SETPIPE_SZ, fcntl

        with suppress(OSError):  # It is no pipe, or the system allows no more.
            fcntl(pipe, F_SETPIPE_SZ, ROOM)


def _tee() -> Callable[[int, int, int], int] | None:
    """Return a function that calls the kernel's `tee`, or None where there is none.

    It returns how many bytes were copied, 0 at the end of the source, and -1 if there was no room.
    """
    from ctypes import CDLL, c_int, c_size_t, c_ssize_t, c_uint, get_errno

    function = getattr(CDLL(None, use_errno=True), "tee", None)
    if function is None:
        return None
    function.argtypes = (c_int, c_int, c_size_t, c_uint)
    function.restype = c_ssize_t

    def tee(source: int, target: int, size: int) -> int:
        copied = int(function(source, target, size, _NON_BLOCKING))
        while copied < 0 and get_errno() == errno.EINTR:
            copied = int(function(source, target, size, _NON_BLOCKING))
        if copied < 0 and get_errno() != errno.EAGAIN:
            raise OSError(get_errno(), os.strerror(get_errno()))
        return copied

    return tee
