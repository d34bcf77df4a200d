"""What a depot keeps, under a short name: `core.fleet.records`, where what is decided about it is pure."""

from linnet.core.fleet.records import (
    Answered,
    Asked,
    Batch,
    Claim,
    Effect,
    Entries,
    Hold,
    Kind,
    Row,
    Shown,
    Waiting,
)

__all__ = ["Answered", "Asked", "Batch", "Claim", "Effect", "Entries", "Hold", "Kind", "Row", "Shown", "Waiting"]
