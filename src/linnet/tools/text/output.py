"""What a command printed: its end in memory, all of it in a file if it is long, and the news of it while it runs."""

import os
from codecs import utf_8_decode
from collections.abc import Callable
from time import monotonic

from linnet.tools.text.truncate import MAX_BYTES, MAX_LINES, Kept, keep_tail

INTERVAL = 0.05
MAX_NEWS = 16 * 1024
# A character more than can be shown, since the first one may turn out to be half of one.
KEEP = MAX_BYTES + 4


class CommandOutput:
    """Invariant: memory stays bounded however much is fed, and a character never comes in two halves.

    `path` names the file that has every byte, once there is more than can be shown; `problem` says why there is none.
    """

    def __init__(
        self, progress: Callable[[str], None], clock: Callable[[], float] = monotonic, folder: str | None = None
    ) -> None:
        """`folder`: where the file is to be; without one, where temporary files are."""
        self.total = 0
        self.path: str | None = None
        self.problem = ""
        self._progress = progress
        self._clock = clock
        self._folder = folder
        self._tail = bytearray()
        self._lines = 0
        self._is_long = False
        self._file: int | None = None
        self._news = bytearray()
        self._skipped = 0
        self._is_new = False
        self._next = 0.0

    def feed(self, data: bytes) -> None:
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
        """Report what is new if it is time to; otherwise, in how many seconds it will be."""
        if not self._is_new:
            return None
        now = self._clock()
        if now < self._next:
            return self._next - now
        self._next = now + INTERVAL
        self._report(final=False)
        return None

    def finish(self) -> Kept:
        """Report the rest, and give what can be shown."""
        self._report(final=True)
        text = _whole(self._tail) if self.total > len(self._tail) else self._tail
        kept = keep_tail(text.decode("utf-8", "replace"))
        if kept.cut_bytes and not self._is_long:  # Bytes that are not UTF-8 take more room once replaced.
            self._spill()
        return kept

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _report(self, *, final: bool) -> None:
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
        from tempfile import mkstemp  # 5 ms that only long output should pay for.

        self._is_long = True
        try:
            self._file, self.path = mkstemp(prefix="linnet-bash-", suffix=".log", dir=self._folder)
        except OSError as error:
            self.problem = error.strerror or str(error)
        self._write(self._tail)

    def _write(self, data: bytes | bytearray) -> None:
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
    """Keep the last `limit` bytes; says how many were dropped."""
    excess = max(0, len(buffer) + len(data) - limit)
    del buffer[:excess]
    buffer += data[max(0, len(data) - limit) :]
    return excess


def _whole(data: bytearray) -> bytearray:
    """Without the rest of a character whose beginning was cut off."""
    start = 0
    while start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:]
