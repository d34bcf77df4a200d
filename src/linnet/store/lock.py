"""Who may write to a session file: one process at a time, for as long as it lives.

The kernel holds the lock for whoever has the file open, and lets go of it when that process is gone, however it went.
So there is no lock file, and none that could be left behind.
"""

import errno
import fcntl
import os
from contextlib import suppress

_UNSUPPORTED = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


def lock(fd: int) -> bool:
    """Whether it could be had. Where a file system has no locks, it can; what others write is noticed all the same."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    return True


def unlock(fd: int) -> None:
    with suppress(OSError):
        fcntl.flock(fd, fcntl.LOCK_UN)


def holder(fd: int) -> int:
    """The process that has the lock; 0 if that cannot be told."""
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
    """Some file systems are called otherwise there than by `stat`."""
    return fields[4] == str(os.getpid()) and fields[5].endswith(f":{inode}")
