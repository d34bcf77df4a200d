"""What /proc says of processes. Where there is no /proc, it says nothing. Nothing is started or ended here."""

import os
from collections.abc import Callable
from functools import cache


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
    """As it was when the program started. Empty for a zombie, a stranger, or a process that is gone."""
    return _contents(f"/proc/{pid}/environ")


def session(pid: int) -> int:
    """0 for a kernel thread or a process that is gone."""
    try:
        return os.getsid(pid)
    except OSError:
        return 0


def exists(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")


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
