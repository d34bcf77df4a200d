"""Locks a file as pi does, for as long as it takes to change it: with a folder beside it, which only one can make.

pi reads `settings.json` and `auth.json` under such locks, and writes them in place. Whoever holds one renews its time
every few seconds; one that is older was left behind. We hold it for milliseconds, and so never renew it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic, sleep, time

from linnet.errors import ConfigError

STALE = 30.0  # Seconds. pi calls one stale after 10, where it holds it for moments, or after 30.
PATIENCE = 10.0


@contextmanager
def held(path: str) -> Iterator[None]:
    """Keep pi out of this file in the body. Raises ConfigError if somebody else takes too long, or OSError."""
    lock = f"{path}.lock"
    until = monotonic() + PATIENCE
    while not _taken(lock):
        if monotonic() > until:
            raise ConfigError(f"{path} is being changed by pi; try again, or remove {lock} if no pi runs")
        sleep(0.02)
    try:
        yield
    finally:
        with suppress(OSError):
            os.rmdir(lock)


def is_locked(path: str) -> bool:
    """Return whether somebody may be writing this file at the moment."""
    return os.path.lexists(f"{path}.lock")


def _taken(lock: str) -> bool:
    """Try to take the lock, and return whether we have it. One that was left behind is removed. Raises OSError."""
    try:
        os.mkdir(lock)
    except FileExistsError:
        with suppress(OSError):
            if time() - os.stat(lock).st_mtime > STALE:
                os.rmdir(lock)
        return False
    return True
