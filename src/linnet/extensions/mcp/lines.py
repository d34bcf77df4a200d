"""The bytes that a server prints, as lines with one message each, however they come and however long they are. Pure."""

import re

from msgspec import Struct

LONGEST = 32 * 1024 * 1024
_END = 256
# Both are sound: a line is one object, so what follows its first brace, or precedes its last one, is its own.
_FIRST = re.compile(rb'\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d+)\s*,')
_LAST = re.compile(rb'[,{]\s*"id"\s*:\s*(\d+)\s*\}\s*$')


class Oversized(Struct, frozen=True):
    """A line that was dropped. `answers` is the request that it answers, if its first or last bytes say so."""

    size: int
    answers: int | None


class Lines:
    """Invariant: never holds more than the limit and what was fed last."""

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
        if not piece:
            return
        self._size += len(piece)
        if self._size <= self._limit:
            self._parts.append(piece)
            return
        if self._parts or not self._head:
            start = b"".join(self._parts)
            self._parts = []
            self._head = (start + piece)[:_END]
            self._tail = (start[-_END:] + piece)[-_END:]
        else:
            if len(self._head) < _END:
                self._head = (self._head + piece)[:_END]
            self._tail = (self._tail + piece[-_END:])[-_END:]

    def _take(self) -> bytes | Oversized:
        size, self._size = self._size, 0
        if size <= self._limit:
            line = b"".join(self._parts)
            self._parts = []
            return line
        found = _FIRST.match(self._head) or _LAST.search(self._tail)
        self._head = self._tail = b""
        return Oversized(size, int(found[1]) if found else None)
