"""Lines with the numbers of their events, for clients that may have to come back.

A number belongs to an event, and an event may become several lines: only the last of them has it, as `seq`. So a client
that was cut off between two lines drops those that came after the last number it saw, asks for what comes after that
number, and misses nothing and sees nothing twice.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Literal, TypeAlias

from linnet.core.events import CallGrew, Event, TextGrew, ThinkingGrew
from linnet.wire.dialect import Encoder

Framing: TypeAlias = Literal["plain", "seq", "sse"]
"""How numbers go with lines: not at all; as `seq` in them; or as `id` of a server-sent event for each line."""


_PIECES = frozenset((TextGrew, ThinkingGrew, CallGrew))


def numbered_lines(
    encoder: Encoder, first: int, events: Sequence[Event], framing: Framing = "seq"
) -> Iterator[tuple[bytes]]:
    """Yield the lines of each event that has some, or those of several. Their numbers follow each other, from `first`
    on.
    """
    if len(events) == 1:
        yield from _one_by_one(encoder, first, events, framing)
        return
    number = first
    for kind, same in groupby(events, type):
        alike = list(same)
        if kind in _PIECES:
            yield from _pieces(encoder, number, alike, framing)
        else:
            yield from _one_by_one(encoder, number, alike, framing)
        number += len(alike)


def _one_by_one(encoder: Encoder, first: int, events: Sequence[Event], framing: Framing) -> Iterator[tuple[bytes]]:
    for number, event in enumerate(events, first):
        lines = b"".join([buffer for buffers in encoder.encode([event]) for buffer in map(bytes, buffers)])
        if lines:
            yield (framed(lines, framing, number),)


def _pieces(encoder: Encoder, first: int, events: Sequence[Event], framing: Framing) -> Iterator[tuple[bytes]]:
    """Yield the lines of pieces of one kind: each of them has one, or none has. So they need not be encoded one by one,
    which takes ten times as long.
    """
    number = first
    for buffers in encoder.encode(events):
        lines = b"".join(buffers)
        count = lines.count(b"\n")
        if count == 1:
            yield (framed(lines, framing, number),)
        elif framing == "seq":
            numbered = zip(lines.split(b"}\n"), range(number, number + count), strict=False)
            yield (b"".join([b'%b,"seq":%d}\n' % each for each in numbered]),)
        else:
            numbered = zip(lines.splitlines(keepends=True), range(number, number + count), strict=True)
            yield (b"".join([framed(line, framing, each) for line, each in numbered]),)
        number += count


def framed(lines: bytes, framing: Framing, number: int = 0) -> bytes:
    """Return these lines as they are sent; `number` is that of their event, 0 if they have none."""
    if framing == "plain" or not lines:
        return lines
    if framing == "seq":
        return lines[:-2] + b',"seq":%d}\n' % number if number else lines
    *first, last = lines.splitlines()
    id = b"id: %d\n" % number if number else b""
    return b"".join([b"data: %b\n\n" % line for line in first]) + b"%bdata: %b\n\n" % (id, last)
