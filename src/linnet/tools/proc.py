"""What /proc says of processes. Where there is no /proc, it says nothing. Nothing is started or ended here."""

import os
from collections.abc import Callable
from functools import cache
from time import sleep


def descendants(root: int) -> list[int]:
    """Children, their children, and so on; not `root` itself."""
    children = _listed_children if _lists_children() else _children_by_parent()
    found: list[int] = []
    todo = [root]
    while todo:
        pids = children(todo.pop())
        found += pids
        todo += pids
    return found


def children(pid: int) -> list[int]:
    return _listed_children(pid) if _lists_children() else _children_by_parent()(pid)


def everyone() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def environment(pid: int) -> bytes:
    """As it was when the program started. Empty for a zombie, a stranger, or a process that is gone.

    It also seems empty for the moment in which a process changes from one program to the next. That is waited for:
    whoever was overlooked then would get away.
    """
    for _ in range(500):
        found = _contents(f"/proc/{pid}/environ")
        if found or not _has_program(pid):
            return found
        if _contents(f"/proc/{pid}/cmdline"):  # It is there now, and so is its environment, if it has one.
            return _contents(f"/proc/{pid}/environ")
        sleep(0.0001)
    return b""


def session(pid: int) -> int:
    """0 for a kernel thread or a process that is gone."""
    try:
        return os.getsid(pid)
    except OSError:
        return 0


def exists(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")


def _has_program(pid: int) -> bool:
    """Zombies and kernel threads have none, and a stranger's is not ours to know."""
    try:
        return bool(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return False


@cache
def _lists_children() -> bool:
    return os.path.exists("/proc/thread-self/children")  # A kernel option; nearly all have it, sandboxes may not.


def _listed_children(pid: int) -> list[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    return [int(child) for thread in threads for child in _contents(f"/proc/{pid}/task/{thread}/children").split()]


def _children_by_parent() -> Callable[[int], list[int]]:
    families: dict[int, list[int]] = {}
    for pid in everyone():
        # The name before the last parenthesis may hold anything, spaces and parentheses too.
        fields = _contents(f"/proc/{pid}/stat").rpartition(b")")[2].split()
        if len(fields) > 1:
            families.setdefault(int(fields[1]), []).append(pid)
    return lambda pid: families.get(pid, [])


def _contents(path: str) -> bytes:
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
