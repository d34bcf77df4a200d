"""The folders that projects' session files are in: names new files, and finds, opens and lists sessions."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress

from msgspec import Struct

from linnet.core.events import Past
from linnet.core.messages import Usage, UserMessage, texts
from linnet.core.session_info import SessionInfo
from linnet.core.text.timestamps import stamp
from linnet.errors import SessionError
from linnet.store import file
from linnet.store.entries import ModelChanged, Said
from linnet.store.header import VERSION, Header
from linnet.store.lines import Glance, content_of, glance
from linnet.store.log import Log, MemoryLog
from linnet.store.position import Position
from linnet.store.reading import Contents
from linnet.store.store import DEFAULT, EntrySources, Store, spent

SUFFIX = ".jsonl"
LONGEST_NAME = 240  # Bytes of a folder's name; file systems take 255.
AT_HAND = 32 * 1024 * 1024  # The bytes of a file are kept until the conversation is asked for, unless there are more.
_MOST_NAMED = 3


class NoSuchSession(SessionError):
    """Nobody has a session of this name."""

    def __init__(self, word: str, hint: str = "") -> None:
        self.word = word
        super().__init__(f"no session has an id that begins with {word}{hint}")


def folder(home: str, cwd: str) -> str:
    """Return the folder that the sessions of `cwd` are in. Its name is made as pi makes it."""
    name = cwd.lstrip("/").replace("/", "-").replace("\\", "-").replace(":", "-")
    if len(os.fsencode(name)) > LONGEST_NAME:
        from zlib import crc32

        name = f"{name[:40]}…{name[-40:]}-{crc32(os.fsencode(cwd)):08x}"
    return os.path.join(home, "sessions", f"--{name}--")


def note(folder: str, header: Header, path: str) -> None:
    """Make a link in the folder to a session that is kept elsewhere. Where that cannot be done nothing is raised: the
    session is as good, but is not found.
    """
    real = os.path.realpath(path)
    link = os.path.join(folder, file_name(header))
    if os.path.dirname(real) == os.path.realpath(folder) or os.path.lexists(link):
        return
    with suppress(OSError):
        file.make_folder(folder)
        os.symlink(real, link)
        remove_dead_links(folder)


def remove_dead_links(folder: str) -> None:
    """Remove links to sessions that are not there any more."""
    with suppress(OSError), os.scandir(folder) as found:
        for each in found:
            if each.is_symlink() and not os.path.exists(each.path):
                os.unlink(each.path)


def file_name(header: Header) -> str:
    """Return the name of a new session's file, made as pi makes it."""
    return f"{header.timestamp.replace(':', '-').replace('.', '-')}_{header.id}{SUFFIX}"


def in_memory(header: Header, lines: Sequence[bytes] = (), *, sources: EntrySources = DEFAULT) -> Store:
    """Return a session with these lines that lasts as long as the object."""
    return Store(header, MemoryLog(lines), glances(lines), sources=sources)


class Opened(Struct, frozen=True):
    """A session that was there before."""

    store: Store
    position: Position
    past: Past  # What the model is shown of it.
    spent: Usage  # What was paid for it.


def open_store(path: str, *, to_write: bool = True, sources: EntrySources = DEFAULT) -> Opened:
    """Open the session in a file, and lock it; unless `to_write`, only read it into memory. Raises SessionError."""
    log: Log
    if to_write:
        log, loaded = file.open_locked(path)
    else:
        loaded = file.read(path)
        log = MemoryLog(loaded.lines)
    return opened(log, loaded, sources=sources)


def opened(log: Log, found: Contents, *, sources: EntrySources = DEFAULT) -> Opened:
    """Return the session of a log that has these contents. Their index belongs to the session from now on."""
    paid = found.index.spent
    store = Store(found.header, log, found.index, sources=sources)
    at_hand = not store.add_pending() and found.size <= AT_HAND
    position = store.position()
    return Opened(store, position, store.past(position, found.lines if at_hand else None), paid)


def new_header(id: str, now: int, cwd: str, parent: str | None = None) -> Header:
    """Return the header of a new session. `now` is in milliseconds since 1970."""
    return Header(id, stamp(now), cwd, parent, VERSION)


def paid(lines: Sequence[bytes]) -> Usage:
    """Return what was paid for these lines."""
    return spent(glances(lines))


def find(word: str, folders: Sequence[str], cwd: str = "") -> str | None:
    """Return the path of the session that a word means: a path, or the beginning of an id; None if no id begins so.

    What the first folder has hides what the others have. Raises SessionError if several sessions are meant.
    """
    path = os.path.abspath(os.path.join(cwd, os.path.expanduser(word)))
    if os.sep in word or word.endswith(SUFFIX) or os.path.exists(path):
        return path
    for group in (folders[:1], folders[1:]):
        paths = [path for each in group for path in files(each) if any(id.startswith(word) for id in _ids(path))]
        if len(paths) > 1:
            which = ", ".join(paths[:_MOST_NAMED]) + (", …" if len(paths) > _MOST_NAMED else "")
            raise SessionError(
                f"{word} is the beginning of {len(paths)} sessions; write more of its id, or name {which}"
            )
        if paths:
            return paths[0]
    return None


def newest(folders: Sequence[str], cwd: str | None = None, unread: list[str] | None = None) -> str | None:
    """Return the session of these folders that was changed last, of those that have messages; None if there is none.

    Folders with much the same path share one for their sessions; `cwd` says which of them is meant. Why a newer session
    could not be read is added to `unread`.
    """
    for path in _newest_first(path for each in folders for path in files(each)):
        try:
            loaded = file.read(path)
        except SessionError as error:
            if unread is not None:
                unread.append(str(error))
            continue
        if loaded.index.messages and _belongs(loaded.header.cwd, cwd):
            return path
    return None


def summaries(folders: Sequence[str], cwd: str | None = None, unread: list[str] | None = None) -> Iterator[SessionInfo]:
    """Yield the sessions of these folders, newest first. Those of another folder than `cwd` are left out, and so are
    files that cannot be read: the reason is added to `unread`.
    """
    for path in _newest_first(path for each in folders for path in files(each)):
        try:
            found = summary(path)
        except (SessionError, OSError) as error:
            if unread is not None:
                unread.append(str(error))
            continue
        if _belongs(found.cwd, cwd):
            yield found


def is_of(path: str, cwd: str | None) -> bool:
    """Return whether a file may be a session of this folder: it says so, or names no folder."""
    head = file.first_header(path)
    return head is None or _belongs(head.cwd, cwd)


def _belongs(to: str, cwd: str | None) -> bool:
    """Return whether a session that names the folder `to` belongs to `cwd`. A path that is not valid text was written
    as the nearest that is.
    """
    return cwd is None or not to or to in (cwd, cwd.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def summary(path: str) -> SessionInfo:
    """Return what a list says of the session in a file. Raises SessionError or OSError."""
    loaded = file.read(path)
    return info(loaded, path, stamp(os.stat(path).st_mtime_ns // 1_000_000))


def info(found: Contents, path: str, modified: str) -> SessionInfo:
    """Return what a list says of a session with these contents; `path` is the key it is opened by."""
    index, paid = found.index, found.index.spent
    model = _model(found)
    return SessionInfo(
        path=path,
        id=found.header.id,
        name=index.name,
        cwd=found.header.cwd,
        created=found.header.timestamp,
        modified=modified,
        messages=index.messages,
        first_message=_first_message(found),
        provider=model.provider,
        model=model.model,
        tokens=paid.total,
        known_cost=paid.cost.total,
        cost_known=paid.cost_known,
        parent=found.header.parent_session,
    )


def files(folder: str) -> list[str]:
    """Return the session files of a folder, newest first. A link counts as the file it leads to, if there is one."""
    try:
        with os.scandir(folder) as found:
            entries = [each for each in found if each.name.endswith(SUFFIX) and each.name[0] != "."]
    except OSError:
        return []
    paths = [os.path.realpath(each.path) if each.is_symlink() else each.path for each in entries]
    linked = {path for path, each in zip(paths, entries, strict=True) if each.is_symlink()}
    return _newest_first(path for path in dict.fromkeys(paths) if path not in linked or os.path.exists(path))


def folders(home: str) -> list[str]:
    """Return the folders of all projects that have sessions."""
    root = os.path.join(home, "sessions")
    try:
        return sorted(os.path.join(root, name) for name in os.listdir(root))
    except OSError:
        return []


def _newest_first(paths: Iterator[str]) -> list[str]:
    def modified(path: str) -> int:
        try:
            return os.stat(path).st_mtime_ns
        except OSError:
            return 0

    return sorted(paths, key=lambda path: (modified(path), path), reverse=True)


def _ids(path: str) -> tuple[str, ...]:
    """Return the id in a file's name and the one in its header: somebody may have renamed the file."""
    head = file.first_header(path)
    named = os.path.basename(path).removesuffix(SUFFIX).rpartition("_")[2]
    return (named,) if head is None else (named, head.id)


def _first_message(found: Contents) -> str:
    for node in found.index.tree.nodes:
        if node.role == "user":
            content = content_of(found.lines[node.index], node.id, node.time)
            if isinstance(content, Said) and isinstance(content.message, UserMessage):
                return texts(content.message.content)
    return ""


def _model(found: Contents) -> ModelChanged:
    for node in reversed(found.index.tree.nodes):
        if node.role == "assistant":
            seen = glance(found.lines[node.index])
            if seen is not None and seen.message is not None:
                return ModelChanged(seen.message.provider, seen.message.model)
        if node.type == "model_change":
            content = content_of(found.lines[node.index], node.id, node.time)
            if isinstance(content, ModelChanged):
                return content
    return ModelChanged("", "")


def glances(lines: Sequence[bytes]) -> list[Glance]:
    """Return a glance at each line; what is no entry is left out."""
    return [seen for line in lines if (seen := glance(line)) is not None]
