"""Collects what a command prints: its end in memory, all of it in a file if it is long, and progress while it runs."""

import os
from codecs import utf_8_decode
from collections.abc import Callable
from time import monotonic

from linnet.tools.text.truncate import MAX_BYTES, MAX_LINES, Kept, keep_tail

INTERVAL = 0.05  # Seconds between two reports of progress, at least.
MAX_NEWS = 16 * 1024  # Bytes of one report.
# A character more than can be shown, since the first one may turn out to be half of one.
KEEP = MAX_BYTES + 4


class CommandOutput:
    """A Sink for one command. Used by one thread.

    Invariant: memory stays bounded however much is fed, and a character never comes in two halves.
    """

    def __init__(
        self, progress: Callable[[str], None], clock: Callable[[], float] = monotonic, folder: str | None = None
    ) -> None:
        """`progress` is called with what is new. `folder` is where the file is to be; None is the system's."""
        self.total = 0
        """Bytes that were fed."""
        self.path: str | None = None
        """The file that has every byte; None while all can be shown, or if it cannot be written."""
        self.problem = ""
        """Why there is no file, if there should be."""
        self._progress = progress
        self._clock = clock
        self._folder = folder
        self._tail = bytearray()
        self._lines = 0
        self._is_long = False
        self._file: int | None = None
        self._news = bytearray()  # Not reported yet.
        self._skipped = 0  # Bytes that were too many for the next report.
        self._is_new = False
        self._next = 0.0  # When the next report may be made.

    def feed(self, data: bytes) -> None:
        """Take the next piece, and write it to the file if there is one."""
        self.total += len(data)
        if not self._is_long:
            self._lines += data.count(b"\n")
            if self.total > MAX_BYTES or self._lines > MAX_LINES:
                self._spill()
        self._write(data)
        _append(self._tail, data, KEEP)
        self._skipped += _append(self._news, data, MAX_NEWS)
        self._is_new = True

    def tick(self) -> float | None:
        """Report what is new if it is time to; otherwise return in how many seconds it will be."""
        if not self._is_new:
            return None
        now = self._clock()
        if now < self._next:
            return self._next - now
        self._next = now + INTERVAL
        self._report(final=False)
        return None

    def finish(self) -> Kept:
        """Report the rest, and return what can be shown."""
        self._report(final=True)
        text = _whole(self._tail) if self.total > len(self._tail) else self._tail
        kept = keep_tail(text.decode("utf-8", "replace"))
        if kept.cut_bytes and not self._is_long:  # Bytes that are not UTF-8 take more room once replaced.
            self._spill()
        return kept

    def close(self) -> None:
        """Close the file, which stays. Idempotent."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _report(self, *, final: bool) -> None:
        """Call `progress` with what is new; half a character at the end is kept for the next time, if there is one."""
        self._is_new = False
        news = _whole(self._news) if self._skipped else self._news
        self._skipped += len(self._news) - len(news)
        text, used = utf_8_decode(news, "replace", final)
        if not text:
            return
        if self._skipped:
            text = f"[{self._skipped} bytes skipped]\n{text}"
        self._skipped = 0
        self._news = news[used:]
        self._progress(text)

    def _spill(self) -> None:
        """Begin the file, with what has been fed before: while it is not long, the tail is all of it."""
        from tempfile import mkstemp  # 5 ms that only long output should pay for.

        self._is_long = True
        try:
            self._file, self.path = mkstemp(prefix="linnet-bash-", suffix=".log", dir=self._folder)
        except OSError as error:
            self.problem = error.strerror or str(error)
        self._write(self._tail)

    def _write(self, data: bytes | bytearray) -> None:
        """Write to the file, if there is one; give it up if that fails."""
        if self._file is None or self.path is None:
            return
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(self._file, left) :]
        except OSError as error:
            self.problem = error.strerror or str(error)
            os.close(self._file)
            os.unlink(self.path)  # Not all of it, and the disk is likely full.
            self._file = self.path = None


def _append(buffer: bytearray, data: bytes, limit: int) -> int:
    """Append, keep the last `limit` bytes, and return how many were dropped."""
    excess = max(0, len(buffer) + len(data) - limit)
    del buffer[:excess]
    buffer += data[max(0, len(data) - limit) :]
    return excess


def _whole(data: bytearray) -> bytearray:
    """Return the bytes without the rest of a character whose beginning was cut off."""
    start = 0
    while start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:]
