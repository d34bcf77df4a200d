"""What may be seen of sessions over HTTP, wherever those are kept; and those that are kept by a factory of logs.

All of it blocks, and belongs in a worker thread.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol

from msgspec import Struct

from linnet.core.session_info import SessionInfo
from linnet.errors import SessionError
from linnet.runtime.run.background import Exporting
from linnet.serve.http.allowed import Allowance, session_id
from linnet.serve.http.replies import Problem
from linnet.store import session_folder
from linnet.store.factory import LogFactory
from linnet.store.log import MemoryLog
from linnet.wire.pi.frames import Message
from linnet.wire.pi.generations import PI_1
from linnet.wire.pi.to_pi import Words

_PIECE: Final = 256 * 1024  # Characters of a page that are sent together.


class SessionItem(Struct, frozen=True):
    """A session in a list. Times are ISO times."""

    id: str
    name: str
    cwd: str
    created: str
    modified: str
    messages: int
    first: str
    """What the user asked first, or the beginning of it."""


class WholeSession(Struct, frozen=True):
    """A session with what was said in it, in the words of pi-1."""

    id: str
    name: str
    cwd: str
    created: str
    modified: str
    messages: list[Message]


class SeenSessions(Protocol):
    """Those of folders under a root, and those of agents."""

    def listed(self, cwd: str | None, most: int) -> list[SessionItem]:
        """Return the sessions that may be seen, the newest first; only those of one folder if it is given."""

    def find(self, id: str) -> str:
        """Return the key of the session with this id. Raises Problem if there is none that may be seen."""

    def read(self, id: str) -> WholeSession:
        """Return what was said in a session. Raises Problem or SessionError."""

    def opened(self, key: str) -> session_folder.Opened:
        """Return a session that is only read. Raises SessionError."""


class FactorySessions:
    """`SeenSessions` of a factory whose keys are ids."""

    def __init__(self, logs: LogFactory, allowance: Allowance, of_agents: Callable[[], Iterable[str]]) -> None:
        """`of_agents` returns the keys of the agents' sessions."""
        self._logs = logs
        self._allowance = allowance
        self._of_agents = of_agents

    def listed(self, cwd: str | None, most: int) -> list[SessionItem]:
        infos, _ = self._logs.listed(None, everywhere=True)
        own = set(self._of_agents())
        seen = (each for each in infos if each.messages and cwd in (None, each.cwd))
        return [item(each) for each in seen if each.id in own or self._allowance.covers(each.cwd)][:most]

    def find(self, id: str) -> str:
        word = session_id(id, "session")
        try:
            cwd = self._logs.read(word).header.cwd
        except SessionError:
            cwd = ""
        if word in set(self._of_agents()) or (cwd and self._allowance.covers(cwd)):
            return word
        raise Problem(404, "no_such_session", f"No session here has the id {word}.")

    def read(self, id: str) -> WholeSession:
        key = self.find(id)
        found = self._logs.read(key)
        return whole(session_folder.info(found, key, found.header.timestamp), self.opened(key))

    def opened(self, key: str) -> session_folder.Opened:
        found = self._logs.read(key)
        return session_folder.opened(MemoryLog(found.lines), found)


def whole(info: SessionInfo, opened: session_folder.Opened) -> WholeSession:
    said = Words(PI_1).listed(message for _, message in opened.past.read())
    return WholeSession(info.id, info.name, info.cwd, info.created, info.modified, said)


def exported(opened: session_folder.Opened) -> Iterator[bytes]:
    """Yield a session as a page, in pieces. Raises SessionError, before the first one if it cannot be read."""
    waiting, size = [], 0
    for piece in Exporting(opened.store).pieces():
        waiting.append(piece)
        size += len(piece)
        if size > _PIECE:
            yield "".join(waiting).encode("utf-8", "replace")
            waiting, size = [], 0
    yield "".join(waiting).encode("utf-8", "replace")


def item(info: SessionInfo) -> SessionItem:
    return SessionItem(
        info.id, info.name, info.cwd, info.created, info.modified, info.messages, info.first_message[:200]
    )
