"""Feeds the bytes of an agent's stdout to its watch, cheaply enough for an agent at full speed. Pure."""

import re
from collections.abc import Callable
from types import ModuleType
from typing import Final

from linnet.monitor import pi, zot
from linnet.monitor.watch import Watch

LONGEST: Final = 16 * 1024 * 1024  # Bytes of one line that are kept. Beyond them only its two ends are.
_END: Final = 4096  # Bytes of each end.
_LOOKED_AT: Final = 40  # Of many pieces in a row, so many of the last are read for their words.
_FEW: Final = 2  # Pieces in a row that are taken one by one.
_MODULES: Final[dict[str, ModuleType]] = {"zot": zot, "pi": pi}
# `type` comes first, or last where the fields are in alphabetical order.
_FIRST = re.compile(rb'\s*\{\s*"type"\s*:\s*"([^"\\]{1,60})"')
_LAST = re.compile(rb'"type"\s*:\s*"([^"\\]{1,60})"\s*\}\s*$')


class Stream:
    """Splits chunks into lines. Of many pieces of a reply in a row, all are counted and only the last are read."""

    def __init__(self, watch: Watch, changed: Callable[[], None] = lambda: None, longest: int = LONGEST) -> None:
        """`changed` is called after every line that left the watch in another state."""
        self.watch = watch
        self._changed = changed
        self._state = watch.state
        self._longest = longest
        self._partial = bytearray()
        self._head = b""  # Of a line that has become too long.
        self._size = 0
        self._torn = False  # Whether what comes up to the next LF is the rest of a line that was not seen whole.

    def feed(self, at: float, chunk: bytes) -> None:
        """Take in what came. A line ends at LF and at nothing else; the unfinished last one waits for its end."""
        if self._torn:
            self._torn = b"\n" not in chunk
            chunk = b"" if self._torn else chunk[chunk.index(b"\n") + 1 :]
        end = chunk.rfind(b"\n") + 1
        if not end:
            self._keep(chunk)
            return
        if self._size > self._longest:
            first = chunk.index(b"\n") + 1
            self._keep(chunk[: first - 1])
            self._oversize(at)
            chunk, end = chunk[first:], end - first
        block = bytes(self._partial) + chunk[:end]
        self._forget()
        if block:
            self._block(at, block)
        self._keep(chunk[end:])

    def skip(self, size: int) -> None:
        """Note that so many bytes went by unseen; what is left of a line on either side of them is dropped."""
        self._forget()
        self._torn = True
        self.watch.skipped += size

    def finish(self, at: float, code: int | None = None) -> None:
        """Take in the end of the stream. A last line without its LF counts; if it was cut off, it is no JSON."""
        if self._size > self._longest:
            self._oversize(at)
        elif self._size:
            self.watch.heard(at, bytes(self._partial))
            self._look()
        self._forget()
        self.watch.ended(at, code)
        self._look()

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        self._partial += part
        if self._size > self._longest:
            self._head = self._head or bytes(self._partial[:_END])
            self._partial = self._partial[-_END:]

    def _forget(self) -> None:
        if self._size:
            self._partial, self._head, self._size = bytearray(), b"", 0

    def _oversize(self, at: float) -> None:
        """Take in a line that is too long, by its type if one of its ends shows it."""
        found = _FIRST.match(self._head) or _LAST.search(self._partial)
        if found:
            self.watch.frame(at, found[1].decode(errors="replace"), b"")
        else:
            self.watch.oversize(at, self._head, self._size)
        self._look()
        self._forget()

    def _block(self, at: float, block: bytes) -> None:
        """Take in whole lines, each with its LF. A block of nothing but pieces of a reply is not even split."""
        count = block.count(b"\n")
        module = _MODULES.get(self.watch.dialect or "")
        if module and count > _LOOKED_AT and _all_pieces(module, block, count):
            last = block[-_END:].split(b"\n")[1:-1] or [block[block[:-1].rfind(b"\n") + 1 : -1]]
            self._pieces(at, module, count, last)
            return
        lines = block[:-1].split(b"\n")
        start = 0
        while start < len(lines):
            module = _MODULES.get(self.watch.dialect or "")
            start = self._run(at, lines, start, module) if module else self._one(at, lines, start)

    def _run(self, at: float, lines: list[bytes], start: int, module: ModuleType) -> int:
        """Take in pieces in a row, or one line of another kind. Return the index of the line after them."""
        line = lines[start]
        text = line.startswith(module.PIECE_HEAD)
        if not line.endswith(b"}") or not (text or line.startswith(module.CALL_PIECE_HEAD)):
            return self._one(at, lines, start)
        head = module.PIECE_HEAD if text else module.CALL_PIECE_HEAD
        end = start + 1
        while end < len(lines) and lines[end].startswith(head) and lines[end].endswith(b"}"):
            end += 1
        if end - start <= _FEW:
            return self._one(at, lines, start)
        if text:
            self._pieces(at, module, end - start, lines[max(start, end - _LOOKED_AT) : end])
            return end
        self.watch.passed(module.CALL_PIECE, end - 1 - start)
        return self._one(at, lines, end - 1)

    def _one(self, at: float, lines: list[bytes], index: int) -> int:
        self.watch.heard(at, lines[index])
        self._look()
        return index + 1

    def _pieces(self, at: float, module: ModuleType, count: int, last: list[bytes]) -> None:
        last = last[-_LOOKED_AT:]
        self.watch.pieces(at, module.PIECE, count, module.pieces(last), joined=count == len(last))
        self._look()

    def _look(self) -> None:
        """Call `changed` if the watch is in another state."""
        if self.watch.state is not self._state:
            self._state = self.watch.state
            self._changed()


def _all_pieces(module: ModuleType, block: bytes, count: int) -> bool:
    """Return whether all lines of a block are pieces of a reply."""
    head, tail = module.PIECE_HEAD, module.PIECE_TAIL
    if block.startswith(head):
        return bool(block.count(b"\n" + head) == count - 1 and block.count(b"}\n") == count)
    return bool(tail and block.endswith(tail + b"\n") and block.count(tail + b"\n") == count)
