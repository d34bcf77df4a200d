"""How the main thread is woken: by a signal, by the end of a run, by a change in whoever reads."""

import os
import select
import signal
from contextlib import suppress
from types import FrameType


class Wakeup:
    """A handler only notes the signal and wakes; what must be done about it is done by the thread that waits."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self.signal = 0

    def wake(self) -> None:
        with suppress(BlockingIOError):  # There is a wake-up in it that nobody has taken yet.
            os.write(self._write, b".")

    def on_signals(self) -> None:
        def note(number: int, frame: FrameType | None) -> None:
            self.signal = number

        signal.signal(signal.SIGTERM, note)
        for number in (signal.SIGINT, signal.SIGHUP):
            # `nohup`, and a shell that starts something in its background, have them ignored: that stays.
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, note)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)

    def wait(self, source: int | None = None, *, block: bool = True, seconds: float | None = None) -> bool:
        """Until somebody wakes it or `source` has something to read, or `seconds` are over; true in the second case."""
        poll = select.poll()
        poll.register(self._read, select.POLLIN)
        if source is not None:
            poll.register(source, select.POLLIN)
        ready = [fd for fd, _ in poll.poll((None if seconds is None else seconds * 1000) if block else 0)]
        if self._read in ready:
            os.read(self._read, 4096)
        return source in ready
