"""Shows a watch: in one line that rewrites itself on a terminal, else in a line for each change."""

import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Condition, Thread
from typing import Final

from linnet.core.text.terminal_text import one_line
from linnet.monitor.describe import describe, snapshot
from linnet.monitor.tap import put
from linnet.monitor.watch import Watch
from linnet.wire.jsonl import encode_lines

MOST_WAITING: Final = 10_000  # Lines of JSON.
_PACE: Final = 1.0  # Seconds between two lines for people.
_PATIENCE: Final = 2.0  # Seconds to wait for a reader of the last line.


class Board:
    """Writes in a thread of its own, so that a reader who is slow, or gone, never slows the agent.

    Changes that nobody reads are dropped, the oldest first, and `lost` in the next line of JSON says how many.
    """

    def __init__(self, watch: Watch, now: Callable[[], float], fd: int = 2, json: bool = False) -> None:
        """`now` returns the time as the watch's events have it."""
        self._watch = watch
        self._now = now
        self._fd = fd
        self._json = json
        self._terminal = not json and os.isatty(fd)
        self._changed = Condition()
        self._waiting: deque[bytes] = deque()
        self._lost = 0
        self._dirty = False
        self._closed = False
        self._thread = Thread(target=self._show, name="linnet-board", daemon=True)
        self._thread.start()

    def change(self) -> None:
        """Have it shown that the watch is in another state. Never waits for the reader."""
        line = self._line() if self._json else b""
        with self._changed:
            if self._json:
                self._waiting.append(line)
                if len(self._waiting) > MOST_WAITING:
                    self._waiting.popleft()
                    self._lost += 1
            self._dirty = True
            self._changed.notify()

    def close(self) -> None:
        """Show the last state, and end the thread; a reader who is too slow for that is not waited for."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(_PATIENCE)

    def _line(self) -> bytes:
        return encode_lines([snapshot(self._watch)])

    def _show(self) -> None:
        """Write until it is closed, or nobody reads any more. Runs in the board's thread."""
        with suppress(OSError):  # Nobody reads it any more.
            closed = False
            while not closed:
                with self._changed:
                    self._changed.wait_for(lambda: self._dirty or self._closed, _PACE if self._terminal else None)
                    closed, self._dirty = self._closed, False
                    waiting, lost = list(self._waiting), self._lost
                    self._waiting.clear()
                    self._lost = 0
                self._write(waiting, lost, closed)
                if not self._json and not closed:
                    with self._changed:  # The pace; the end does not wait for it.
                        self._changed.wait_for(lambda: self._closed, _PACE / 10 if self._terminal else _PACE)

    def _write(self, waiting: list[bytes], lost: int, closed: bool) -> None:
        """Write the lines that wait, or the one line for people. Raises OSError."""
        if self._json:
            missing = [encode_lines([{"lost": lost}])] if lost else []
            put(self._fd, b"".join([*missing, *waiting]))
            return
        text = one_line(describe(self._watch, self._now()))
        if self._terminal:
            with suppress(OSError):
                text = text[: (os.get_terminal_size(self._fd).columns or 80) - 1]
            put(self._fd, f"\r\x1b[K{text}{chr(10) if closed else ''}".encode())
        else:
            put(self._fd, f"linnet monitor: {text}\n".encode())
