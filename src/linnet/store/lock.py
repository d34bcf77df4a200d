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
    """Return whether we have it now. Where a file system has no locks we do; what others write is noticed anyway."""
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
    """Some file systems have another device number in /proc/locks than `stat` gives; then process and inode decide."""
    return fields[4] == str(os.getpid()) and fields[5].endswith(f":{inode}")
