"""What somebody pipes into a prompt from the command line, as into any filter."""

import os
from collections.abc import Callable

from linnet.server.wakeup import Wakeup

PATIENCE = 3.0  # Seconds without a byte after which whoever waits is told what for.
CHUNK = 1 << 20


def piped(source: int, wakeup: Wakeup, waits: Callable[[], None], patience: float = PATIENCE) -> str | None:
    """All that comes from `source`, up to its end; nothing from a terminal, which is for people. None after a signal.

    `waits` is called once if nothing comes for a while.
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
