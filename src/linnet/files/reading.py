"""Reads files that somebody else may have prepared: never waits for one, and never reads one without an end."""

import os
from collections.abc import Callable
from errno import EINVAL
from stat import S_ISDIR, S_ISREG
from typing import NamedTuple, TypeAlias

from linnet.errors import ConfigError

MOST = 1 << 20  # A file of settings has no more bytes.
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_HANDED_OVER = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")  # Open already, as `<(command)` of a shell is.
_TRIES = 3
Signature: TypeAlias = tuple[int, int, int, int]
Open: TypeAlias = Callable[[str, int], int]
"""Opens a file as `os.open` does. It may raise for what may not be opened."""


class Content(NamedTuple):  # No struct: the program that searches has nothing but the standard library.
    """What was read of a file."""

    data: bytes
    cut: bool  # There is more in the file.
    mode: int  # That of the file which was read.


def read(
    path: str,
    most: int,
    more_flags: int = 0,
    check: Callable[[int], None] | None = None,
    open: Open = os.open,
) -> Content:
    """Return the beginning of a plain file, at most `most` bytes. `check` is given the open file, and may raise.

    Raises OSError, whose `strerror` is the end of a sentence about the file. Nothing but a plain file is opened, save
    what the caller of the program has opened for it: that is a pipe, and read to its end.
    """
    handed = path.startswith(_HANDED_OVER)
    try:
        status = os.stat(path, follow_symlinks=not more_flags & os.O_NOFOLLOW)
        if not handed:
            _check_plain(status.st_mode, path)  # To open a pipe is to take part in it, and a device may act.
        fd = open(path, os.O_RDONLY | os.O_CLOEXEC if handed else _FLAGS | more_flags)
    except ValueError:
        raise OSError(EINVAL, "its name has a character that no name can have", repr(path)) from None
    try:
        if check is not None:
            check(fd)
        return _all(fd, most) if handed else _plain(fd, most, path)
    finally:
        os.close(fd)


def contents(path: str, most: int = MOST) -> bytes | None:
    """Return all of a file; None if there is none.

    Raises ConfigError if it is no plain file, too large or unreadable.
    """
    try:
        found = read(path, most)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    if found.cut:
        raise ConfigError(f"{path} cannot be used: it is larger than {most >> 10} KiB")
    return found.data


def required(path: str, most: int = MOST) -> bytes:
    """Return all of a file that has to be there. Raises ConfigError."""
    found = contents(path, most)
    if found is None:
        raise ConfigError(f"{path} cannot be read: there is no such file")
    return found


def signature(status: os.stat_result) -> Signature:
    """Return numbers that differ once a file was written to or replaced."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _check_plain(mode: int, path: str) -> None:
    if not S_ISREG(mode):
        raise OSError(EINVAL, "it is a folder" if S_ISDIR(mode) else "it is not a plain file", path)


def _plain(fd: int, most: int, path: str) -> Content:
    """Return what is in a plain file. Reads it again if it was written to meanwhile. Raises OSError."""
    for _ in range(_TRIES):
        before = os.fstat(fd)
        _check_plain(before.st_mode, path)
        os.lseek(fd, 0, os.SEEK_SET)
        found = _all(fd, most)
        if signature(os.fstat(fd)) == signature(before):
            return found
    raise OSError(EINVAL, "it changes while it is read", path)


def _all(fd: int, most: int) -> Content:
    """Return what is in an open file, up to `most` bytes. Its size is not trusted: the kernel makes some files as they
    are read.
    """
    parts: list[bytes] = []
    left = most + 1
    while left > 0 and (part := os.read(fd, min(left, 1 << 20))):
        parts.append(part)
        left -= len(part)
    data = b"".join(parts)
    return Content(data[:most], len(data) > most, os.fstat(fd).st_mode)
