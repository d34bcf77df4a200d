"""Replaces files atomically: a reader sees the old file or the new one, and a failure leaves the old.

The new content is written to a file of its own in the same folder, which then takes the name. A process that is killed
between the two leaves that file behind. So each process holds the kernel's lock on its file while that is written, and
whoever writes next in the folder removes the files that nobody holds.
"""

import fcntl
import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress

from linnet.files.folders import make, sync_folder

FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_PREFIX, _LENGTH = ".linnet-", 12  # A short name of its own: the target's may already be as long as a name can be.
_HEX = "0123456789abcdef"


def replace(
    path: str | os.PathLike[str],
    content: bytes | Iterable[bytes],
    *,
    mode: int | None = None,
    durable: bool = False,
    open_folder: Callable[[str], int] | None = None,
) -> None:
    """Replace all of a file. Follows links: the file behind one is replaced, not the link. Missing folders are made.
    Raises OSError.

    `mode` is what the file has afterwards; without it, an old file keeps its own, and a new one's is as the umask says.
    The owner stays, where that can be done. If `durable`, the new file survives a loss of power once this returns.
    `open_folder` is given the file's path without links, and returns a descriptor of its folder.
    """
    try:
        target = os.path.realpath(path)
        folder, name = os.path.split(target)
        at = (open_folder or _made)(target)
    except ValueError as error:  # A NUL in its name.
        raise OSError(None, str(error), path) from None
    try:
        sweep(at)
        _replace_in(at, name, (content,) if isinstance(content, bytes) else content, target, mode, durable)
    finally:
        os.close(at)
    if durable:
        with suppress(OSError):  # Not every file system can do that.
            sync_folder(folder)


def new_file(folder: int, mode: int, flags: int = os.O_WRONLY) -> tuple[str, int]:
    """Return the name of a new file in a folder that is open, and the file, locked. Raises OSError."""
    while True:
        name = _PREFIX + os.urandom(_LENGTH // 2).hex()
        fd = os.open(name, flags | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=folder)
        try:
            with suppress(OSError):  # Where there are no locks, nobody sweeps either.
                fcntl.flock(fd, fcntl.LOCK_EX)
            if os.fstat(fd).st_nlink:
                return name, fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)  # It was swept away before it was locked.


def sweep(folder: int) -> None:
    """Remove what writers that were killed have left in a folder that is open. A writer that lives holds its lock."""
    with suppress(OSError):  # A folder may be one to write in but not to list.
        listing = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
        try:
            left = [name for name in os.listdir(listing) if name.startswith(_PREFIX) and _is_temporary(name)]
        finally:
            os.close(listing)
        for name in left:
            with suppress(OSError):
                _remove_unless_held(folder, name)


def _is_temporary(name: str) -> bool:
    random = name.removeprefix(_PREFIX)
    return len(random) == _LENGTH and not random.strip(_HEX)


def _remove_unless_held(folder: int, name: str) -> None:
    if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        return
    fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(name, dir_fd=folder)
    finally:
        os.close(fd)


def _made(target: str) -> int:
    folder = os.path.dirname(target)
    make(folder)
    return os.open(folder, FOLDER)


def _replace_in(folder: int, name: str, content: Iterable[bytes], target: str, mode: int | None, durable: bool) -> None:
    old = _stat(name, folder)
    if old is not None:
        _check_replaceable(target, old)
    temporary, fd = new_file(folder, 0o666 if mode is None else mode)
    try:
        try:
            if old is not None:
                _copy_owner(fd, old)
            if old is not None or mode is not None:  # Whatever the umask says.
                os.fchmod(fd, stat.S_IMODE(old.st_mode) if mode is None and old is not None else mode or 0)
            for piece in content:
                write_all(fd, piece)
            if durable:
                os.fsync(fd)
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            os.close(fd)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
        raise


def write_all(fd: int, content: bytes) -> None:
    """Write all of this to an open file, in as many calls as that takes. Raises OSError."""
    left = memoryview(content)
    while left:
        left = left[os.write(fd, left) :]


def _stat(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder)
    except FileNotFoundError:
        return None


def _check_replaceable(target: str, old: os.stat_result) -> None:
    from errno import EACCES, EISDIR

    if stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR), target)
    if not stat.S_ISREG(old.st_mode):
        raise OSError(None, "Not a regular file", target)
    if not os.access(target, os.W_OK):  # The folder may allow what the file itself does not.
        raise PermissionError(EACCES, os.strerror(EACCES), target)


def _copy_owner(fd: int, old: os.stat_result) -> None:
    new = os.fstat(fd)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with suppress(PermissionError):
            os.fchown(fd, old.st_uid, old.st_gid)
