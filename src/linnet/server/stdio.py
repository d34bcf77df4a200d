"""Claims the process's own stdin and stdout, so that neither a stray print nor a child can touch the protocol."""

import os

from msgspec import Struct


class Stdio(Struct, frozen=True):
    """The two descriptors by which a client is reached."""

    source: int  # To read from.
    sink: int  # To write to.


def claim() -> Stdio:
    """Return private duplicates of stdin and stdout. From here on, descriptor 0 is empty and descriptor 1 is stderr.
    One that was closed counts as empty.
    """
    source = _duplicate(0, os.O_RDONLY)
    sink = _duplicate(1, os.O_WRONLY)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
    os.close(nothing)
    return Stdio(source, sink)


def _duplicate(fd: int, flags: int) -> int:
    try:
        return os.dup(fd)
    except OSError:
        return os.open(os.devnull, flags)
