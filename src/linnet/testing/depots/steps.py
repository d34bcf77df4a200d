"""What the tests of depots share: what an implementation says of itself, and records to write."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar

from linnet.depot.depot import Depot, Fenced
from linnet.depot.records import Answered, Asked, Claim, Entries, Row
from linnet.errors import LogUnavailable, SessionError
from linnet.store.header import VERSION, Header, header_line

T = TypeVar("T")


HEADER = header_line(Header("0123-an-id", "2026-01-01T12:00:00.000Z", "/work", None, VERSION))
PATIENCE = 30.0  # Seconds that a hint may take on a machine that is very busy.
MOST_STEPS = 250  # Messages of one call that are lost one by one.


def asked(name: str, line: bytes = b"hello", client: str = "c") -> Asked:
    return Asked(client=client, name=name, line=line, digest=line.decode())


def told(place: int, last: int | None = None, *, marked: bool = False, answers: Sequence[Answered] = ()) -> Row:
    """Return a record with one event, whose number is its place unless said."""
    number = place if last is None else last
    return Row(place, number, number, b"event %d" % number, marked or place == 1, tuple(answers))


def made(key: str = "s") -> Entries:
    return Entries(key, 1, 0, [b"1", b"2"], HEADER)


def is_fenced(act: Callable[[], object]) -> bool:
    try:
        act()
    except Fenced:
        return True
    return False


def is_refused(act: Callable[[], object]) -> bool:
    try:
        act()
    except SessionError:
        return True
    return False


class DepotTests:
    """What an implementation says of itself."""

    lease = 0.5
    """Seconds, in tests of what happens when they are over."""

    def make(self) -> Depot:
        """Return an empty depot. To be overridden."""
        raise NotImplementedError

    def pass_time(self, seconds: float) -> None:
        """Have so much time pass by the depot's clock. To be overridden where that needs no waiting."""
        time.sleep(seconds)

    def losing(self, depot: Depot, message: int) -> AbstractContextManager[None] | None:
        """Return what has the connection be lost, within, at this message between the depot and its store, counted from
        0 in both directions; None if there is no connection that could be lost.
        """
        return None

    def claimed(self, depot: Depot, lease: float = 60.0) -> Claim:
        depot.add("a", b"{}")
        depot.ask("a", asked("1"))
        (claim,) = depot.claim("w", 5, lease)
        return claim


class Tries:
    """Calls until it succeeds, and counts how often the connection was lost."""

    def __init__(self) -> None:
        self.lost = 0

    def __call__(self, act: Callable[[], T]) -> T:
        while True:
            try:
                return act()
            except LogUnavailable:
                self.lost += 1
                assert self.lost < MOST_STEPS, "it does not recover"
