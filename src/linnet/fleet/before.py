"""What was told of an agent by those who owned it before, read from the depot: the next owner goes on from there."""

from collections.abc import Iterator, Sequence

from linnet.core.events import Event
from linnet.core.fleet.records import Claim, Row
from linnet.core.loop.opening import Opening
from linnet.depot.depot import Depot
from linnet.eventlog.spelling import Reader, Unreadable


def opening(depot: Depot, claim: Claim) -> Opening:
    """Return the fold of all that was told. Raises SessionError, Unreadable."""
    found = Opening()
    for at, (first, happened) in enumerate(_events(depot, claim, claim.last)):
        if first or not at:  # Later marks only repeat what is known.
            found.apply(happened)
    return found


def since(depot: Depot, claim: Claim, number: int) -> list[Event] | None:
    """Return the events from this number on; None if they are not kept any more. Raises SessionError."""
    found: list[Event] = []
    try:
        for first, happened in _events(depot, claim, number - 1):
            if first and first + len(happened) > number:
                found += happened[max(0, number - first) :]
    except Unreadable:
        return None
    return found or None


def _events(depot: Depot, claim: Claim, after: int) -> Iterator[tuple[int, Sequence[Event]]]:
    """Yield events from the last mark on from which all after this number is told, each with the first's number: 0 for
    those that an encoder has to skip. Raises Unreadable if there is no such mark.
    """
    if not claim.last:
        return
    place = depot.marked(claim.hold.agent, after)
    if place is None:
        raise Unreadable("it is not kept any more")
    reader = Reader()
    for row in rows(depot, claim.hold.agent, place - 1):
        if row.marked:
            reader = Reader()
        for line in row.body.splitlines(keepends=True):
            said, happened = reader.read(line)
            yield said.n, happened


def rows(depot: Depot, agent: str, after: int) -> Iterator[Row]:
    """Yield all records after a place."""
    while found := depot.told(agent, after):
        yield from found
        after = found[-1].place
