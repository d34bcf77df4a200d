"""Creates, opens, finds and lists the logs of sessions by their keys: as files, in memory, or anywhere else.

Whoever keeps sessions elsewhere implements `LogFactory`; `linnet.testing.log_contract` tests an implementation.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from linnet.core.session_info import SessionInfo
from linnet.errors import BadInput, SessionError, SessionInUse
from linnet.store import file, session_folder
from linnet.store.header import Header
from linnet.store.log import FileLog, MemoryLog, OwnedLog
from linnet.store.reading import Contents, LoadedSession
from linnet.store.tree import Index

if TYPE_CHECKING:
    from linnet.store.late_log import LateLog


class LogFactory(Protocol):
    """A place where the logs of sessions are kept.

    Every method but `may_wait` may raise SessionError. Where `may_wait`, every one may take its time and raise
    LogUnavailable; none is then called under a session's lock, but for a switch to a session that was not fetched.
    """

    @property
    def may_wait(self) -> bool:
        """Return whether methods of the logs may take their time. What is told of a session then waits until it is
        written.
        """

    def create(self, header: Header, lines: Sequence[bytes], key: str | None = None) -> OwnedLog:
        """Make a log that has all these lines when it appears, and own it. Without a key it gets one of its own, which
        is the header's id wherever `may_wait`. Raises SessionError if there is one of that key.
        """

    def open(self, key: str) -> tuple[OwnedLog, Contents]:
        """Own a log that was there before, and return it with its contents. Raises SessionInUse where an owner keeps
        others out; elsewhere whoever owned it is refused from here on.
        """

    def read(self, key: str) -> Contents:
        """Return the contents of a log, without owning it."""

    def exists(self, key: str) -> bool: ...

    def find(self, word: str, cwd: str = "") -> str | None:
        """Return the key that a word means: a key, or the beginning of an id; None if no id begins so. `cwd` is the
        working folder of whoever said it. Raises SessionError if several are meant.
        """

    def checked(self, key: str, word: str) -> str:
        """Return the key in full, if a client that said `word` may open it. Raises BadInput or SessionError if not."""

    def newest(self, unread: list[str]) -> str | None:
        """Return the key of the session that was changed last, of those that have messages. Why a newer one could not
        be read is added to `unread`.
        """

    def listed(self, here: str | None, *, everywhere: bool) -> tuple[list[SessionInfo], str | None]:
        """Return the sessions, newest first, each with its key as its path, and which of them is `here`."""

    def note(self, header: Header, key: str) -> None:
        """Make a session that is kept in an unusual place be found where the others are."""

    def tidy(self) -> None:
        """Remove what was left behind of sessions that were discarded."""


class FileLogs:
    """Session files: those of `folder`, and of other folders of `home` where that is asked for. Keys are paths.

    Sessions may lie in a second home, where they were kept before: they are found and listed as if they lay in the
    first, and stay where they are.
    """

    may_wait = False

    def __init__(
        self,
        home: str,
        cwd: str,
        folder: str | None = None,
        *,
        before: str | None = None,
        sorted: bool = False,
        confined: bool = False,
        allowed: Callable[[str], str] = os.path.abspath,
    ) -> None:
        """`folder` is one that somebody chose, which may hold the sessions of many projects; those of another are left
        out where it is `sorted`. `before` is the second home. If `confined`, clients see no session of another project;
        `allowed` returns a path of theirs in full, or raises BadInput.
        """
        self.folder = folder or session_folder.folder(home, cwd)
        self._home = home
        self._before = before
        self._cwd = cwd
        self._usual = folder is None
        self._sorted = sorted
        self._confined = confined
        self._allowed = allowed

    def create(self, header: Header, lines: Sequence[bytes], key: str | None = None) -> FileLog:
        return file.create(key or os.path.join(self.folder, session_folder.file_name(header)), header, lines)

    def create_late(self, header: Header, lines: Sequence[bytes]) -> "LateLog":
        """Return a log that becomes a file when something is said. Raises SessionError if it cannot."""
        from linnet.store.late_log import LateLog  # Few protocols have it.

        path = os.path.join(self.folder, session_folder.file_name(header))
        file.make_room(path)
        return LateLog(path, lines, lambda held: file.create(path, header, held))

    def open(self, key: str) -> tuple[FileLog, LoadedSession]:
        return file.open_locked(key)

    def read(self, key: str) -> LoadedSession:
        return file.read(key)

    def exists(self, key: str) -> bool:
        return os.path.lexists(key)

    def find(self, word: str, cwd: str = "") -> str | None:
        return session_folder.find(word, self._folders(), cwd)

    def checked(self, key: str, word: str) -> str:
        path = self._allowed(key)
        if self._confined and os.path.dirname(path) == self.folder and not session_folder.is_of(path, self._only):
            raise SessionError(f"{word} does not exist")  # It is another project's, whose name looks alike.
        return path

    def identified(self, id: str) -> str | None:
        """Return the session of this project that has exactly this id; None if there is none."""
        for path in (path for folder in self._here for path in session_folder.files(folder)):
            head = file.first_header(path)
            if head is not None and head.id == id and session_folder.is_of(path, self._only):
                return path
        return None

    def newest(self, unread: list[str]) -> str | None:
        return session_folder.newest(self._here, self._only, unread)

    def listed(self, here: str | None, *, everywhere: bool) -> tuple[list[SessionInfo], str | None]:
        if everywhere:
            found = session_folder.summaries(self._folders(), self._cwd if self._confined else None)
        else:
            found = session_folder.summaries(self._here, self._only)
        listed = [info for info in found if self._is_allowed(info.path)]
        if here is None or not os.path.exists(here):
            return listed, None
        same = next((info.path for info in listed if _is_same(info.path, here)), None)
        if same is None:
            with suppress(SessionError, OSError):  # It may have been changed by others beyond recognition.
                listed.insert(0, session_folder.summary(here))
        return listed, same or here

    def note(self, header: Header, key: str) -> None:
        if self._usual and header.cwd == self._cwd and os.path.dirname(os.path.realpath(key)) != self._real_folder:
            session_folder.note(self._here[-1], header, key)

    def tidy(self) -> None:
        session_folder.remove_dead_links(self._here[-1])

    @property
    def _here(self) -> list[str]:
        """Return the folders of this project: the one in which sessions are begun first. Links are made in the last."""
        if self._before is None:
            return [self.folder]
        return list(dict.fromkeys([self.folder, session_folder.folder(self._before, self._cwd)]))

    @property
    def _real_folder(self) -> str:
        return os.path.realpath(self.folder)

    @property
    def _only(self) -> str | None:
        """Return the folder whose sessions count; None for all, in a folder that somebody chose for many projects."""
        return self._cwd if self._usual or self._sorted else None

    def _folders(self) -> list[str]:
        """Return the folders to look for sessions in, this project's first."""
        others = [] if self._confined else session_folder.folders(self._home)
        before = [] if self._confined or self._before is None else session_folder.folders(self._before)
        return list(dict.fromkeys([*self._here, *others, *before]))

    def _is_allowed(self, path: str) -> bool:
        try:
            self._allowed(path)
        except BadInput:
            return False
        return True


class HeldContents(Struct, frozen=True):
    """Contents that were put together in memory."""

    header: Header
    lines: Sequence[bytes]
    index: Index
    size: int = 0


def contents(header: Header, lines: Sequence[bytes]) -> HeldContents:
    """Return the contents of a log that has these lines, each of which is an entry."""
    return HeldContents(header, lines, Index(session_folder.glances(lines)))


class KeyedLogs:
    """A base for factories whose keys are the ids of their sessions: it finds and lists them. `keys` and `read` are to
    be overridden.
    """

    def keys(self) -> Sequence[str]:
        """Return the keys of all sessions, the newest first."""
        raise NotImplementedError

    def read(self, key: str) -> Contents:
        raise NotImplementedError

    def exists(self, key: str) -> bool:
        return key in self.keys()

    def find(self, word: str, cwd: str = "") -> str | None:
        keys = self.keys()
        found = [word] if word in keys else [key for key in keys if key.startswith(word)]
        if len(found) > 1:
            raise SessionError(f"{word} is the beginning of {len(found)} sessions; write more of its id")
        return found[0] if found else None

    def checked(self, key: str, word: str) -> str:
        return key

    def newest(self, unread: list[str]) -> str | None:
        for key in self.keys():
            if self.read(key).index.messages:
                return key
        return None

    def listed(self, here: str | None, *, everywhere: bool) -> tuple[list[SessionInfo], str | None]:
        found = [(key, self.read(key)) for key in self.keys()]
        infos = [session_folder.info(read, key, read.header.timestamp) for key, read in found]
        return infos, next((key for key, _ in found if key == here), None)

    def note(self, header: Header, key: str) -> None:
        """Do nothing: there are no unusual places."""

    def tidy(self) -> None:
        """Do nothing: nothing is left behind."""


class _HeldLog(MemoryLog):
    """A log that others may open once it was closed."""

    def __init__(self, header: Header, lines: Sequence[bytes], key: str, discarded: Callable[[str], object]) -> None:
        super().__init__(lines, key)
        self.header = header
        self.is_open = True
        self._discarded = discarded

    def close(self) -> None:
        self.is_open = False

    def discard(self) -> None:
        if self.is_open:
            self.is_open = False
            self._discarded(self.key)


class MemoryLogs(KeyedLogs):
    """Sessions that last as long as this object. One owner keeps others out, as with files."""

    may_wait = False

    def __init__(self) -> None:
        self._held: dict[str, _HeldLog] = {}

    def create(self, header: Header, lines: Sequence[bytes], key: str | None = None) -> MemoryLog:
        key = key or header.id
        if key in self._held:
            raise SessionError(f"the session {key} exists already")
        return self._own(header, lines, key)

    def open(self, key: str) -> tuple[MemoryLog, HeldContents]:
        held = self._get(key)
        if held.is_open:
            raise SessionInUse(f"the session {key}", os.getpid())
        return self._own(held.header, held.read(), key), self.read(key)

    def read(self, key: str) -> HeldContents:
        held = self._get(key)
        return contents(held.header, held.read())

    def keys(self) -> list[str]:
        return [*reversed(self._held)]

    def _own(self, header: Header, lines: Sequence[bytes], key: str) -> _HeldLog:
        self._held[key] = log = _HeldLog(header, lines, key, self._held.pop)
        return log

    def _get(self, key: str) -> _HeldLog:
        held = self._held.get(key)
        if held is None:
            raise SessionError(f"there is no session {key}")
        return held


def _is_same(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False
