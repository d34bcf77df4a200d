"""The errors for those who are refused."""

from collections.abc import Sequence

from linnet.core.fleet.changes import Change
from linnet.core.fleet.committing import Refusal
from linnet.core.fleet.records import Hold
from linnet.depot.depot import Fenced
from linnet.errors import SessionError


def fenced(hold: Hold) -> Fenced:
    """Return the error for somebody who is not the owner any more."""
    return Fenced(f"the agent {hold.agent} has another owner by now, or is gone; nothing was written")


def checked(hold: Hold, decided: Sequence[Change] | Refusal) -> Sequence[Change]:
    """Return what changes by a batch. Raises Fenced or SessionError if it is refused."""
    match decided:
        case "begun before":
            raise SessionError(f"a call of the agent {hold.agent} has begun before, and must not be repeated")
        case str():
            raise fenced(hold)
        case _:
            return decided
