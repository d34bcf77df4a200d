"""No test goes on for ever: when its time is up it fails, shows what every thread was doing, and the next one runs.

`@pytest.mark.timeout(seconds)` is for those that need more time than most. What a signal cannot interrupt ends its
process, and shows as much; others take over what that had left. pytest's own `faulthandler_timeout` would do that, too,
but starts a thread for each test and waits a millisecond for its end: here one goes on for as long as a minute.
"""

import faulthandler
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Generator
from types import FrameType

import pytest

from tests.suite.times import patience

SECONDS = 120.0  # Many times what the slowest takes: a busy machine is no failure.


class Watch:
    """Ends the process when no test has begun for a long time."""

    SECONDS = 600.0
    OFTEN = 60.0

    def __init__(self) -> None:
        assert sys.__stderr__
        self._stderr = os.dup(sys.__stderr__.fileno())  # While tests run, theirs is another.
        self._began = -self.OFTEN

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self) -> None:
        if (now := time.monotonic()) - self._began >= self.OFTEN:
            self._began = now
            faulthandler.dump_traceback_later(patience(self.SECONDS), file=self._stderr, exit=True)

    @pytest.hookimpl(trylast=True)
    def pytest_exception_interact(self) -> None:
        """pytest has stopped it, in case somebody wants to look at what was raised."""
        self._began = -self.OFTEN

    def pytest_unconfigure(self) -> None:
        faulthandler.cancel_dump_traceback_later()
        os.close(self._stderr)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"timeout(seconds): the time that a test has, if not {SECONDS:g} s.")
    config.pluginmanager.register(Watch())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Over all of a test, what is prepared for it and what is cleaned up after it: either may hang as well."""
    mark = item.get_closest_marker("timeout")
    seconds = patience(float(mark.args[0]) if mark else SECONDS)

    def ring(number: int, frame: FrameType | None) -> None:
        pytest.fail(f"It did not end within {seconds:g} s.\n{stacks(frame)}", pytrace=False)

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        return (yield)
    finally:
        _stop()


def pytest_enter_pdb() -> None:
    """People think longer."""
    _stop()


def stacks(frame: FrameType | None) -> str:
    """Return where this thread was, in `frame`, and where the others are."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    frames = {**sys._current_frames(), threading.get_ident(): frame}
    return "\n".join(
        f"Thread {names.get(ident, ident)}:\n{''.join(traceback.format_stack(at, limit=16))}"
        for ident, at in frames.items()
    )


def _stop() -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
