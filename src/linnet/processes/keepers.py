"""Defends the supervisor and its reapers against a command that stops or kills them. Runs in the agent.

Commands run as the same user, so nothing forbids it. Stopped ones are told to go on; the kernel tells them, too, when
whoever is above them dies. Where that does not help, the agent itself kills what is below them. And where it is a
process of its own, it is a subreaper too: what has neither supervisor nor reaper any more becomes its child.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from select import POLLIN, poll
from signal import SIGCONT, SIGKILL
from time import monotonic, sleep

from linnet.processes.descendants import below, contents, groups_of, kill_group, listed_children

SHORTEST_PAUSE, LONGEST_PAUSE = 0.002, 0.1  # Seconds between two looks at who is left.


def resume(supervisor: int) -> None:
    """Send SIGCONT to the supervisor and to its reapers, in case somebody stopped them."""
    for pid in (supervisor, *listed_children(supervisor)):
        with suppress(OSError):
            os.kill(pid, SIGCONT)


def kill_below(root: int, patience: float) -> bool:
    """Kill everybody below a process, and not itself, for at most `patience` seconds. Return whether nobody is left.

    The process itself need not help, and may be stopped; but it must be a subreaper, or orphans would get away.
    """
    return _until_none(lambda: below([root]), patience)


def kill_adopted(spared: int | None, patience: float) -> bool:
    """Kill orphans of commands that have become our children, and all below them. Return whether nobody is left.

    They are told by their session: what this process itself started is in its own, but for the supervisor, which is
    `spared`, and no process of a command is.
    """
    return _until_none(lambda: _adopted(spared), patience)


def wait_for_end(process: int) -> bool:
    """Block until a child of ours has ended, without reaping it. Return False where the system cannot tell us."""
    try:
        fd = os.pidfd_open(process)
    except (AttributeError, OSError):
        return False
    try:
        poller = poll()
        poller.register(fd, POLLIN)
        poller.poll()
        return True
    finally:
        os.close(fd)


def _adopted(spared: int | None) -> list[int]:
    """Reap our adopted children that have ended. Return the others, and all below them."""
    # One by one: `waitpid(-1)` would take children of others in this process from under them.
    for pid in _adopted_children(spared):
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
    found = _adopted_children(spared)
    return [*found, *below(found)]


def _adopted_children(spared: int | None) -> list[int]:
    """Return our children in other sessions than ours, but for the supervisor."""
    session = os.getsid(0)
    found = []
    for pid in listed_children(os.getpid()):
        with suppress(ProcessLookupError):
            if pid != spared and os.getsid(pid) != session:
                found.append(pid)
    return found


def _until_none(look: Callable[[], list[int]], patience: float) -> bool:
    """Kill whoever `look` finds until it finds nobody, or only zombies that it had found before.

    Returns whether that came true within `patience` seconds. One look is not enough: whoever dies during it may leave
    children where it has been already, and only the next one finds them.
    """
    deadline = monotonic() + patience
    pause = SHORTEST_PAUSE
    known_dead: set[int] = set()
    while True:
        found = look()
        living = [pid for pid in found if _is_alive(pid)]
        if not living and known_dead.issuperset(found):
            return True
        known_dead = {*found}.difference(living)
        for group in groups_of(living):
            kill_group(group)
        for pid in living:
            with suppress(OSError):
                os.kill(pid, SIGKILL)
        if monotonic() > deadline:
            return False
        if living:
            sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)


def _is_alive(pid: int) -> bool:
    """Return whether a process runs. A zombie does not: it stays while its parent is stopped and cannot reap it."""
    fields = contents(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return bool(fields) and fields[0] not in (b"Z", b"X")
