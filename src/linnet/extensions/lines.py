"""Splits the bytes that a program prints into lines, in bounded memory however long they are. Pure."""

from msgspec import Struct

LONGEST = 32 * 1024 * 1024  # Bytes of a line.
END = 256  # Bytes that are kept of each end of a longer one.


class Oversized(Struct, frozen=True):
    """A line that was dropped, and its first and last bytes: they may say what it was."""

    size: int
    head: bytes
    tail: bytes


class ProgramLines:
    """Collects lines. Invariant: never holds more than the limit and what was fed last."""

    def __init__(self, limit: int = LONGEST) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._head = self._tail = b""  # Of a line that is being dropped.

    def feed(self, data: bytes) -> list[bytes | Oversized]:
        """Return the lines that are complete now, without their ends. Empty ones are left out."""
        *ended, rest = data.split(b"\n")
        found: list[bytes | Oversized] = []
        for piece in ended:
            self._add(piece)
            line = self._take()
            if isinstance(line, Oversized) or line.strip():
                found.append(line)
        self._add(rest)
        return found

    def _add(self, piece: bytes) -> None:
        """Append to the line that is being read; of one that is too long, keep only its ends."""
        if not piece:
            return
        self._size += len(piece)
        if self._size <= self._limit:
            self._parts.append(piece)
            return
        if self._parts or not self._head:
            start = b"".join(self._parts)
            self._parts = []
            self._head = (start + piece)[:END]
            self._tail = (start[-END:] + piece)[-END:]
        else:
            if len(self._head) < END:
                self._head = (self._head + piece)[:END]
            self._tail = (self._tail + piece[-END:])[-END:]

    def _take(self) -> bytes | Oversized:
        """Return the line that was read, and begin the next."""
        size, self._size = self._size, 0
        if size <= self._limit:
            line = b"".join(self._parts)
            self._parts = []
            return line
        dropped = Oversized(size, self._head, self._tail)
        self._head = self._tail = b""
        return dropped
