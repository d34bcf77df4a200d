"""Reads files that pi writes in place, while another process may be writing them."""

from collections.abc import Callable
from time import monotonic, sleep
from typing import TypeVar

from linnet.errors import ConfigError
from linnet.files.pi_lock import is_locked
from linnet.files.reading import contents

PATIENCE = 0.5  # Seconds; a write takes less than a millisecond.
BOM = b"\xef\xbb\xbf"
T = TypeVar("T")


def understood(path: str, understand: Callable[[bytes], T]) -> T | None:
    """Return what `understand` makes of a file; None if there is none. It may find half of it, or nothing: if it raises
    ConfigError while pi holds the file's lock, the file is read again.
    """
    until = monotonic() + PATIENCE
    while True:
        locked = is_locked(path)  # Before it is read: whoever writes has it throughout.
        text = contents(path)
        if text is None:
            return None
        try:
            return understand(text.removeprefix(BOM))
        except ConfigError:
            if not (locked or is_locked(path)) or monotonic() > until:
                raise
        sleep(0.005)
