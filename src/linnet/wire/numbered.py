"""Lines with the numbers of their events, for clients that may have to come back.

A number belongs to an event, and an event may become several lines: only the last of them has it, as `seq`. So a client
that was cut off between two lines drops those that came after the last number it saw, asks for what comes after that
number, and misses nothing and sees nothing twice.
"""

from collections.abc import Iterator, Sequence

from linnet.core.events import Event
from linnet.wire.dialect import Encoder


def numbered_lines(encoder: Encoder, first: int, events: Sequence[Event]) -> Iterator[tuple[bytes]]:
    """Yield the lines of each event that has some. Their numbers follow each other, from `first` on."""
    for number, event in enumerate(events, first):
        lines = b"".join([buffer for buffers in encoder.encode([event]) for buffer in map(bytes, buffers)])
        if lines:
            yield (lines[:-2] + b',"seq":%d}\n' % number,)
