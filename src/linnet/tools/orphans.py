"""Descendants whose parents died, in a process that the system gives them to."""

import os
import sys
from collections.abc import Container, Iterable, Iterator
from time import monotonic

from linnet.tools import proc, tree

# How long a child that ended may lie unclaimed before it is taken for an orphan. Whoever started it would have
# asked how it ended by then.
UNCLAIMED = 5.0


class Orphans:
    """Invariant: a child that other code in this process started is never waited for on its behalf.

    Such a child is in our session or leads its own. One in any other session was left to us. For a leader, the mark in
    its environment decides, or how long it lies about once it has ended: the dead have no environment.
    """

    def __init__(self, mark: str) -> None:
        self._mark = mark.encode()
        self._known: set[int] = set()
        self._unclaimed: dict[int, float] = {}

    @staticmethod
    def adopt() -> None:
        """From now on the system gives them to us. It changes the whole process, and only Linux can do it."""
        if sys.platform == "linux":
            from ctypes import CDLL  # 2 ms that only a run with commands should pay for.

            set_child_subreaper = 36
            CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)

    def add(self, pids: Iterable[int]) -> None:
        self._known.update(pids)

    def look(self, running: Container[int]) -> set[int]:
        """All that are known, with those that have come since. `running` has the numbers of unfinished commands:
        while one is, a marked child may be the command itself."""
        self._known.update(self._newcomers(running))
        return set(self._known)

    def bury(self, running: Container[int]) -> None:
        self._known = tree.bury(self.look(running), patience=0)

    def _newcomers(self, running: Container[int]) -> Iterator[int]:
        ours = os.getsid(0)
        unclaimed, self._unclaimed = self._unclaimed, {}
        for pid in proc.children(os.getpid()):
            session = proc.session(pid)
            if session != pid:
                if session not in (ours, 0):
                    yield pid
                continue
            number = proc.environment(pid).partition(self._mark)[2].partition(b";")[0]
            if number.isdigit():
                if int(number) not in running:
                    yield pid
            elif _has_ended(pid):
                first_seen = self._unclaimed[pid] = unclaimed.get(pid, monotonic())
                if monotonic() - first_seen > UNCLAIMED:
                    yield pid


def _has_ended(child: int) -> bool:
    try:
        return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return False
