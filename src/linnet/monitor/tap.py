"""Passes a pipe on, byte for byte, and keeps a copy of what went by for whoever has the time to look at it."""

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
    """`forward` passes on what is there, False at the end; `take` gives some of the copy, after a gap of `lost` bytes.

    The copy has a limit. When it is `full`, somebody has to take from it, or to `make_room` and lose what is in it:
    looking must not slow what is looked at. `waiting` is how many bytes there are to look at.
    """

    waiting: int

    def forward(self) -> bool: ...

    def make_room(self) -> None: ...

    def full(self) -> bool: ...

    def take(self) -> tuple[int, bytes]: ...

    def close(self) -> None: ...


def open_tap(source: int, target: int) -> Tap:
    """Without copying where the kernel can pass pages from pipe to pipe; else by reading and writing."""
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
        """Call it when the source is readable and the copy is not full."""
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
    """All of it, however little the other side takes at a time."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:
            _wait_for_room(fd)


def _wait_for_room(fd: int) -> None:
    """Somebody who shares our stdout does not want to wait for it; we do."""
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    poll.poll()


def widen(pipe: int) -> None:
    if sys.platform == "linux":
        from fcntl import F_SETPIPE_SZ, fcntl

        with suppress(OSError):  # It is no pipe, or the system allows no more.
            fcntl(pipe, F_SETPIPE_SZ, ROOM)


def _tee() -> Callable[[int, int, int], int] | None:
    """The kernel's `tee`: how many bytes it copied, 0 at the end, -1 if there was no room."""
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
