"""Replacing a file's content in one step: a reader sees the old or the new, and a failure leaves the old."""

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linnet.tools.bounds import Bounds

FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC


def replace(path: str, content: bytes, bounds: "Bounds | None" = None) -> None:
    """Creates missing folders. Follows links: the file behind one is replaced, not the link. Keeps mode and owner.

    There is no fsync: this guards against full disks, crashes and concurrent readers, not against a loss of power,
    and a turn writes many files.
    """
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    if bounds is not None:
        at = bounds.open_folder(target)
    else:
        os.makedirs(folder, exist_ok=True)
        at = os.open(folder, FOLDER)
    try:
        _replace_in(at, name, content, target)
    finally:
        os.close(at)


def _replace_in(folder: int, name: str, content: bytes, target: str) -> None:
    old = _stat(name, folder)
    if old is not None:
        _check_replaceable(target, old)
    # A short name of its own: the target's may already be as long as a name can be.
    temporary = f".linnet-{os.urandom(6).hex()}"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=folder)
    try:
        try:
            if old is not None:
                _copy_ownership(fd, old)
            left = memoryview(content)
            while left:
                left = left[os.write(fd, left) :]
        finally:
            os.close(fd)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
        raise


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
        raise OSError(None, "not a regular file", target)
    if not os.access(target, os.W_OK):  # The folder may allow what the file itself does not.
        raise PermissionError(EACCES, os.strerror(EACCES), target)


def _copy_ownership(fd: int, old: os.stat_result) -> None:
    new = os.fstat(fd)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with suppress(PermissionError):
            os.fchown(fd, old.st_uid, old.st_gid)
    os.fchmod(fd, stat.S_IMODE(old.st_mode))
