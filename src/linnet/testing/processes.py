"""Looks for processes on this machine, for tests that must leave nothing behind."""

import time
from collections.abc import Callable
from pathlib import Path


def alive(pid: int) -> bool:
    """Return whether a process is running, and is not a zombie that waits for its parent."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def marked(*texts: str) -> list[int]:
    """Return the living processes that have all of these texts in their environment and command line."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "environ").read_bytes() + (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if all(text.encode() in words for text in texts) and alive(int(folder.name)):
            found.append(int(folder.name))
    return found


def wait_until(condition: Callable[[], bool], timeout: float = 60.0) -> None:
    """Wait until a condition is true. Raises TimeoutError.

    For what no file descriptor can announce, such as the end of a process that is not our child.
    """
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the condition never came true")
        time.sleep(0.002)
