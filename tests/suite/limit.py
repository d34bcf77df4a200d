"""No test goes on for ever: when its time is up it fails, shows what every thread was doing, and the next one runs.

`@pytest.mark.timeout(seconds)` is for those that need more time than most. What a signal cannot interrupt ends its
process, which pytest sees to (`faulthandler_timeout` in pyproject.toml); others take over what that had left.
"""

import signal
import sys
import threading
import traceback
from collections.abc import Generator
from types import FrameType

import pytest

from tests.suite.times import patience

SECONDS = 120.0  # Many times what the slowest takes: a busy machine is no failure.


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"timeout(seconds): the time that a test has, if not {SECONDS:g} s.")


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
