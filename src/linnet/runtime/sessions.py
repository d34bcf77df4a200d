"""Where the sessions of this run of the program are: begun, opened, copied and listed, in files or in memory."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import Struct

from linnet.core.events import Past
from linnet.core.messages import Usage
from linnet.core.sessions import SessionInfo
from linnet.errors import BadInput, SessionError
from linnet.runtime.settings import SessionOptions
from linnet.store import sessions
from linnet.store.entries import ModelChanged
from linnet.store.header import Header
from linnet.store.position import Position
from linnet.store.store import Sources, Store


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
    """With `confine`, paths that a client sends must lead into the folder of the sessions or the one worked in."""

    def __init__(self, options: SessionOptions, cwd: str, sources: Sources, new_session_id: Callable[[], str]) -> None:
        self._options = options
        self._cwd = cwd
        self._sources = sources
        self._new_session_id = new_session_id
        self._unsaved = False  # The first session could not be saved; neither need the next ones be.
        self.remarks: list[str] = []  # Newer sessions that could not be read, where the newest was asked for.
        self.folder = options.folder or sessions.folder(options.home, cwd)

    def adopt(self, options: SessionOptions) -> None:
        """The next session is kept as these say; the one that is open stays where it is."""
        self._options = options
        self.folder = options.folder or sessions.folder(options.home, self._cwd)

    def begin(self) -> Place:
        """What the command line asked for. Raises SessionError if it named a session that cannot be used."""
        options = self._options
        if options.session is not None:
            return self._begin_named(self._named(options.session))
        if options.resume:
            newest = sessions.newest(self.folder, self._only, self.remarks)
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

    def _begin_named(self, path: str) -> Place:
        if os.path.lexists(path):
            return self.open(path)
        try:
            return Place(self._made(None, (), path)[0], made=True)
        except SessionError:
            if not os.path.lexists(path):
                raise
            return self.open(path)  # Somebody else has just made it.

    def note(self, store: Store) -> None:
        """A session of this project that is kept in another folder is found where the others are."""
        usual = self._options.folder is None and store.header.cwd == self._cwd
        if usual and store.path is not None:
            sessions.note(self.folder, store.header, store.path)

    def forget(self, paths: Sequence[str]) -> None:
        """Take away sessions that were made for nothing, unless somebody has gone on with one."""
        for path in paths:
            with suppress(SessionError):
                store = sessions.open_store(path).store
                if store.is_blank:
                    store.log.discard()
                else:
                    store.log.close()
        sessions.remove_dead_links(self.folder)

    def new(self, parent: str | None) -> Place:
        store, problem = self._made(parent, ())
        return Place(store, problem=problem, made=True)

    def open(self, path: str) -> Place:
        """With nothing to be written anywhere, what is there is only read."""
        opened = sessions.open_store(path, to_write=self._options.saves, sources=self._sources)
        return _place(opened.store, opened.position, opened.past, opened.spent)

    def copy(self, store: Store, leaf: str | None, parent: str | None = None) -> Place:
        """A new session that has the path to `leaf` in it, and knows which file it came from."""
        lines = store.copied(leaf)
        copy, problem = self._made(parent or store.path, lines)
        position = copy.position()
        return _place(copy, position, copy.past(position, lines), sessions.paid(lines), problem, made=True)

    def path_of(self, word: str) -> str:
        """The file of an existing session that a client named. Raises SessionError."""
        found = sessions.find(word, self._folders(), self._cwd)
        if found is None:
            raise SessionError(f"no session has an id that begins with {word}")
        path = self.allowed(found)
        if self._options.confine and os.path.dirname(path) == self.folder and not sessions.is_of(path, self._only):
            raise SessionError(f"{word} does not exist")  # It is another project's, whose name looks alike.
        return path

    def allowed(self, path: str) -> str:
        """The path in full. Raises BadInput for what is none, and for one that leads outside, where that matters."""
        if "\0" in path:
            raise BadInput(f"{path!r} is not a path: there is a zero byte in it")
        full = os.path.abspath(os.path.join(self._cwd, os.path.expanduser(path)))
        if self._options.confine:
            real = os.path.realpath(full)
            roots = [os.path.realpath(root) for root in (self.folder, self._cwd)]
            if not any(os.path.commonpath([root, real]) == root for root in roots):
                confine = self._options.spelled("confine")
                raise BadInput(f"{path} leads outside {self.folder} and {self._cwd}, which {confine} does not allow")
        return full

    def _is_allowed(self, path: str) -> bool:
        try:
            self.allowed(path)
        except BadInput:
            return False
        return True

    def listed(self, here: str | None, *, everywhere: bool) -> tuple[list[SessionInfo], str | None]:
        """Return the sessions, newest first, and which of them is the one that is open, wherever that is."""
        if everywhere:
            found = sessions.summaries(self._folders(), self._cwd if self._options.confine else None)
        else:
            found = sessions.summaries([self.folder], self._only)
        listed = [info for info in found if self._is_allowed(info.path)]
        if here is None or not os.path.exists(here):
            return listed, None
        same = next((info.path for info in listed if _is_same(info.path, here)), None)
        if same is None:
            with suppress(SessionError, OSError):  # It may have been changed by others beyond recognition.
                listed.insert(0, sessions.summary(here))
        return listed, same or here

    @property
    def _only(self) -> str | None:
        """A folder that somebody chose may hold the sessions of many."""
        return self._cwd if self._options.folder is None else None

    def _folders(self) -> list[str]:
        """This project's first."""
        others = [] if self._options.confine else sessions.folders(self._options.home)
        return list(dict.fromkeys([self.folder, *others]))

    def _forked(self, word: str) -> Place:
        path = self._named(word)
        source = sessions.open_store(path, to_write=False).store
        return self.copy(source, source.tree.leaf, path)

    def _named(self, word: str) -> str:
        """What the command line means."""
        path = sessions.find(word, self._folders())
        if path is None:
            raise SessionError(f"no session has an id that begins with {word}; see linnet sessions --all")
        return path

    def _made(self, parent: str | None, lines: Sequence[bytes], path: str | None = None) -> tuple[Store, str]:
        """Return a new store, and why it is only in memory, if it should not be. Raises SessionError if it cannot be
        saved, unless the first session could not be either.
        """
        header = self._header(parent)
        problem = ""
        if self._options.saves:
            try:
                return sessions.create(self.folder, header, lines, path, sources=self._sources), ""
            except SessionError as error:
                if not self._unsaved:
                    raise
                problem = str(error)
        return sessions.in_memory(header, lines, sources=self._sources), problem

    def _header(self, parent: str | None) -> Header:
        return sessions.new_header(self._new_session_id(), self._sources.clock(), self._cwd, parent)


def _is_same(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False


def _place(
    store: Store, position: Position, past: Past, spent: Usage, problem: str = "", *, made: bool = False
) -> Place:
    return Place(store, past, position.model, position.thinking, spent, problem, made)
