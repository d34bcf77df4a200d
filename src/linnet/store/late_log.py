"""A log that becomes a file when something is said: nobody who looks for sessions finds one that is empty."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from linnet.store.log import FileLog, MemoryLog, _InPlace

if TYPE_CHECKING:
    from linnet.store.snapshot import LineReader


class LateLog(_InPlace):
    """Lines in memory until `keep` is called, and from then on a file that has them.

    Invariant: once it was to be kept, a file that could not be made is tried again with every line.
    """

    def __init__(self, path: str, lines: Sequence[bytes], make: Callable[[Sequence[bytes]], FileLog]) -> None:
        """`make` returns the log of a new file that has these lines. Raises SessionError."""
        self.key = path
        self.path: str | None = path
        self._held = MemoryLog(lines, path)
        self._file: FileLog | None = None
        self._due = False
        self._make = make

    @property
    def is_kept(self) -> bool:
        """Return whether there is a file."""
        return self._file is not None

    def keep(self) -> None:
        """Make the file. Raises SessionError if it cannot be made; it is tried again with the next line."""
        self._due = True
        if self._file is None:
            self._file = self._make(self._held.read())

    @property
    def _log(self) -> FileLog | MemoryLog:
        return self._file or self._held

    @property
    def lost(self) -> bool:
        return self._log.lost

    @property
    def intact(self) -> bool:
        return self._log.intact

    def holds(self, key: str) -> bool:
        return self._log.holds(key)

    def head(self) -> int:
        return self._log.head()

    def append(self, line: bytes, *, strict: bool = False) -> None:
        if self._file is not None or not self._due:
            self._log.append(line, strict=strict)
            return
        if strict:
            self.keep()
            self._log.append(line, strict=True)
            return
        self._held.append(line)
        self.keep()

    def line(self, index: int) -> bytes:
        return self._log.line(index)

    def snapshot(self) -> "LineReader":
        return self._log.snapshot()

    def flush(self) -> None:
        if self._due:
            self.keep()
        self._log.flush()

    def sync(self) -> None:
        self._log.sync()

    def close(self) -> None:
        self._log.close()

    def discard(self) -> None:
        self._log.discard()
