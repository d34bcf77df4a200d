"""Reads what is piped into a prompt from the command line."""

import os
from collections.abc import Callable

from linnet.server.wakeup import Wakeup

PATIENCE = 3.0  # Seconds without a byte after which people are told what is waited for.
CHUNK = 1 << 20  # Bytes of one read.


def piped(source: int, wakeup: Wakeup, waits: Callable[[], None], patience: float = PATIENCE) -> str | None:
    """Return all that comes from `source`, up to its end; an empty text if it is a terminal; None if a signal came.

    `waits` is called once if nothing comes for `patience` seconds.
    """
    if os.isatty(source):
        return ""
    wakeup.heed(source)
    chunks: list[bytes] = []
    told = False
    while not wakeup.signal:
        if wakeup.wait(None if told or chunks else patience):
            chunk = os.read(source, CHUNK)
            if not chunk:
                break
            chunks.append(chunk)
        elif not (told or chunks or wakeup.signal):
            told = True
            waits()
    wakeup.forget(source)
    return None if wakeup.signal else b"".join(chunks).decode("utf-8", "replace")
