"""What starts the tests may ignore signals, as nohup and the background of a script do, or block them. All that they
start in turn would do the same, and those that are told to end would not.
"""

import signal
from typing import Any

import pytest

PYTHONS_OWN = {signal.SIGPIPE, signal.SIGXFSZ}


class Ignored:
    """Tells the processes that run a part of the tests what else they are to ignore."""

    def __init__(self, numbers: list[int]) -> None:
        self._numbers = numbers

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["ignored"] = self._numbers


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """A handler is not inherited: what was ignored still is by those who run the tests, and by nothing they start."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    known = signal.valid_signals() - PYTHONS_OWN
    ignored = [int(number) for number in known if signal.getsignal(number) is signal.SIG_IGN]
    if hasattr(config, "workerinput"):
        ignored += config.workerinput["ignored"]
    else:
        config.pluginmanager.register(Ignored(ignored))
    for number in ignored:
        signal.signal(number, lambda number, frame: None)
