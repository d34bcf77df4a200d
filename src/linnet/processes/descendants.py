"""Finds, reaps and kills the descendants of this process.

The supervisor and its reapers import it, so it imports as little as they do: see `supervisor`.
"""

# ruff: noqa: SIM105 (`contextlib` takes longer to import than all of this)

import _signal as signal  # type: ignore[import-not-found]
import os
import select
import sys
from _collections_abc import Callable

CHILD_SUBREAPER = 36
PARENT_DEATH_SIGNAL = 1
# Milliseconds between two looks at processes that were killed and are still there: at first, and at most.
SHORTEST_PAUSE, LONGEST_PAUSE = 5, 1000


def adopt_orphans() -> bool:
    """Become a subreaper, and return whether we are one.

    False where the system has none, or has no /proc by which orphans could be told apart.
    """
    return os.path.exists("/proc/self/task") and _prctl(CHILD_SUBREAPER, 1)


def go_on_when_parent_dies() -> None:
    """Have the kernel send us SIGCONT when our parent dies.

    A command may have stopped us, and then nobody is left who would tell us to go on.
    """
    _prctl(PARENT_DEATH_SIGNAL, signal.SIGCONT)


def _prctl(option: int, value: int) -> bool:
    """Set an option of this process, and return whether that worked."""
    if sys.platform != "linux":
        return False
    try:
        from _ctypes import call_function, dlopen, dlsym

        prctl = dlsym(dlopen(None, os.RTLD_NOW), "prctl")  # type: ignore[arg-type]  # None is this program.
        return bool(call_function(prctl, (option, int(value), 0, 0, 0)) == 0)
    except (ImportError, OSError):
        return False


class ChildExits:
    """A pipe that becomes readable when a child has ended. A process has one at most: it takes over SIGCHLD."""

    def __init__(self) -> None:
        self.fds = os.pipe()
        self.fd = self.fds[0]
        """The end to poll."""
        for fd in self.fds:
            os.set_blocking(fd, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.fds[1], warn_on_full_buffer=False)

    def wait(self, milliseconds: int) -> bool:
        """Wait for the end of a child, so long at most. Return whether there was one since the last `clear`."""
        poller = select.poll()
        poller.register(self.fd, select.POLLIN)
        return bool(poller.poll(milliseconds))

    def clear(self) -> None:
        """Empty the pipe. To be called before children are reaped, or the end of one would go unnoticed."""
        try:
            while os.read(self.fd, 4096):
                pass
        except BlockingIOError:
            pass


def reap_children() -> tuple[dict[int, int], bool]:
    """Reap all children that have ended. Return their statuses by process id, and whether there are others."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended, False
        if not pid:
            return ended, True
        ended[pid] = status


def wait_for(child: int) -> None:
    """Reap this child, once it has ended; return at once if it was reaped already."""
    try:
        os.waitpid(child, 0)
    except ChildProcessError:
        pass


def kill_everyone(exits: ChildExits) -> None:
    """Kill and reap our descendants until there is nobody left."""
    pause = SHORTEST_PAUSE
    reap_children()
    while kill_children(set()):
        pause = SHORTEST_PAUSE if exits.wait(pause) else min(pause * 2, LONGEST_PAUSE)
        exits.clear()
        reap_children()


def kill_children(spared: set[int]) -> bool:
    """Kill our children and all below them, but for the children that are `spared`. Return whether there were any.

    To be called until there are none: a look down a tree may miss a process whose parent dies meanwhile. But whoever is
    missed has an ancestor among our children, which is killed, and then becomes our child in turn: the list of our own
    children has no gaps, because nobody but us removes anyone from it.
    """
    found = family(spared)
    for group in groups_of(found):  # First: the kernel kills a group at once, which nothing that forks can outrun.
        kill_group(group)
    for pid in found:
        try:
            os.kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
    return bool(found)


def kill_group(group: int) -> None:
    """Kill every process of a group that is still there and that we may kill."""
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def groups_of(pids: list[int]) -> set[int]:
    """Return the process groups of these processes, but for our own.

    They hold nothing but our descendants: a group never leaves its session, and each command began one.
    """
    groups = set()
    for pid in pids:
        try:
            groups.add(os.getpgid(pid))
        except ProcessLookupError:
            pass
    return groups - {os.getpgrp()}


def group_exists(group: int) -> bool:
    """Return whether any process is in this group."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def family(spared: set[int]) -> list[int]:
    """Return our children but for those that are `spared`, their children, and so on; none where there is no /proc."""
    children = _lister()
    ours = [pid for pid in children(os.getpid()) if pid not in spared]
    return [*ours, *below(ours)]


def below(pids: list[int]) -> list[int]:
    """Return the children of these processes, their children, and so on."""
    children = _lister()
    found: list[int] = []
    todo = [child for pid in pids for child in children(pid)]
    while todo:
        found += todo
        todo = [child for pid in todo for child in children(pid)]
    return found


def _lister() -> Callable[[int], list[int]]:
    """Return the function by which the children of a process are found on this system."""
    return listed_children if lists_children() else children_by_parent()


def lists_children() -> bool:
    """Return whether the kernel lists the children of each thread."""
    return os.path.exists("/proc/thread-self/children")  # A kernel option; nearly all have it, sandboxes may not.


def listed_children(pid: int) -> list[int]:
    """Return the children of a process, by the kernel's lists; none if it is gone."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    return [int(child) for thread in threads for child in contents(f"/proc/{pid}/task/{thread}/children").split()]


def children_by_parent() -> Callable[[int], list[int]]:
    """Return a function like `listed_children` that answers from one look at all processes."""
    families: dict[int, list[int]] = {}
    try:
        pids = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        pids = []
    for pid in pids:
        # The name before the last parenthesis may hold anything, spaces and parentheses too.
        fields = contents(f"/proc/{pid}/stat").rpartition(b")")[2].split()
        if len(fields) > 1:
            families.setdefault(int(fields[1]), []).append(int(pid))
    return lambda pid: families.get(pid, [])


def contents(path: str) -> bytes:
    """Return what is in a file of /proc; nothing if its process is gone."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        parts = []
        while part := os.read(fd, 1 << 16):
            parts.append(part)
        return b"".join(parts)
    except OSError:
        return b""
    finally:
        os.close(fd)
