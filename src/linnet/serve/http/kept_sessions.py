"""The sessions that may be seen over HTTP: listed, read, exported. Those of folders under a root, and those of agents.

All of it blocks, and belongs in a worker thread.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from msgspec import Struct

from linnet.core.session_info import SessionInfo
from linnet.errors import SessionError
from linnet.serve.http.allowed import Allowance, session_id
from linnet.serve.http.replies import Problem
from linnet.serve.http.seen_sessions import SessionItem, WholeSession, item, whole
from linnet.store import session_folder
from linnet.store.file import first_header

_MOST_REMEMBERED: Final = 2000


class _Known(Struct, frozen=True):
    """What was found out about a file."""

    state: tuple[int, int]
    covered: bool  # Its folder is under a root.
    info: SessionInfo | None  # None if it is no session.


class KeptSessions:
    """What is known of a file is remembered until the file changes: a page asks for the list often."""

    def __init__(self, home: str, allowance: Allowance, of_agents: Callable[[], Iterable[tuple[str, str]]]) -> None:
        """`of_agents` returns the ids and the files of the agents' sessions."""
        self._home = home
        self._allowance = allowance
        self._of_agents = of_agents
        self._lock = threading.Lock()
        self._known: dict[str, _Known] = {}

    def listed(self, cwd: str | None, most: int) -> list[SessionItem]:
        """Return the sessions that may be seen, the newest first; only those of one folder if it is given."""
        found: list[SessionItem] = []
        own = {path for _, path in self._of_agents()}
        for path in self._newest_first(own):
            if len(found) >= most:
                break
            info = self._info(path, own=path in own)
            if info is not None and info.messages and cwd in (None, info.cwd):
                found.append(item(info))
        return found

    def find(self, id: str) -> str:
        """Return the file of the session with this id. Raises Problem if there is none that may be seen."""
        word = session_id(id, "session")
        for known, path in self._of_agents():
            if known == word and os.path.exists(path):
                return path
        ending = f"_{word}{session_folder.SUFFIX}"
        for path in self._files():
            if path.endswith(ending) and self._visible(path):
                return path
        raise Problem(404, "no_such_session", f"No session here has the id {word}.")

    def read(self, id: str) -> WholeSession:
        """Return what was said in a session. Raises Problem or SessionError."""
        path = self.find(id)
        return whole(session_folder.summary(path), self.opened(path))

    def opened(self, key: str) -> session_folder.Opened:
        """Return a session that is only read. Raises SessionError."""
        return session_folder.open_store(key, to_write=False)

    def _files(self) -> Iterator[str]:
        for folder in session_folder.folders(self._home):
            yield from session_folder.files(folder)

    def _newest_first(self, own: set[str]) -> list[str]:
        stamped = []
        for path in own.union(self._files()):
            try:
                stamped.append((os.stat(path).st_mtime_ns, path))
            except OSError:
                continue
        return [path for _, path in sorted(stamped, reverse=True)]

    def _visible(self, path: str) -> bool:
        header = first_header(path)
        return header is not None and bool(header.cwd) and self._allowance.covers(header.cwd)

    def _info(self, path: str, *, own: bool) -> SessionInfo | None:
        """Return what a list says of a file; None if it is no session, or one that may not be seen. `own` is whether it
        is an agent's.
        """
        try:
            stat = os.stat(path)
            state = stat.st_mtime_ns, stat.st_size
            with self._lock:
                known = self._known.get(path)
            if known is None or known.state != state or (own and known.info is None):
                covered = self._visible(path)
                known = _Known(state, covered, session_folder.summary(path) if covered or own else None)
                with self._lock:
                    if len(self._known) >= _MOST_REMEMBERED:
                        self._known.clear()
                    self._known[path] = known
        except (SessionError, OSError):
            return None
        return known.info if own or known.covered else None
