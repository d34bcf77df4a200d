"""The folder that a project's sessions are kept in: new ones, old ones, the newest, and a list of them."""

import os
from collections.abc import Iterator, Sequence

from msgspec import Struct

from linnet.core.events import Past
from linnet.core.messages import Usage, UserMessage, texts
from linnet.core.sessions import SessionInfo
from linnet.errors import SessionError
from linnet.store import file
from linnet.store.entries import VERSION, Header, Line, ModelChanged, Said, entry, glance
from linnet.store.log import Log, MemoryLog
from linnet.store.resume import Standing
from linnet.store.store import DEFAULT, Making, Store, spent, stamp

SUFFIX = ".jsonl"
LONGEST_NAME = 240  # Bytes; file systems take 255.
_MOST_NAMED = 3


def folder(home: str, cwd: str) -> str:
    """Named after the folder that is worked in, as pi does it."""
    name = cwd.lstrip("/").replace("/", "-").replace("\\", "-").replace(":", "-")
    if len(os.fsencode(name)) > LONGEST_NAME:
        from zlib import crc32

        name = f"{name[:40]}…{name[-40:]}-{crc32(os.fsencode(cwd)):08x}"
    return os.path.join(home, "sessions", f"--{name}--")


def create(folder: str, header: Header, lines: Sequence[bytes], path: str | None, *, making: Making = DEFAULT) -> Store:
    """In the folder, under a name of its own, unless a path is given. Raises SessionError."""
    name = f"{header.timestamp.replace(':', '-').replace('.', '-')}_{header.id}{SUFFIX}"
    log = file.create(path or os.path.join(folder, name), header, lines)
    return Store(header, log, _glances(lines), making=making)


def in_memory(header: Header, lines: Sequence[bytes] = (), *, making: Making = DEFAULT) -> Store:
    return Store(header, MemoryLog(lines), _glances(lines), making=making)


class Opened(Struct, frozen=True):
    """A session that was there before: where it stands, and what it has cost so far."""

    store: Store
    standing: Standing
    past: Past
    spent: Usage


def open_store(path: str, *, to_write: bool = True, making: Making = DEFAULT) -> Opened:
    """One that is not to be written to is read into memory and let go of. Raises SessionError."""
    log: Log
    if to_write:
        log, loaded = file.open_locked(path)
    else:
        loaded = file.read(path)
        log = MemoryLog(loaded.lines)
    store = Store(loaded.header, log, loaded.glances, making=making)
    lines = None if store.say_unsaid() else loaded.lines
    standing = store.standing()
    return Opened(store, standing, store.past(standing, lines), spent(loaded.glances))


def new_header(id: str, now: int, cwd: str, parent: str | None = None) -> Header:
    """`now` is in milliseconds since 1970."""
    return Header(id, stamp(now), cwd, parent, VERSION)


def paid(lines: Sequence[bytes]) -> Usage:
    return spent(_glances(lines))


def find(word: str, folders: Sequence[str], cwd: str = "") -> str | None:
    """The session that a word means: a path, or the beginning of an id. Raises SessionError if it means several.

    The first folder comes before the others, among which none does.
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


def newest(folder: str, cwd: str | None = None, unread: list[str] | None = None) -> str | None:
    """The one that was said something in last; sessions in which nothing was said do not count.

    Folders with much the same path share one for their sessions; `cwd` says which of them is meant. `unread` is told
    why a newer one could not be read.
    """
    for path in files(folder):
        try:
            loaded = file.read(path)
        except SessionError as error:
            if unread is not None:
                unread.append(str(error))
            continue
        if any(seen.message is not None for seen in loaded.glances) and _belongs(loaded.header.cwd, cwd):
            return path
    return None


def summaries(folders: Sequence[str], cwd: str | None = None, unread: list[str] | None = None) -> Iterator[SessionInfo]:
    """Newest first. Those of another folder than `cwd` are left out, and so are files that cannot be read: `unread` is
    told why.
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
    """Whether it is a session of this folder, as far as it says."""
    head = file.first_header(path)
    return head is None or _belongs(head.cwd, cwd)


def _belongs(to: str, cwd: str | None) -> bool:
    """A name that is no text has been read back as the nearest thing that is."""
    return cwd is None or not to or to in (cwd, cwd.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def summary(path: str) -> SessionInfo:
    loaded = file.read(path)
    glances = loaded.glances
    paid = spent(glances)
    names = [(seen.name or "").strip() for seen in glances if seen.type == "session_info"]
    model = _model(loaded.lines, glances)
    return SessionInfo(
        path=path,
        id=loaded.header.id,
        name=names[-1] if names else "",
        cwd=loaded.header.cwd,
        created=loaded.header.timestamp,
        modified=stamp(os.stat(path).st_mtime_ns // 1_000_000),
        messages=sum(seen.message is not None for seen in glances),
        first_message=_first_message(loaded.lines, glances),
        provider=model.provider,
        model=model.model,
        tokens=paid.total,
        cost=paid.cost.total,
        parent=loaded.header.parent_session,
    )


def files(folder: str) -> list[str]:
    """Newest first."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return _newest_first(os.path.join(folder, name) for name in names if name.endswith(SUFFIX) and name[0] != ".")


def folders(home: str) -> list[str]:
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
    """What its name says, and what it says itself: somebody may have named it."""
    head = file.first_header(path)
    named = os.path.basename(path).removesuffix(SUFFIX).rpartition("_")[2]
    return (named,) if head is None else (named, head.id)


def _first_message(lines: Sequence[bytes], glances: Sequence[Line]) -> str:
    for line, seen in zip(lines, glances, strict=True):
        if seen.message is not None and seen.message.role == "user":
            content = entry(line, seen).content
            if isinstance(content, Said) and isinstance(content.message, UserMessage):
                return texts(content.message.content)
    return ""


def _model(lines: Sequence[bytes], glances: Sequence[Line]) -> ModelChanged:
    for line, seen in zip(reversed(lines), reversed(glances), strict=True):
        if seen.message is not None and seen.message.role == "assistant":
            return ModelChanged(seen.message.provider, seen.message.model)
        if seen.type == "model_change":
            content = entry(line, seen).content
            if isinstance(content, ModelChanged):
                return content
    return ModelChanged("", "")


def _glances(lines: Sequence[bytes]) -> list[Line]:
    return [seen for line in lines if (seen := glance(line)) is not None]
