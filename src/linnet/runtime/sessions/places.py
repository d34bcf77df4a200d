"""Begins, opens, copies and lists sessions, in the logs of a factory or in memory."""

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
    from linnet.runtime.models.known_models import KnownModels
    from linnet.runtime.sessions.queued_log import QueuedLog
    from linnet.runtime.sessions.telling import Telling


class Place(Struct, frozen=True):
    """A session that is open and can be gone on with. Whoever has one enters it, closes its log or discards it."""

    store: Store
    past: Past = Past()  # The conversation up to its leaf.
    model: ModelChanged | None = None  # What was set last.
    thinking: str | None = None  # The same.
    spent: Usage = Usage()
    problem: str = ""  # Why it is not saved, though it should be.
    made: bool = False  # It was not there before.

    def discard(self) -> None:
        """Close the session. If it was just made, delete it before somebody else can open it."""
        if self.made:
            self.store.log.discard()
        else:
            self.store.log.close()


class Sessions:
    """Sessions are kept in the logs of a factory, or else in files; those that are not saved are in memory. Where a
    session is kept follows from the settings as it begins; one that is open stays where it is.

    With `confine`, paths that a client sends must lead into the folder of sessions or the one that is worked in.
    """

    def __init__(
        self,
        live: LiveSettings,
        sources: EntrySources,
        new_session_id: Callable[[], str],
        logs: LogFactory | None = None,
        telling: "Telling | None" = None,
    ) -> None:
        """`telling` is given if the logs may wait: it writes them in the order of what is told."""
        self._live = live
        self._cwd = live.now.cwd
        self._telling = telling
        self._queued: MutableMapping[str, QueuedLog] = {}  # Those that were left may have entries to be written.
        if telling is not None:
            from weakref import WeakValueDictionary  # Those who keep files need not wait for it.

            self._queued = WeakValueDictionary()
        self._begun = False  # Whether the first session is open.
        self._sources = sources
        self._new_session_id = new_session_id
        self._unsaved = False  # The first session could not be saved; neither need the next ones be.
        self._given = logs
        self.remarks: list[str] = []  # Sentences for whoever started this: on unreadable sessions, on a new folder.

    @property
    def _options(self) -> SessionOptions:
        return self._live.now.sessions

    @property
    def _files(self) -> FileLogs:
        options = self._options
        return FileLogs(
            options.kept_in or options.home,
            self._cwd,
            options.folder,
            before=options.home if options.kept_in else None,
            sorted=options.kept_in is not None,
            confined=options.confine,
            allowed=self.allowed,
        )

    @property
    def _logs(self) -> LogFactory:
        return self._given or self._files

    def begin(self) -> Place:
        """Open the session that the command line asked for, or a new one. Raises SessionError if it named a session
        that cannot be used.
        """
        place = self._begin()
        self._begun = True
        return place

    def begin_unsaved(self, id: str, now: int) -> Place:
        """Begin a new session in memory, with this id. `now` is when that was, in milliseconds since 1970."""
        self._begun = True
        header = session_folder.new_header(id, now, self._cwd)
        return Place(session_folder.in_memory(header, sources=self._sources), made=True)

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
        if options.id is not None:
            if (found := self._identified(options.id)) is not None:
                return self.open(found)
            if options.kept_in is not None and options.saves:  # As pi says it.
                why = f"No project session found with id '{options.id}'; creating a new session with that id."
                self.remarks.append(why)
        try:
            return self.new(None)
        except SessionError:
            if options.insists:
                raise
            self._unsaved = True
            return self.new(None)

    def _begin_named(self, key: str) -> Place:
        """Open that session, or make it if it does not exist."""
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
        """Have a session of this project that is kept in another folder be found where the others are."""
        if store.log.key:
            self._logs.note(store.header, store.log.key)

    def forget(self, keys: Sequence[str]) -> None:
        """Delete these sessions in which nothing was said, unless somebody has gone on with one. Called with the
        session's lock held, since the log may wait.
        """
        if self._telling is None:
            self._forget(keys)
        else:
            self._telling.do_locked("", lambda: self._forget(keys))

    def _forget(self, keys: Sequence[str]) -> None:
        for key in keys:
            with suppress(SessionError):  # Somebody else has it open: then it is theirs.
                log, found = self._logs.open(key)
                if Store(found.header, MemoryLog(found.lines), found.index).is_blank:
                    log.discard()
                else:
                    log.close()
        self._logs.tidy()

    def new(self, parent: str | None) -> Place:
        """Make a session. `parent` is the path of the one that it came from. Raises SessionError if it cannot be
        saved.
        """
        store, problem = self._made(parent, ())
        return Place(store, problem=problem, made=True)

    def _identified(self, id: str) -> str | None:
        """Return the key of the session of this folder that has this id; None if there is none."""
        return self._files.identified(id) if self._given is None else id if self._given.exists(id) else None

    def open(self, key: str) -> Place:
        """Open an existing session, to write to it if sessions are saved, or to go on with a copy in memory.

        Raises SessionError if it cannot be read or is open elsewhere.
        """
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
        """Make a session with the entries on the path to `leaf`. `parent` is where it came from, if not from the
        store's own log. Raises SessionError if it cannot be saved.
        """
        lines = store.copied(leaf)
        copy, problem = self._made(parent or store.log.key or None, lines)
        position = copy.position()
        return _place(copy, position, copy.past(position, lines), session_folder.paid(lines), problem, made=True)

    def key_of(self, word: str) -> str:
        """Return the key of the session that a client named by a path or the beginning of an id. Raises SessionError if
        there is none, and BadInput for a path that is not allowed.
        """
        if word in self._queued:
            return word  # It may not be made yet.
        found = self._logs.find(word, self._cwd)
        if found is None:
            raise session_folder.NoSuchSession(word)
        return self._logs.checked(found, word)

    def allowed(self, path: str) -> str:
        """Return the absolute path. Raises BadInput for what is no path, and with `confine` for one that
        leads outside.
        """
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
        """Return the sessions, newest first, and the key of the one among them that is open, if `here` is that."""
        return self._logs.listed(here, everywhere=everywhere)

    def _forked(self, word: str) -> Place:
        """Make a copy of the session that the command line named, which stays as it is."""
        id = self._options.id
        if id is not None and self._identified(id) is not None:
            raise SessionError(f"a session of this folder has the id {id} already")
        key = self._named(word)
        found = self._logs.read(key)
        source = session_folder.opened(MemoryLog(found.lines), found).store
        return self.copy(source, source.tree.leaf, key)

    def _named(self, word: str) -> str:
        """Return the key of the session that the command line named. Raises SessionError if there is none."""
        key = self._logs.find(word)
        if key is None:
            raise session_folder.NoSuchSession(word, "; see linnet sessions --all")
        return key

    def _made(self, parent: str | None, lines: Sequence[bytes], key: str | None = None) -> tuple[Store, str]:
        """Make a session with these lines. Returns its store, and why it is in memory, if it should be saved.

        Raises SessionError if it cannot be saved, unless the first session could not be either.
        """
        id = self._options.id if not self._begun else None
        header = session_folder.new_header(id or self._new_session_id(), self._sources.clock(), self._cwd, parent)
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
        """Make a log. The first is made at once, so that it is known to work; where the logs may wait, later ones are
        made in their turn, and this is called with the session's lock held. In today's format a file that nobody named
        is made when something is said.
        """
        if self._given is None and key is None and self._sources.format != "0.73" and not _has_prompt(lines):
            return self._files.create_late(header, lines)
        if self._telling is None or not self._begun:
            return self._for_store(self._logs.create(header, lines, key), header, lines)
        from linnet.runtime.sessions.queued_log import QueuedLog

        return self._noted(QueuedLog.to_be_made_locked(self._telling, self._logs, header, lines))

    def _for_store(self, log: OwnedLog, header: Header, lines: Sequence[bytes]) -> Log:
        """Return the log as a store writes to it: queued if it may wait. One that does not wait is a `Log` itself."""
        if self._telling is None:
            return cast(Log, log)
        from linnet.runtime.sessions.queued_log import QueuedLog

        return self._noted(QueuedLog.opened(self._telling, log, header, lines))

    def _noted(self, log: "QueuedLog") -> "QueuedLog":
        self._queued[log.key] = log
        return log


def _has_prompt(lines: Sequence[bytes]) -> bool:
    seen = session_folder.glances(lines)
    return any(each.message is not None and each.message.role == "user" for each in seen)


def _place(
    store: Store, position: Position, past: Past, spent: Usage, problem: str = "", *, made: bool = False
) -> Place:
    return Place(store, past, position.model, position.thinking, spent, problem, made)


def remembered(place: Place, models: "KnownModels") -> tuple[list[Setting], str]:
    """Return the events that set again what was last used in that session; and why its model cannot be used, if so."""
    settings: list[Setting] = [ThinkingSet(level) for level in get_args(Reasoning) if level == place.thinking]
    if place.model is None:
        return settings, ""
    try:
        model = models.choose(place.model.provider, place.model.model, unlisted=True)
    except ConfigError as error:
        reason = "" if isinstance(error, UnknownModel) else f" ({error})"
        return settings, f"the session's model {place.model.provider}/{place.model.model} cannot be used here{reason}"
    return [ModelSet(model), *settings], ""
