"""Gives events their numbers."""

from collections.abc import Sequence
from itertools import groupby

from linnet.core.events import Event
from linnet.eventlog.followed import Numbered
from linnet.eventlog.spelling import UNTOLD

_untold = frozenset(UNTOLD)


def numbered(batch: Sequence[Event], first: int, parent: str = "") -> list[Numbered]:
    """Return the events with their numbers, without those that nobody is told of: each run of others by itself."""
    if _untold.isdisjoint(map(type, batch)):
        return [Numbered(first, batch, parent)] if batch else []
    runs = groupby(enumerate(batch, first), lambda pair: type(pair[1]) in _untold)
    told = [list(pairs) for untold, pairs in runs if not untold]
    return [Numbered(pairs[0][0], [event for _, event in pairs], parent) for pairs in told]
