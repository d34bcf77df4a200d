"""Makes folders where they are missing, and makes the names in them survive a power cut."""

import os
import stat
from contextlib import suppress
from errno import ENOTDIR

from linnet.errors import ConfigError


def make(path: str, mode: int = 0o777) -> None:
    """Make a folder and those above it that are missing, all with this mode. However many those are, no call is nested.

    Raises OSError, or ValueError for a name that nothing can have.
    """
    with suppress(FileNotFoundError, NotADirectoryError):
        os.stat(path)  # Raises for a path that is longer than a path can be, before any folder is made.
    missing = []
    while path and not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path.rstrip("/"))
    for folder in reversed(missing):
        try:
            os.mkdir(folder, mode)
        except FileExistsError:
            if not os.path.isdir(folder):
                raise NotADirectoryError(ENOTDIR, os.strerror(ENOTDIR), folder) from None


def make_own(path: str) -> None:
    """Make a folder for its owner alone, where what it has decides what programs do. Raises OSError, and ConfigError if
    it is there and others may write in it.
    """
    make(path, 0o700)
    found = os.stat(path)
    if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ConfigError(f"{path} has another owner, or others may write in it; make it yours: chmod 700 {path}")


def sync_folder(path: str) -> None:
    """Make the names of new files in a folder survive a power cut. Raises OSError."""
    folder = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
