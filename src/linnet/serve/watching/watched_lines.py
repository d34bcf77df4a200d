"""The last lines that a program printed, each with its number, for any number of readers. Pure.

Lines are kept in blocks, as they came: whoever prints pays for a copy, and only who reads looks for the lines in it.
"""

from typing import Final

from msgspec import Struct

MOST: Final = 64 * 1024 * 1024  # Bytes of all lines.
LONGEST: Final = 16 * 1024 * 1024  # Bytes of one line.
BLOCK: Final = 64 * 1024


class Cursor(Struct):
    """A place before a line."""

    number: int
    """That of the line."""
    block: int
    at: int = 0
    """Where in the block it begins."""


class Taken(Struct, frozen=True):
    """Lines in a row, each with its LF."""

    first: int
    """The number of the first of them."""
    lines: bytes


class _Block(Struct):
    first: int
    lines: int
    data: bytearray


class WatchedLines:
    """Numbers begin at 1. Invariant: what is kept is whole lines in a row, up to the last one.

    Where something is missing there is a line that says so, `{"type":"gap","after":N}`: in the place of a line that was
    too long, and before the first line for a reader who came too late for those before it.
    """

    def __init__(self, most: int = MOST, longest: int = LONGEST, block: int = BLOCK) -> None:
        self._most, self._longest, self._block = most, longest, block
        self._blocks: dict[int, _Block] = {0: _Block(1, 0, bytearray())}
        self._oldest = self._newest = 0
        self._size = 0
        self._partial = bytearray()
        self._torn = False  # Whether what comes up to the next LF is the rest of a line that was too long.
        self.last = 0
        """The number of the last line."""
        self.ended = False

    def add(self, chunk: bytes) -> None:
        """Take in what was printed. A line ends at LF and at nothing else; an unfinished one waits for its end."""
        if self._torn:
            end = chunk.find(b"\n") + 1
            if not end:
                return
            self._torn, chunk = False, chunk[end:]
        end = chunk.rfind(b"\n") + 1
        if end:
            self._append(bytes(self._partial) + chunk[:end] if self._partial else chunk[:end])
            self._partial = bytearray()
        self._partial += chunk[end:]
        if len(self._partial) > self._longest:
            self._partial, self._torn = bytearray(), True
            self._append(gap(self.last))

    def end(self) -> None:
        """Note that no more will come. A last line without its LF counts."""
        if self._partial:
            self.add(b"\n")
        self.ended = True

    def cursor(self, after: int | None) -> Cursor:
        """Return the place after the line of this number; None is the last one."""
        if after is None or after >= self.last:
            return Cursor(self.last + 1, self._newest, len(self._blocks[self._newest].data))
        number = after + 1
        if number < self._blocks[self._oldest].first:
            return Cursor(number, self._oldest - 1)
        low, high = self._oldest, self._newest
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._blocks[middle].first <= number else (low, middle - 1)
        block, at = self._blocks[low], 0
        for _ in range(number - block.first):
            at = block.data.index(b"\n", at) + 1
        return Cursor(number, low, at)

    def take(self, cursor: Cursor) -> Taken | None:
        """Return the next lines, about a block of them, and move the cursor behind them; None if there are none yet."""
        if cursor.block < self._oldest:
            first = self._blocks[self._oldest].first
            missing = gap(cursor.number - 1)
            cursor.number, cursor.block, cursor.at = first, self._oldest, 0
            return Taken(first - 1, missing)
        block = self._blocks[cursor.block]
        if cursor.at >= len(block.data):
            if cursor.block == self._newest:
                return None
            cursor.block, cursor.at = cursor.block + 1, 0
            block = self._blocks[cursor.block]
        taken = Taken(cursor.number, bytes(block.data[cursor.at :]))
        cursor.number, cursor.at = block.first + block.lines, len(block.data)
        return taken

    def _append(self, lines: bytes) -> None:
        """Keep whole lines, and drop the oldest block for as long as there are too many bytes."""
        count = lines.count(b"\n")
        block = self._blocks[self._newest]
        if block.data and len(block.data) + len(lines) > self._block:
            self._newest += 1
            block = self._blocks[self._newest] = _Block(self.last + 1, 0, bytearray())
        block.data += lines
        block.lines += count
        self.last += count
        self._size += len(lines)
        while self._size > self._most and self._oldest < self._newest:
            self._size -= len(self._blocks.pop(self._oldest).data)
            self._oldest += 1


def gap(after: int) -> bytes:
    """Return the line that says that what came after this number is missing."""
    return b'{"type":"gap","after":%d}\n' % after


def as_events(taken: Taken) -> bytes:
    """Return lines as server-sent events. A CR, which in JSON can only stand between words, would end a line there."""
    lines = taken.lines.replace(b"\r", b" ")[:-1].split(b"\n")
    return b"".join([b"id: %d\ndata: %b\n\n" % numbered for numbered in enumerate(lines, taken.first)])
