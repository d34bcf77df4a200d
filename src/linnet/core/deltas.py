"""The pieces of a reply that a provider streams, the same for all vendors.

A failure is not a delta: the stream raises a ProviderError instead of ending.
"""

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from linnet.core.messages import StopReason, Usage


class ReplyOpened(Struct, frozen=True, gc=False):
    """The vendor has accepted the request; the reply follows."""


class TextDelta(Struct, frozen=True, gc=False):
    text: str


class ThinkingDelta(Struct, frozen=True, gc=False):
    text: str


class ThinkingSigned(Struct, frozen=True, gc=False):
    """The open thinking block has got its signature."""

    signature: str
    redacted: bool = False  # The block is nothing but this signature.
    bound: str = ""  # A digest of what was sent, if the block may only go back after just that.
    nth: int | None = None  # It is not the open block but this one of the thoughts, the first being 0.


class TextSigned(Struct, frozen=True, gc=False):
    """The open text block, or an empty one, has got what the vendor wants back with it. Replaces what it had before."""

    signature: str


class CallSigned(Struct, frozen=True, gc=False):
    """A call has got what the vendor wants back with it."""

    id: str
    signature: str


class CallOpened(Struct, frozen=True, gc=False):
    id: str
    name: str


class CallDelta(Struct, frozen=True, gc=False):
    """A piece of the arguments' JSON text."""

    id: str
    text: str


class PartClosed(Struct, frozen=True, gc=False):
    """The open block is complete. Where a vendor does not say so, the next block or the end of the reply closes it."""


class UsageReported(Struct, frozen=True, gc=False):
    """The vendor has counted this reply's tokens so far. Replaces what it reported before."""

    usage: Usage


class Stopped(Struct, frozen=True, gc=False):
    reason: StopReason


Delta: TypeAlias = (
    TextDelta
    | CallDelta
    | ThinkingDelta
    | ReplyOpened
    | CallOpened
    | PartClosed
    | ThinkingSigned
    | TextSigned
    | CallSigned
    | UsageReported
    | Stopped
)


def merged(batch: Sequence[Delta]) -> list[Delta]:
    """Return the same deltas, with each row of neighbours that continue each other joined into one."""
    found: list[Delta] = []
    pieces: list[str] = []

    def close() -> None:
        if len(pieces) > 1:
            last = found[-1]
            text = "".join(pieces)
            match last:
                case CallDelta(id):
                    found[-1] = CallDelta(id, text)
                case TextDelta() | ThinkingDelta():
                    found[-1] = type(last)(text)
                case _:
                    pass
        pieces.clear()

    for delta in batch:
        if not isinstance(delta, TextDelta | ThinkingDelta | CallDelta):
            close()
            found.append(delta)
        elif pieces and _continues(found[-1], delta):
            pieces.append(delta.text)
        else:
            close()
            found.append(delta)
            pieces.append(delta.text)
    close()
    return found


def _continues(before: Delta, delta: TextDelta | ThinkingDelta | CallDelta) -> bool:
    if isinstance(before, CallDelta) and isinstance(delta, CallDelta):
        return before.id == delta.id
    return type(before) is type(delta)
