"""Logs that wait and fail as a script says, for tests of a session whose log is far away."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Literal, TypeAlias, TypeVar

from linnet.errors import LogRefused, LogUnavailable, SessionError
from linnet.store.factory import HeldContents, KeyedLogs, contents
from linnet.store.header import Header

T = TypeVar("T")
Happening: TypeAlias = Literal["works", "fails", "is lost", "is refused"]
"""What becomes of a call: it works; it fails and changes nothing; it works, but its answer is lost; another owner has
come, so that it is refused.
"""


class _Session:
    def __init__(self, header: Header, lines: Sequence[bytes]) -> None:
        self.header = header
        self.lines = list(lines)
        self.epoch = 0


class SlowLogs(KeyedLogs):
    """A factory of such logs, in memory."""

    may_wait = True

    def __init__(self, script: Iterable[Happening] = (), before: Callable[[], None] = lambda: None) -> None:
        """`script` is what becomes of appends, looks at a head and logs to be made, in the order in which they come;
        when it is used up, all of them work. `before` is called as each begins, and may wait as long as it likes.
        """
        self.script = deque(script)
        self.before = before
        self._sessions: dict[str, _Session] = {}
        self._lock = Lock()

    def create(self, header: Header, lines: Sequence[bytes], key: str | None = None) -> "SlowLog":
        key = key or header.id

        def make() -> SlowLog:
            if key in self._sessions:
                raise SessionError(f"the session {key} exists already")
            self._sessions[key] = _Session(header, lines)
            return self._own(key)

        return self._happen(key, make)

    def open(self, key: str) -> "tuple[SlowLog, HeldContents]":
        return self._own(key), self.read(key)

    def read(self, key: str) -> HeldContents:
        session = self._get(key)
        return contents(session.header, list(session.lines))

    def keys(self) -> list[str]:
        return [*reversed(self._sessions)]

    def lines(self, key: str) -> list[bytes]:
        """Return what is written of a session."""
        session = self._sessions.get(key)
        return [] if session is None else list(session.lines)

    def take_over(self, key: str) -> None:
        """Have another owner take a session, of whom the present one does not know yet."""
        self._get(key).epoch += 1

    def _own(self, key: str) -> "SlowLog":
        session = self._get(key)
        session.epoch += 1
        return SlowLog(self, key, session.epoch)

    def _get(self, key: str) -> _Session:
        if key not in self._sessions:
            raise SessionError(f"there is no session {key}")
        return self._sessions[key]

    def _happen(self, key: str, act: Callable[[], T]) -> T:
        """Do what the script says becomes of `act`. Raises LogUnavailable and what `act` raises."""
        self.before()
        with self._lock:
            happening = self.script.popleft() if self.script else "works"
            if happening == "fails":
                raise LogUnavailable("the log cannot be reached")
            if happening == "is refused" and key in self._sessions:
                self.take_over(key)
            result = act()
        if happening == "is lost":
            raise LogUnavailable("the log does not answer")
        return result


class SlowLog:
    """An `OwnedLog` of SlowLogs."""

    may_wait = True
    path: str | None = None

    def __init__(self, logs: SlowLogs, key: str, epoch: int) -> None:
        self.key = key
        self.epoch = epoch
        self._logs = logs

    def head(self) -> int:
        return self._logs._happen(self.key, lambda: len(self._own().lines))

    def append_after(self, head: int, lines: Sequence[bytes]) -> None:
        def append() -> None:
            session = self._own()
            if len(session.lines) != head:
                raise LogRefused(self.key, f"it has {len(session.lines)} entries where {head} were expected")
            session.lines += lines

        self._logs._happen(self.key, append)

    def read(self, first: int = 0) -> list[bytes]:
        return self._logs.lines(self.key)[first:]

    def close(self) -> None:
        pass

    def discard(self) -> None:
        if self._logs.exists(self.key) and self._logs._get(self.key).epoch == self.epoch:
            del self._logs._sessions[self.key]

    def _own(self) -> _Session:
        session = self._logs._get(self.key)
        if session.epoch != self.epoch:
            raise LogRefused(self.key)
        return session
