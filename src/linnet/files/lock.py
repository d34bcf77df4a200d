"""Locks files, so that one process writes at a time: to a session for as long as it is open, to others for a change.

The kernel holds the lock for whoever has the file open, and lets go of it when that process is gone, however it went.
So there is no lock file, and none that could be left behind.
"""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from linnet.errors import ConfigError
from linnet.files.folders import make

PATIENCE = 10.0  # Seconds; a change takes milliseconds.
_UNSUPPORTED = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


def lock(fd: int) -> bool:
    """Lock an open file, and return whether we have the lock now. Where a file system has no locks we do: what others
    write is noticed anyway. Raises OSError.
    """
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    return True


def unlock(fd: int) -> None:
    """Let go of the lock, also for processes that were forked off with the file. Never raises OSError."""
    with suppress(OSError):
        fcntl.flock(fd, fcntl.LOCK_UN)


@contextmanager
def changing(path: str, *, private: bool = True) -> Iterator[None]:
    """Keep others out while the body reads a file, changes what it says and writes it.

    What is locked is the folder: a file that is replaced is another one each time. A missing folder is made; if
    `private`, for its owner alone.

    Raises ConfigError if somebody else takes too long, or OSError.
    """
    folder = os.path.dirname(os.path.realpath(path))
    make(folder, 0o700 if private else 0o777)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _wait_for(fd, path)
        yield
    finally:
        os.close(fd)


def _wait_for(fd: int, path: str) -> None:
    from time import monotonic, sleep

    until = monotonic() + PATIENCE
    while not lock(fd):
        if monotonic() > until:
            who = holder(fd)
            raise ConfigError(f"{path} is being changed by {f'process {who}' if who else 'another process'}; try again")
        sleep(0.005)


def holder(fd: int) -> int:
    """Return the process that has the lock; 0 if that cannot be told."""
    about = os.fstat(fd)
    place = f"{os.major(about.st_dev):02x}:{os.minor(about.st_dev):02x}:{about.st_ino}"
    try:
        with open("/proc/locks") as file:
            for line in file:
                fields = line.split()
                if fields[1:2] == ["FLOCK"] and (place in fields or _is_ours(fields, about.st_ino)):
                    return int(fields[4])
    except (OSError, ValueError, IndexError):
        pass
    return 0


def _is_ours(fields: list[str], inode: int) -> bool:
    """Return whether a line of /proc/locks is about a lock of this process on this inode. Some file systems have
    another device number there than `stat` gives.
    """
    return fields[4] == str(os.getpid()) and fields[5].endswith(f":{inode}")
