"""Makes folders where they are missing, and makes the names in them survive a power cut."""

import os
from contextlib import suppress
from errno import ENOTDIR


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


def sync_folder(path: str) -> None:
    """Make the names of new files in a folder survive a power cut. Raises OSError."""
    folder = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
