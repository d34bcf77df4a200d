"""Ending a tree of processes so that nothing of it is left, whatever it did to get away."""

import os
import signal
from collections.abc import Callable, Iterable
from contextlib import suppress
from time import monotonic

from linnet.tools import proc

# Every round kills all that was found in it, so only a tree that forks faster than we walk needs many.
ROUNDS = 100


def strike(root: int) -> set[int]:
    """The first blow at the session that `root` leads: quick, and enough for whatever did not try to get away.

    Who the descendants are is asked first: a child that left the group and whose parent then dies is nobody's
    descendant any more.
    """
    family = proc.descendants(root)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(root, signal.SIGKILL)
    return _kill(family)


def sweep(
    candidates: Callable[[], Iterable[int]],
    belongs: Callable[[int], bool],
    dead: set[int],
    *,
    until_still: bool = False,
) -> None:
    """Kill who belongs, and their descendants, until a look around finds nobody. `dead` gains their ids.

    That suffices if a look around misses nobody: once a process has been sent SIGKILL it forks no more. A walk down
    a tree does miss one whose parent dies during the walk; with `until_still` the last look must show no stranger.
    """
    seen: set[int] = set()
    for _ in range(ROUNDS):
        around = set(candidates())
        found = {pid for pid in around - dead if belongs(pid)}
        if not found and (around <= seen or not until_still):
            return
        seen = around
        found.update(child for pid in tuple(found) for child in proc.descendants(pid))
        dead |= _kill(found - dead)


def bury(pids: Iterable[int], patience: float) -> set[int]:
    """Reap those that are our children; returns those that still exist when patience is over."""
    deadline = monotonic() + patience
    left = set()
    for pid in pids:
        while True:
            try:
                gone = os.waitpid(pid, os.WNOHANG)[0] == pid
            except ChildProcessError:
                if proc.exists(pid):  # Its parent is dying too, and will leave it to us or to init.
                    left.add(pid)
                break
            if gone:
                break
            if not _await_exit(pid, deadline - monotonic()):
                left.add(pid)
                break
    return left


def _await_exit(pid: int, seconds: float) -> bool:
    if seconds <= 0 or not hasattr(os, "pidfd_open"):
        return False
    import select

    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:  # Another thread has reaped it.
        return True
    try:
        poller = select.poll()
        poller.register(fd, select.POLLIN)
        return bool(poller.poll(seconds * 1000))
    finally:
        os.close(fd)


def _kill(pids: Iterable[int]) -> set[int]:
    killed = set(pids)
    for pid in killed:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return killed
