"""The descendants of this process: notice that they ended, find them, kill them. Part of `supervisor`."""

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
    """Become a subreaper. False where there are none, or where nobody could tell us who the orphans are."""
    return os.path.exists("/proc/self/task") and _prctl(CHILD_SUBREAPER, 1)


def go_on_when_parent_dies() -> None:
    """A command may have stopped us. When nobody is left who could tell us to go on, the kernel does."""
    _prctl(PARENT_DEATH_SIGNAL, signal.SIGCONT)


def _prctl(option: int, value: int) -> bool:
    if sys.platform != "linux":
        return False
    try:
        from _ctypes import call_function, dlopen, dlsym

        prctl = dlsym(dlopen(None, os.RTLD_NOW), "prctl")  # type: ignore[arg-type]  # None is this program.
        return bool(call_function(prctl, (option, int(value), 0, 0, 0)) == 0)
    except (ImportError, OSError):
        return False


class ChildExits:
    """A descriptor that becomes readable when a child has ended."""

    def __init__(self) -> None:
        self.fds = os.pipe()
        self.fd = self.fds[0]
        for fd in self.fds:
            os.set_blocking(fd, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.fds[1], warn_on_full_buffer=False)

    def wait(self, milliseconds: int) -> bool:
        poller = select.poll()
        poller.register(self.fd, select.POLLIN)
        return bool(poller.poll(milliseconds))

    def clear(self) -> None:
        try:
            while os.read(self.fd, 4096):
                pass
        except BlockingIOError:
            pass


def reap_children() -> tuple[dict[int, int], bool]:
    """The statuses of all children that have ended, by process id, and whether there are others."""
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
    """Until it has ended; at once if it was reaped already."""
    try:
        os.waitpid(child, 0)
    except ChildProcessError:
        pass


def kill_everyone(exits: ChildExits) -> None:
    """Kill and reap until there is nobody left."""
    pause = SHORTEST_PAUSE
    reap_children()
    while kill_children(set()):
        pause = SHORTEST_PAUSE if exits.wait(pause) else min(pause * 2, LONGEST_PAUSE)
        exits.clear()
        reap_children()


def kill_children(spared: set[int]) -> bool:
    """Kill our children and all below them, but for those children that are `spared`. False if there are no others.

    To be called until there are none: a look down a tree may miss somebody whose parent dies meanwhile. But whoever is
    missed has an ancestor among our children, which is killed, and then becomes our child in turn: the list of our own
    children has no gaps, because nobody but us removes anyone from it.
    """
    found = family(spared)
    for group in groups_of(found):  # At once, which nothing that forks can outrun.
        kill_group(group)
    for pid in found:
        try:
            os.kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
    return bool(found)


def kill_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def groups_of(pids: list[int]) -> set[int]:
    """Without our own. All others hold nothing but our descendants: a group never leaves its session, and the command
    began one."""
    groups = set()
    for pid in pids:
        try:
            groups.add(os.getpgid(pid))
        except ProcessLookupError:
            pass
    return groups - {os.getpgrp()}


def group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def family(spared: set[int]) -> list[int]:
    """Our children but for those that are `spared`, their children, and so on. Nobody where there is no /proc."""
    children = _lister()
    ours = [pid for pid in children(os.getpid()) if pid not in spared]
    return [*ours, *below(ours)]


def below(pids: list[int]) -> list[int]:
    """The children of these processes, their children, and so on."""
    children = _lister()
    found: list[int] = []
    todo = [child for pid in pids for child in children(pid)]
    while todo:
        found += todo
        todo = [child for pid in todo for child in children(pid)]
    return found


def _lister() -> Callable[[int], list[int]]:
    return listed_children if lists_children() else children_by_parent()


def lists_children() -> bool:
    return os.path.exists("/proc/thread-self/children")  # A kernel option; nearly all have it, sandboxes may not.


def listed_children(pid: int) -> list[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    return [int(child) for thread in threads for child in contents(f"/proc/{pid}/task/{thread}/children").split()]


def children_by_parent() -> Callable[[int], list[int]]:
    """The same from one look at everybody."""
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
    """Empty if the process is gone."""
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
