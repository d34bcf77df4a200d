"""What the agent does when a command turns against supervisor and reapers: it may stop them, or kill them.

They run as the same user, so nothing forbids it. Stopped ones are told to go on; the kernel tells them, too, when
whoever is above them dies. Where that does not help, the agent kills what is below them by itself. And where it is a
process of its own, it is a subreaper too: what has neither supervisor nor reaper any more becomes its child.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from select import POLLIN, poll
from signal import SIGCONT, SIGKILL
from time import monotonic, sleep

from linnet.processes.descendants import below, contents, groups_of, kill_group, listed_children

SHORTEST_PAUSE, LONGEST_PAUSE = 0.002, 0.1


def resume(supervisor: int) -> None:
    """Have the supervisor go on, and its reapers, if somebody stopped them."""
    for pid in (supervisor, *listed_children(supervisor)):
        with suppress(OSError):
            os.kill(pid, SIGCONT)


def kill_below(root: int, patience: float) -> bool:
    """Kill everybody below a process, and not itself, as long as patience lasts. True if nobody is left.

    It need not do anything about that, and may be stopped; but orphans must go to it.
    """
    return _until_none(lambda: below([root]), patience)


def kill_adopted(spared: int | None, patience: float) -> bool:
    """Kill what has become a child of this process, and all below it. True if nobody is left.

    What this process started is in its session, but for the supervisor that is `spared`; no command's processes are.
    """
    return _until_none(lambda: _adopted(spared), patience)


def wait_for_end(process: int) -> bool:
    """Block until a child of ours has ended, without reaping it. False where that cannot be seen."""
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
    """Return our adopted children, and all below them. Those that had ended before are reaped, and not among them."""
    for pid in _adopted_children(spared):
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
    found = _adopted_children(spared)
    return [*found, *below(found)]


def _adopted_children(spared: int | None) -> list[int]:
    session = os.getsid(0)
    found = []
    for pid in listed_children(os.getpid()):
        with suppress(ProcessLookupError):
            if pid != spared and os.getsid(pid) != session:
                found.append(pid)
    return found


def _until_none(look: Callable[[], list[int]], patience: float) -> bool:
    """Kill whoever `look` finds until it finds nobody, or only the dead that it had found dead before.

    Whoever dies during a look may leave children where that look has been already; the next one finds them.
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
    """A zombie is not; its parent may be stopped, and cannot take leave of it."""
    fields = contents(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return bool(fields) and fields[0] not in (b"Z", b"X")
