"""Drops files of events that are too much or too old, whole and the oldest first; of no agent the newest."""

import os
from collections.abc import Iterable
from contextlib import suppress

from linnet.eventlog.segment import firsts, name


def drop(folders: Iterable[str], most_bytes: int, oldest: int) -> None:
    """Drop what was written before `oldest`, in milliseconds since 1970, and then what is more than `most_bytes` of all
    these agents. Raises OSError.
    """
    found: list[tuple[int, str, int]] = []  # When it was written to last, its path, its bytes.
    total = 0
    for folder in folders:
        written = 0  # Clocks go back: no file counts as older than the one before it.
        for first in (starts := firsts(folder)):
            path = os.path.join(folder, name(first))
            with suppress(FileNotFoundError):  # Dropped by somebody else.
                status = os.stat(path)
                total += status.st_size
                written = max(written, status.st_mtime_ns // 1_000_000)
                if first != starts[-1]:  # The newest says where the numbers are.
                    found.append((written, path, status.st_size))
    for time, path, size in sorted(found):
        if time >= oldest and total <= most_bytes:
            return
        total -= size
        with suppress(FileNotFoundError):
            os.unlink(path)
