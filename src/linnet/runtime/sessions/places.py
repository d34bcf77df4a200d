"""Where the sessions of this run of the program are: begun, opened, copied and listed, in logs or in memory."""

import os
from collections.abc import Callable, MutableMapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, cast, get_args

from msgspec import Struct

from linnet.core.events import ModelSet, Past, Setting, ThinkingSet
from linnet.core.messages import Usage
from linnet.core.models import Reasoning
from linnet.core.session_info import SessionInfo
from linnet.errors import BadInput, ConfigError, SessionError, UnknownModel
from linnet.runtime.settings.session_options import SessionOptions
from linnet.runtime.settings.settings import LiveSettings
from linnet.store import session_folder
from linnet.store.entries import ModelChanged
from linnet.store.factory import FileLogs, LogFactory, contents
from linnet.store.header import Header
from linnet.store.log import Log, MemoryLog, OwnedLog
from linnet.store.position import Position
from linnet.store.reading import Contents
from linnet.store.store import EntrySources, Store

if TYPE_CHECKING:
    from linnet.runtime.models.accounts import Accounts
    from linnet.runtime.sessions.queued_log import QueuedLog
    from linnet.runtime.sessions.telling import Telling


class Place(Struct, frozen=True):
    """Somewhere to go on from: a session, what was said there, and what was set and spent."""

    store: Store
    past: Past = Past()
    model: ModelChanged | None = None
    thinking: str | None = None
    spent: Usage = Usage()
    problem: str = ""  # Why it is not saved, though it should be.
    made: bool = False  # Just now: it was not there before.

    def discard(self) -> None:
        """Let go of it. If it was made for nothing, it is taken away again, before anybody else may have it."""
        if self.made:
            self.store.log.discard()
        else:
            self.store.log.close()


class Sessions:
    """A session is kept as the settings say when it begins; one that is open stays where it is.

    With `confine`, paths that a client sends must lead into the folder of the sessions or the one worked in. Sessions
    are kept in the logs of a factory, or else in files; those that are not saved are in memory.
    """

    def __init__(
        self,
        live: LiveSettings,
        sources: EntrySources,
        new_session_id: Callable[[], str],
        logs: LogFactory | None = None,
        telling: "Telling | None" = None,
    ) -> None:
        """`telling` is there if the logs may wait: they are written in the order of what is told."""
        self._live = live
        self._cwd = live.now.cwd
        self._telling = telling
        self._queued: MutableMapping[str, QueuedLog] = {}
        if telling is not None:
            from weakref import WeakValueDictionary  # Those who keep files need not wait for it.

            self._queued = WeakValueDictionary()
        self._begun = False
        self._sources = sources
        self._new_session_id = new_session_id
        self._unsaved = False  # The first session could not be saved; neither need the next ones be.
        self._given = logs
        self.remarks: list[str] = []  # What whoever started this should know: unreadable sessions, a new folder.

    @property
    def _options(self) -> SessionOptions:
        return self._live.now.sessions

    @property
    def _files(self) -> FileLogs:
        options = self._options
        return FileLogs(options.home, self._cwd, options.folder, confined=options.confine, allowed=self.allowed)

    @property
    def _logs(self) -> LogFactory:
        return self._given or self._files

    def begin(self) -> Place:
        """What the command line asked for. Raises SessionError if it named a session that cannot be used."""
        place = self._begin()
        self._begun = True
        return place

    def _begin(self) -> Place:
        options = self._options
        if options.session is not None:
            return self._begin_named(self._named(options.session))
        if options.resume:
            newest = self._logs.newest(self.remarks)
            if newest is not None:
                return self.open(newest)
        if options.fork is not None:
            return self._forked(options.fork)
        try:
            return self.new(None)
        except SessionError:
            if options.insists:
                raise
            self._unsaved = True
            return self.new(None)

    def _begin_named(self, key: str) -> Place:
        if self._logs.exists(key):
            return self.open(key)
        folder = os.path.dirname(key)
        missing = not os.path.isdir(folder)
        try:
            made = Place(self._made(None, (), key)[0], made=True)
        except SessionError:
            if not self._logs.exists(key):
                raise
            return self.open(key)  # Somebody else has just made it.
        if missing and made.store.path is not None:
            self.remarks.append(f"the folder {folder} was made for this session")
        return made

    def note(self, store: Store) -> None:
        """A session of this project that is kept in another folder is found where the others are."""
        if store.log.key:
            self._logs.note(store.header, store.log.key)

    def forget(self, keys: Sequence[str]) -> None:
        """Take away sessions that were made for nothing, unless somebody has gone on with one."""
        if self._telling is None:
            self._forget(keys)
        else:
            self._telling.do_locked("", lambda: self._forget(keys))

    def _forget(self, keys: Sequence[str]) -> None:
        for key in keys:
            with suppress(SessionError):
                log, found = self._logs.open(key)
                if Store(found.header, MemoryLog(found.lines), found.index).is_blank:
                    log.discard()
                else:
                    log.close()
        self._logs.tidy()

    def new(self, parent: str | None) -> Place:
        store, problem = self._made(parent, ())
        return Place(store, problem=problem, made=True)

    def open(self, key: str) -> Place:
        """With nothing to be written anywhere, what is there is only read."""
        log: Log
        found: Contents
        if (queued := self._queued.get(key)) is not None and queued.revive():
            log, found = queued, contents(queued.header, queued.lines)
        elif self._options.saves:
            owned, found = self._logs.open(key)
            log = self._for_store(owned, found.header, found.lines)
        else:
            found = self._logs.read(key)
            log = MemoryLog(found.lines)
        opened = session_folder.opened(log, found, sources=self._sources)
        return _place(opened.store, opened.position, opened.past, opened.spent)

    def copy(self, store: Store, leaf: str | None, parent: str | None = None) -> Place:
        """A new session that has the path to `leaf` in it, and knows which one it came from."""
        lines = store.copied(leaf)
        copy, problem = self._made(parent or store.log.key or None, lines)
        position = copy.position()
        return _place(copy, position, copy.past(position, lines), session_folder.paid(lines), problem, made=True)

    def key_of(self, word: str) -> str:
        """The key of an existing session that a client named. Raises SessionError."""
        if word in self._queued:
            return word  # It may not be made yet.
        found = self._logs.find(word, self._cwd)
        if found is None:
            raise SessionError(f"no session has an id that begins with {word}")
        return self._logs.checked(found, word)

    def allowed(self, path: str) -> str:
        """The path in full. Raises BadInput for what is none, and for one that leads outside, where that matters."""
        if "\0" in path:
            raise BadInput(f"{path!r} is not a path: there is a zero byte in it")
        full = os.path.abspath(os.path.join(self._cwd, os.path.expanduser(path)))
        if self._options.confine:
            folder = self._files.folder
            real = os.path.realpath(full)
            roots = [os.path.realpath(root) for root in (folder, self._cwd)]
            if not any(os.path.commonpath([root, real]) == root for root in roots):
                confine = self._options.spelled("confine")
                raise BadInput(f"{path} leads outside {folder} and {self._cwd}, which {confine} does not allow")
        return full

    def listed(self, here: str | None, *, everywhere: bool) -> tuple[list[SessionInfo], str | None]:
        """Return the sessions, newest first, and which of them is the one that is open, wherever that is."""
        return self._logs.listed(here, everywhere=everywhere)

    def _forked(self, word: str) -> Place:
        key = self._named(word)
        found = self._logs.read(key)
        source = session_folder.opened(MemoryLog(found.lines), found).store
        return self.copy(source, source.tree.leaf, key)

    def _named(self, word: str) -> str:
        """What the command line means."""
        key = self._logs.find(word)
        if key is None:
            raise SessionError(f"no session has an id that begins with {word}; see linnet sessions --all")
        return key

    def _made(self, parent: str | None, lines: Sequence[bytes], key: str | None = None) -> tuple[Store, str]:
        """Return a new store, and why it is only in memory, if it should not be. Raises SessionError if it cannot be
        saved, unless the first session could not be either.
        """
        header = session_folder.new_header(self._new_session_id(), self._sources.clock(), self._cwd, parent)
        problem = ""
        if self._options.saves:
            try:
                log = self._new_log(header, lines, key)
                return Store(header, log, session_folder.glances(lines), sources=self._sources), ""
            except SessionError as error:
                if not self._unsaved:
                    raise
                problem = str(error)
        return session_folder.in_memory(header, lines, sources=self._sources), problem

    def _new_log(self, header: Header, lines: Sequence[bytes], key: str | None) -> Log:
        """The first one is made now, so that it is known to work; whoever asks for others holds the session's lock."""
        if self._telling is None or not self._begun:
            return self._for_store(self._logs.create(header, lines, key), header, lines)
        from linnet.runtime.sessions.queued_log import QueuedLog

        return self._noted(QueuedLog.to_be_made_locked(self._telling, self._logs, header, lines))

    def _for_store(self, log: OwnedLog, header: Header, lines: Sequence[bytes]) -> Log:
        """Return the log as a store writes to it: one that does not wait is a `Log`, too."""
        if self._telling is None:
            return cast(Log, log)
        from linnet.runtime.sessions.queued_log import QueuedLog

        return self._noted(QueuedLog.opened(self._telling, log, header, lines))

    def _noted(self, log: "QueuedLog") -> "QueuedLog":
        self._queued[log.key] = log
        return log


def _place(
    store: Store, position: Position, past: Past, spent: Usage, problem: str = "", *, made: bool = False
) -> Place:
    return Place(store, past, position.model, position.thinking, spent, problem, made)


def remembered(place: Place, accounts: "Accounts") -> tuple[list[Setting], str]:
    """Return the settings that were last used there, to be set again, and why its model cannot be, if it cannot."""
    settings: list[Setting] = [ThinkingSet(level) for level in get_args(Reasoning) if level == place.thinking]
    if place.model is None:
        return settings, ""
    try:
        model = accounts.choose(place.model.provider, place.model.model, unlisted=True)
    except ConfigError as error:
        reason = "" if isinstance(error, UnknownModel) else f" ({error})"
        return settings, f"the session's model {place.model.provider}/{place.model.model} cannot be used here{reason}"
    return [ModelSet(model), *settings], ""
