"""Lets one thread wait for input, for signals, and for other threads that wake it."""

import _signal  # type: ignore[import-not-found]  # As in `cli/entry_points.py`.
import os
import select
from contextlib import suppress
from types import FrameType


class Wakeup:
    """One thread calls `wait`, `heed` and `forget`; any thread may call `wake`. The handler of a signal only notes it
    and wakes: the thread that waits does what must be done.
    """

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._poll = select.poll()
        self._poll.register(self._read, select.POLLIN)
        self.signal = 0  # The number of the last one that came; 0 if none did.

    def wake(self) -> None:
        """Have `wait` return, now or when it is next called. Never blocks."""
        with suppress(BlockingIOError):  # There is a wake-up in it that nobody has taken yet.
            os.write(self._write, b".")

    def fileno(self) -> int:
        """Return what to poll for a wake-up, where something else does the waiting."""
        return self._read

    def clear(self) -> None:
        """Take the wake-ups that have come."""
        os.read(self._read, 4096)

    def on_signals(self) -> None:
        """Note from now on the signals that ask for an end. Called in the main thread."""

        def note(number: int, frame: FrameType | None) -> None:
            self.signal = number

        _signal.signal(_signal.SIGTERM, note)
        for number in (_signal.SIGINT, _signal.SIGHUP):
            # `nohup`, and a shell that starts something in its background, have them ignored: that stays.
            if _signal.getsignal(number) != _signal.SIG_IGN:
                _signal.signal(number, note)
        _signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)

    def heed(self, source: int) -> None:
        """Have `wait` return also when there is something to read from `source`."""
        self._poll.register(source, select.POLLIN)

    def forget(self, source: int) -> None:
        """Undo `heed`. Idempotent."""
        with suppress(KeyError):
            self._poll.unregister(source)

    def wait(self, seconds: float | None = None) -> list[int]:
        """Wait until some thread calls `wake`, a signal comes, there is something to read, or `seconds` are over.
        Return the sources that have something to read; the end of input counts.
        """
        ready = [fd for fd, _ in self._poll.poll(None if seconds is None else seconds * 1000)]
        if self._read in ready:
            ready.remove(self._read)
            os.read(self._read, 4096)
        return ready

    def is_ready(self) -> bool:
        """Return whether `wait` would return at once, with a source that has something to read."""
        return any(fd != self._read for fd, _ in self._poll.poll(0))

    @staticmethod
    def has(source: int) -> bool:
        """Return whether there is something to read from `source`."""
        poll = select.poll()
        poll.register(source, select.POLLIN)
        return bool(poll.poll(0))
