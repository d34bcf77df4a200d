"""The bytes of an agent's stdout, fed to its watch as they come. Pure, and cheap enough for an agent at full speed."""

import re
from collections.abc import Callable
from typing import Final

from linnet.monitor import pi, zot
from linnet.monitor.watch import Watch
from linnet.monitor.words import MOST_TEXT

LONGEST: Final = 16 * 1024 * 1024  # Bytes of one line that are kept. Beyond them only its two ends are.
_END: Final = 4096
_LOOKED_AT: Final = 40  # Of a block of deltas, so many of the last are read for their words.
# `type` comes first, or last where the fields are in alphabetical order.
_FIRST = re.compile(rb'\s*\{\s*"type"\s*:\s*"([^"\\]{1,60})"')
_LAST = re.compile(rb'"type"\s*:\s*"([^"\\]{1,60})"\s*\}\s*$')


class Stream:
    """Splits chunks into lines. A block of text deltas is counted as a whole, and only its last words are read.

    `changed` is called after every line that left the watch in another state.
    """

    def __init__(self, watch: Watch, changed: Callable[[], None] = lambda: None, longest: int = LONGEST) -> None:
        self.watch = watch
        self._changed = changed
        self._state = watch.state
        self._longest = longest
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, at: float, chunk: bytes) -> None:
        """Take in what came. A line ends at LF and at nothing else; the unfinished last one waits for its end."""
        end = chunk.rfind(b"\n") + 1
        if not end:
            self._keep(chunk)
            return
        if self._size > self._longest:
            first = chunk.index(b"\n") + 1
            self._keep(chunk[: first - 1])
            self._oversize(at)
            chunk, end = chunk[first:], end - first
        block = chunk[:end] if not self._parts else b"".join((*self._parts, chunk[:end]))
        self._parts.clear()
        self._size = 0
        if block:
            self._block(at, block)
        self._keep(chunk[end:])

    def finish(self, at: float, code: int | None = None) -> None:
        """The stream has ended. A last line without its LF counts; if it was torn, it is no JSON."""
        if self._size > self._longest:
            self._oversize(at)
        elif self._size:
            self.watch.heard(at, b"".join(self._parts))
            self._look()
        self._parts.clear()
        self._size = 0
        self.watch.ended(at, code)
        self._look()

    def _keep(self, part: bytes) -> None:
        if not part:
            return
        self._size += len(part)
        self._parts.append(part)
        if self._size > self._longest:
            whole = b"".join(self._parts)
            self._parts = [whole[:_END], whole[-_END:]]

    def _oversize(self, at: float) -> None:
        head, tail = self._parts[0][:_END], self._parts[-1][-_END:]
        found = _FIRST.match(head) or _LAST.search(tail)
        if found:
            self.watch.frame(at, found[1].decode(errors="replace"), b"")
        else:
            self.watch.oversize(at, head, self._size)
        self._look()
        self._parts.clear()
        self._size = 0

    def _block(self, at: float, block: bytes) -> None:
        """Whole lines, each with its LF."""
        lines = block.count(b"\n")
        if lines > _LOOKED_AT and (module := {"zot": zot, "pi": pi}.get(self.watch.dialect or "")):
            heads = any(
                block.startswith(head) and block.count(b"\n" + head) == lines - 1 for head in module.DELTA_HEADS
            )
            tails = any(block.count(tail + b"\n") == lines for tail in module.DELTA_TAILS)
            if heads or tails:
                last = block[-_END:].split(b"\n")[1:-1][-_LOOKED_AT:]
                words = "".join(module.detail(module.DELTA, line).text for line in last)
                self.watch.flooded(at, module.DELTA, lines, words[-MOST_TEXT:])
                self._look()
                return
        heard = self.watch.heard
        for line in block[:-1].split(b"\n"):
            heard(at, line)
            if self.watch.state is not self._state:
                self._look()

    def _look(self) -> None:
        if self.watch.state is not self._state:
            self._state = self.watch.state
            self._changed()
