"""What a provider streams: the vendor's reply, in pieces, in no vendor's words.

A failure is not a delta: the stream raises a ProviderError instead of ending.
"""

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
    """Belongs to the open thinking block. `redacted`: the block is nothing but this signature."""

    signature: str
    redacted: bool = False


class CallOpened(Struct, frozen=True, gc=False):
    id: str
    name: str


class CallDelta(Struct, frozen=True, gc=False):
    """A piece of the arguments' JSON text."""

    id: str
    text: str


class PartClosed(Struct, frozen=True, gc=False):
    """The open block is complete. Vendors that do not say so leave it to what comes next."""


class UsageReported(Struct, frozen=True, gc=False):
    """The latest word on this reply's tokens; it replaces an earlier one."""

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
    | UsageReported
    | Stopped
)
