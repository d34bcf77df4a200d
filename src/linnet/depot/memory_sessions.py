"""Sessions in a depot in memory."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from linnet.core.fleet.changes import Change
from linnet.core.fleet.kept import Fleet, Session
from linnet.depot.depot_sessions import Decide, DepotSessions

T = TypeVar("T")


class CarryOut(Protocol):
    """Decides about what is kept, makes the changes, and returns what was decided; all in one go."""

    def __call__(self, decide: Callable[[Fleet], tuple[Sequence[Change], T]]) -> T: ...


class MemorySessions(DepotSessions):
    def __init__(self, carry_out: CarryOut) -> None:
        self._carry_out = carry_out

    def decided(self, key: str, decide: Decide[T]) -> T:
        return self._carry_out(decide)

    def first_line(self, key: str) -> bytes | None:
        return self._of(key, lambda session: session.header, None)

    def lines(self, key: str, first: int) -> list[bytes]:
        return self._of(key, lambda session: session.lines[first:], [])

    def keys(self) -> list[str]:
        return self._carry_out(lambda fleet: ([], [*reversed(fleet.sessions)]))

    def _of(self, key: str, read: Callable[[Session], T], otherwise: T) -> T:
        def decide(fleet: Fleet) -> tuple[list[Change], T]:
            session = fleet.sessions.get(key)
            return [], otherwise if session is None else read(session)

        return self._carry_out(decide)
