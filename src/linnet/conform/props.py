"""What scenes of several protocols use: an image, calls of tools, and whether what those started is gone."""

import time

from linnet.conform.play import PAUSE, Play

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
CALLS = '!tools [["bash",{"command":"echo $$ > pid; sleep 300"}],["bash",{"command":"echo ran > second"}]]'
"""Two calls: the first one writes its process id and never ends by itself, the second one writes a file."""


def is_running(pid: str) -> bool:
    """Return whether a process runs, and is no zombie."""
    try:
        with open(f"/proc/{int(pid)}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (OSError, ValueError):
        return False


def gone_soon(play: Play, pid: str, seconds: float = 2.0) -> bool:
    """Return whether a process ends within so many seconds: a kernel may take a moment to end what was killed."""
    end = time.monotonic() + seconds
    while is_running(pid) and time.monotonic() < end:
        time.sleep(PAUSE)
    return not is_running(pid)
