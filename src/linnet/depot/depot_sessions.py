"""Sessions in a depot: whoever opens one takes it over, and whoever had it is refused from then on."""

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from linnet.core.fleet.changes import Change, Discarded, Grew, Made, Opened
from linnet.core.fleet.kept import Fleet, Session
from linnet.errors import LogRefused, SessionError
from linnet.store.factory import HeldContents, KeyedLogs, contents
from linnet.store.header import Header, header, header_line

T = TypeVar("T")
Decide: TypeAlias = Callable[[Fleet], tuple[Sequence[Change], T]]


class DepotSessions(KeyedLogs):
    """A `LogFactory`, whose keys are ids. `keys`, `decided`, `first_line` and `lines` are to be overridden."""

    may_wait = True

    def decided(self, key: str, decide: "Decide[T]") -> T:
        """Decide about one session, make the changes, and return what was decided; all in one go."""
        raise NotImplementedError

    def first_line(self, key: str) -> bytes | None:
        """Return the header of a session as its line; None if there is none."""
        raise NotImplementedError

    def lines(self, key: str, first: int) -> list[bytes]:
        """Return the lines of a session from this index on."""
        raise NotImplementedError

    def create(self, header: Header, lines: Sequence[bytes], key: str | None = None) -> "DepotSessionLog":
        key = key or header.id

        def decide(fleet: Fleet) -> tuple[list[Change], None]:
            if key in fleet.sessions:
                raise SessionError(f"the session {key} exists already")
            return [Made(key, header_line(header), list(lines))], None

        self.decided(key, decide)
        return DepotSessionLog(self, key, 1)

    def open(self, key: str) -> "tuple[DepotSessionLog, HeldContents]":
        def decide(fleet: Fleet) -> tuple[list[Change], int]:
            epoch = _session(fleet, key).epoch + 1
            return [Opened(key, epoch)], epoch

        epoch = self.decided(key, decide)
        return DepotSessionLog(self, key, epoch), self.read(key)  # From here on nobody else adds to it.

    def read(self, key: str) -> HeldContents:
        said = self.first_line(key)
        if said is None:
            raise SessionError(f"there is no session {key}")
        first = header(said)
        if first is None:
            raise SessionError(f"the session {key} does not begin with a header")
        return contents(first, self.lines(key, 0))

    def exists(self, key: str) -> bool:
        return self.first_line(key) is not None


class DepotSessionLog:
    """An `OwnedLog`."""

    may_wait = True
    path: str | None = None

    def __init__(self, sessions: DepotSessions, key: str, epoch: int) -> None:
        self.key = key
        self.epoch = epoch
        self._sessions = sessions

    def head(self) -> int:
        return self._sessions.decided(self.key, lambda fleet: ([], self._owned(fleet).head))

    def append_after(self, head: int, lines: Sequence[bytes]) -> None:
        def decide(fleet: Fleet) -> tuple[list[Change], None]:
            there = self._owned(fleet).head
            if there != head:
                raise LogRefused(self.key, f"it has {there} entries where {head} were expected")
            return [Grew(self.key, list(lines))], None

        self._sessions.decided(self.key, decide)

    def read(self, first: int = 0) -> list[bytes]:
        return self._sessions.lines(self.key, first)

    def close(self) -> None:
        """Do nothing: it is taken over in any case."""

    def discard(self) -> None:
        def decide(fleet: Fleet) -> tuple[list[Change], None]:
            session = fleet.sessions.get(self.key)
            is_ours = session is not None and session.epoch == self.epoch
            return [Discarded(self.key)] if is_ours else [], None

        self._sessions.decided(self.key, decide)

    def _owned(self, fleet: Fleet) -> Session:
        session = _session(fleet, self.key)
        if session.epoch != self.epoch:
            raise LogRefused(self.key)
        return session


def _session(fleet: Fleet, key: str) -> Session:
    if key not in fleet.sessions:
        raise SessionError(f"there is no session {key}")
    return fleet.sessions[key]
