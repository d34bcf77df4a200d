"""Numbers that no event will have again, whatever a power cut takes away.

What is written is in the system's hands at once, and survives the end of the process; it may not survive the end of the
machine. So that a number which somebody has seen is never given again, numbers are reserved in large blocks, and that
is synced before one of them is used. One file serves all agents: their numbers only have to grow.
"""

import os
from contextlib import suppress
from threading import Lock

from msgspec import DecodeError, Struct
from msgspec.json import encode

from linnet.decoding import decoder_of
from linnet.errors import ConfigError
from linnet.files.reading import contents
from linnet.files.replacing import replace

BLOCK = 1_000_000
BOOT_ID = "/proc/sys/kernel/random/boot_id"


class _Block(Struct):
    upto: int


class Reserved:
    """Invariant: whatever number was given, the file on disk says a higher one. Any thread may call."""

    def __init__(self, path: str) -> None:
        """Raises OSError, and ConfigError if the file does not say what it should."""
        self._path = path
        self._lock = Lock()
        content = contents(path)
        self._upto = 0 if content is None else _decoded(content, path).upto

    def above(self, least: int) -> int:
        """Return a number that is not below any that was given; `least` is one of those, or 0."""
        return self._upto if least <= self._upto else least + BLOCK  # The file was lost.

    def reach(self, number: int) -> None:
        """Have all numbers up to this one reserved. Raises OSError."""
        if number > self._upto:
            with self._lock:
                if number > self._upto:
                    upto = number + BLOCK
                    replace(self._path, encode(_Block(upto)) + b"\n", mode=0o600, durable=True)
                    self._upto = upto


def boot() -> str:
    """Return what names this start of the machine; where nothing does, what names this process."""
    with suppress(OSError):
        return (contents(BOOT_ID) or os.urandom(16)).hex()
    return os.urandom(16).hex()


def _decoded(content: bytes, path: str) -> _Block:
    try:
        return decoder_of(_Block).decode(content)
    except DecodeError as error:
        raise ConfigError(f"{path} does not say which numbers were given: {error}") from None
