"""Puts a page on disk, whole or not at all."""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from errno import EINVAL
from pathlib import Path


def write(path: Path, pieces: Iterable[str]) -> None:
    """Replaces what is there, in one step; behind a link, the file it leads to. Whatever fails leaves it as it was."""
    target = os.path.realpath(path)
    old = _stat(target)
    if old is not None and not stat.S_ISREG(old.st_mode):
        raise OSError(EINVAL, "Not a regular file", target)
    folder = os.path.dirname(target)
    # A short name of its own: the target's may already be as long as a name can be.
    temporary = os.path.join(folder, f".linnet-{os.urandom(6).hex()}")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with open(fd, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            if old is not None:
                os.fchmod(fd, stat.S_IMODE(old.st_mode))
            file.writelines(pieces)
            file.flush()
            os.fsync(fd)
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    _settle(folder)


def _stat(target: str) -> os.stat_result | None:
    try:
        return os.stat(target)
    except FileNotFoundError:
        return None


def _settle(folder: str) -> None:
    """Make the new name survive a power cut, where the file system can do that."""
    with suppress(OSError):
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
