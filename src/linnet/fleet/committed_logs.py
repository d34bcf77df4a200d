"""The sessions of an agent that a worker owns: written with all else that the agent decides."""

from collections.abc import Sequence
from contextlib import suppress

from linnet.core.session_info import SessionInfo
from linnet.depot.depot_sessions import DepotSessions
from linnet.errors import LinnetError, SessionError
from linnet.fleet.batching import Added, Made
from linnet.fleet.committer import Committer
from linnet.store.factory import HeldContents
from linnet.store.header import Header, header_line
from linnet.store.log import MemoryLog


class CommittedLog(MemoryLog):
    """All lines are in memory, so that reading never waits; they are committed in their turn."""

    def __init__(self, committer: Committer, sessions: DepotSessions, key: str, lines: Sequence[bytes]) -> None:
        super().__init__(lines, key)
        self._committer = committer
        self._sessions = sessions

    def append(self, line: bytes, *, strict: bool = False) -> None:
        super().append(line)
        self._committer.add(Added(self.key, line))

    def discard(self) -> None:
        with suppress(LinnetError):  # It goes on being there, blank.
            self._committer.flush()
            self._sessions.open(self.key)[0].discard()


class CommittedLogs:
    """A `LogFactory`. What is found or opened is looked for when all that was decided before is committed."""

    may_wait = False

    def __init__(self, committer: Committer, sessions: DepotSessions) -> None:
        self._committer = committer
        self._sessions = sessions

    def create(self, header: Header, lines: Sequence[bytes], key: str | None = None) -> CommittedLog:
        key = key or header.id
        if self.exists(key):
            raise SessionError(f"the session {key} exists already")
        self._committer.add(Made(key, header_line(header), list(lines)))
        return CommittedLog(self._committer, self._sessions, key, lines)

    def open(self, key: str) -> tuple[CommittedLog, HeldContents]:
        self._committer.flush()
        owned, found = self._sessions.open(key)
        self._committer.owns(key, owned.epoch, len(found.lines))
        return CommittedLog(self._committer, self._sessions, key, found.lines), found

    def read(self, key: str) -> HeldContents:
        self._committer.flush()
        return self._sessions.read(key)

    def exists(self, key: str) -> bool:
        self._committer.flush()
        return self._sessions.exists(key)

    def find(self, word: str, cwd: str = "") -> str | None:
        self._committer.flush()
        return self._sessions.find(word, cwd)

    def checked(self, key: str, word: str) -> str:
        return key

    def newest(self, unread: list[str]) -> str | None:
        self._committer.flush()
        return self._sessions.newest(unread)

    def listed(self, here: str | None, *, everywhere: bool) -> tuple[list[SessionInfo], str | None]:
        self._committer.flush()
        return self._sessions.listed(here, everywhere=everywhere)

    def note(self, header: Header, key: str) -> None:
        """Do nothing: there are no unusual places."""

    def tidy(self) -> None:
        """Do nothing: nothing is left behind."""
