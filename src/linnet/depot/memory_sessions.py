"""Sessions in a depot in memory: whoever opens one takes it over, and whoever had it is refused from then on."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from linnet.core.fleet.changes import Change, Discarded, Grew, Made, Opened
from linnet.core.fleet.kept import Fleet, Session
from linnet.errors import LogRefused, SessionError
from linnet.store.factory import HeldContents, KeyedLogs, contents
from linnet.store.header import Header, header, header_line

T = TypeVar("T")


class CarryOut(Protocol):
    """Decides about what is kept, makes the changes, and returns what was decided; all in one go."""

    def __call__(self, decide: Callable[[Fleet], tuple[Sequence[Change], T]]) -> T: ...


class MemorySessions(KeyedLogs):
    """A `LogFactory`."""

    may_wait = True

    def __init__(self, carry_out: CarryOut) -> None:
        self._carry_out = carry_out

    def create(self, header: Header, lines: Sequence[bytes], key: str | None = None) -> "MemorySessionLog":
        key = key or header.id

        def decide(fleet: Fleet) -> tuple[list[Change], None]:
            if key in fleet.sessions:
                raise SessionError(f"the session {key} exists already")
            return [Made(key, header_line(header), list(lines))], None

        self._carry_out(decide)
        return MemorySessionLog(self._carry_out, key, 1)

    def open(self, key: str) -> "tuple[MemorySessionLog, HeldContents]":
        def decide(fleet: Fleet) -> tuple[list[Change], tuple[int, HeldContents]]:
            session = _session(fleet, key)
            return [Opened(key, session.epoch + 1)], (session.epoch + 1, _contents(session))

        epoch, found = self._carry_out(decide)
        return MemorySessionLog(self._carry_out, key, epoch), found

    def read(self, key: str) -> HeldContents:
        return self._carry_out(lambda fleet: ([], _contents(_session(fleet, key))))

    def keys(self) -> list[str]:
        return self._carry_out(lambda fleet: ([], [*reversed(fleet.sessions)]))


class MemorySessionLog:
    """An `OwnedLog`."""

    may_wait = True
    path: str | None = None

    def __init__(self, carry_out: CarryOut, key: str, epoch: int) -> None:
        self.key = key
        self.epoch = epoch
        self._carry_out = carry_out

    def head(self) -> int:
        return self._carry_out(lambda fleet: ([], len(self._owned(fleet).lines)))

    def append_after(self, head: int, lines: Sequence[bytes]) -> None:
        def decide(fleet: Fleet) -> tuple[list[Change], None]:
            there = len(self._owned(fleet).lines)
            if there != head:
                raise LogRefused(self.key, f"it has {there} entries where {head} were expected")
            return [Grew(self.key, list(lines))], None

        self._carry_out(decide)

    def read(self, first: int = 0) -> list[bytes]:
        return self._carry_out(lambda fleet: ([], _session(fleet, self.key).lines[first:]))

    def close(self) -> None:
        """Do nothing: it is taken over in any case."""

    def discard(self) -> None:
        def decide(fleet: Fleet) -> tuple[list[Change], None]:
            session = fleet.sessions.get(self.key)
            is_ours = session is not None and session.epoch == self.epoch
            return [Discarded(self.key)] if is_ours else [], None

        self._carry_out(decide)

    def _owned(self, fleet: Fleet) -> Session:
        session = _session(fleet, self.key)
        if session.epoch != self.epoch:
            raise LogRefused(self.key)
        return session


def _session(fleet: Fleet, key: str) -> Session:
    if key not in fleet.sessions:
        raise SessionError(f"there is no session {key}")
    return fleet.sessions[key]


def _contents(session: Session) -> HeldContents:
    first = header(session.header)
    if first is None:
        raise SessionError("the session does not begin with a header")
    return contents(first, session.lines[:])
