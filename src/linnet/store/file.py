"""Creates and opens session files: complete when they appear, open in one process at a time, mended after a crash."""

import os
from collections.abc import Sequence
from contextlib import suppress
from errno import EACCES
from itertools import count
from stat import S_ISREG

from linnet.errors import SessionError, SessionInUse
from linnet.files.folders import make
from linnet.files.lock import holder, lock
from linnet.files.replacing import FOLDER, new_file, sweep, write_all
from linnet.store.header import VERSION, Header, header, header_line
from linnet.store.log import FileLog
from linnet.store.reading import LoadedSession, Span, load

_LONGEST_HEADER = 1024 * 1024
_PRIVATE = 0o600  # Conversations are nobody else's business.


def read(path: str) -> LoadedSession:
    """Return what is in a session file, without locking or changing it. Raises SessionError."""
    fd = _open(path, os.O_RDONLY)
    try:
        with open(fd, "rb") as file:
            data = file.read()
    except OSError as error:
        raise SessionError(f"{path} cannot be read: {error.strerror}") from None
    return load(data, path)


def first_header(path: str) -> Header | None:
    """Return the header of a session file, reading no more than that; None if it is no session."""
    try:
        with open(_open(path, os.O_RDONLY), "rb") as file:
            return header(file.readline(_LONGEST_HEADER))
    except (SessionError, OSError):
        return None


def make_room(path: str) -> None:
    """See that a file can be made here later. Raises SessionError if it looks as if it cannot."""
    folder = os.path.dirname(path) or "."
    try:
        make_folder(os.path.dirname(path))
    except (OSError, ValueError) as error:
        raise SessionError(f"{path} could not be made: {_reason(error)}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise SessionError(f"{path} could not be made: {os.strerror(EACCES)}")


def create(path: str, header: Header, lines: Sequence[bytes] = ()) -> FileLog:
    """Make a file that has all these lines when it appears, and lock it. Raises SessionError if the name is taken."""
    try:
        make_folder(os.path.dirname(path))
        return _create(path, header, lines)
    except FileExistsError:
        raise SessionError(f"{path} exists already") from None
    except (OSError, ValueError) as error:
        raise SessionError(f"{path} could not be made: {_reason(error)}") from None


def open_locked(path: str) -> tuple[FileLog, LoadedSession]:
    """Lock a session file, bring it up to date, and mend its end; return its log and what is in it.

    Raises SessionError. A file that is no session is left unchanged.
    """
    try:
        fd = _locked(path)  # Before it is read: nobody may add to it between reading and writing.
        real = os.path.realpath(path)  # A link stays one; the original goes beside the file it leads to.
        try:
            with open(os.dup(fd), "rb") as file:
                loaded = load(file.read(), path)
            if loaded.version < VERSION:  # First: the new file has no torn end, and the original keeps its own.
                fd, loaded = _brought_up_to_date(fd, real, loaded)
            size = _mended(fd, real, loaded)
        except BaseException:
            os.close(fd)
            raise
    except OSError as error:
        raise SessionError(f"{path} could not be opened: {error.strerror}") from None
    return FileLog(fd, path, size, loaded.spans), loaded


def _locked(path: str) -> int:
    """Return the open file of that name, locked. Raises SessionInUse.

    Whoever replaces a file does so under its lock. One that was replaced between being opened and being locked is not
    the session any more, and the one that is there now is opened instead.
    """
    while True:
        fd = _open(path, os.O_RDWR | os.O_APPEND)
        try:
            if not lock(fd) and not _comes_free(fd):
                raise SessionInUse(path, holder(fd))
            if _is_still(fd, path):
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)


def _comes_free(fd: int) -> bool:
    """Return whether the file could be locked after a moment: a child that was just started may still hold a lock of
    ours.
    """
    from time import sleep

    for _ in range(10):
        if holder(fd) != os.getpid():
            return False
        sleep(0.005)
        if lock(fd):
            return True
    return False


def _is_still(fd: int, path: str) -> bool:
    """Return whether the file that was opened and then locked is still the one of that name."""
    return os.path.samestat(os.fstat(fd), os.stat(path))


def _open(path: str, how: int) -> int:
    """Return the open file. Raises SessionError for what is no regular file: opening a pipe must not wait."""
    try:
        fd = os.open(path, how | os.O_NONBLOCK | os.O_CLOEXEC)
        if S_ISREG(os.fstat(fd).st_mode):
            return fd
        os.close(fd)
    except FileNotFoundError:
        raise SessionError(f"{path} does not exist") from None
    except (OSError, ValueError) as error:
        raise SessionError(f"{path} cannot be opened: {_reason(error)}") from None
    raise SessionError(f"{path} is not a file")


def _reason(error: OSError | ValueError) -> str:
    """Return why a file cannot be opened or made. A name that no file can have is a ValueError."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def make_folder(path: str) -> None:
    """Make a folder and those above it. They are private: their names tell what is worked on."""
    if path:
        make(path, 0o700)


def _create(path: str, header: Header, lines: Sequence[bytes]) -> FileLog:
    # The file is locked and has all its lines before it gets its name: nobody ever finds half a session, or opens one
    # that is being made.
    temporary, fd = _beside(path)
    try:
        first = header_line(header)
        spans: list[Span] = []
        size = len(first) + 1
        for line in lines:
            spans.append(Span(size, len(line)))
            size += len(line) + 1
        write_all(fd, b"\n".join((first, *lines, b"")))
        _link(temporary, path)
    except BaseException:
        os.close(fd)
        raise
    finally:
        with suppress(OSError):
            os.unlink(temporary)
    return FileLog(fd, path, size, spans)


def _brought_up_to_date(fd: int, path: str, loaded: LoadedSession) -> tuple[int, LoadedSession]:
    """Replace the file by one of the present version; the original stays, under a name that tells its version.

    Return the new file, locked, and what is in it.
    """
    # The original has its second name before the first is taken from it, and the new file is on disk before it has that
    # name: a crash at any point leaves a whole session under `path`.
    _back_up(path, loaded.version)
    temporary, new = _beside(path)
    data = b"\n".join((loaded.first, *loaded.lines, b""))
    try:
        write_all(new, data)
        os.fsync(new)
        os.rename(temporary, path)
    except BaseException:
        os.close(new)
        with suppress(OSError):
            os.unlink(temporary)
        raise
    os.close(fd)  # The lock on the original goes last: whoever gets it then sees that the name is another file's now.
    return new, load(data, path)


def _back_up(path: str, version: int) -> None:
    """Give the file another name that tells its version, or one with a number if that is taken by another file."""
    for number in count(1):
        original = f"{path}.v{version}" + (f".{number}" if number > 1 else "")
        try:
            _link(path, original, both=True)
        except FileExistsError:
            if not os.path.samefile(path, original):  # Or else an earlier try got as far as this.
                continue
        return


def _mended(fd: int, path: str, loaded: LoadedSession) -> int:
    """Make the file end with a line end, and return its size. A line that was never finished goes to another file."""
    size = os.fstat(fd).st_size
    if loaded.unended:
        write_all(fd, b"\n")
        return size + 1
    if size > loaded.ended:
        torn = os.pread(fd, size - loaded.ended, loaded.ended)
        aside = os.open(f"{path}.torn", os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, _PRIVATE)
        try:
            write_all(aside, torn + b"\n")
            os.fsync(aside)
        finally:
            os.close(aside)
        os.ftruncate(fd, loaded.ended)  # Only now: what was torn is safe beside the file.
    return loaded.ended


def _beside(path: str) -> tuple[str, int]:
    """Return the name of a new file in the same folder, and the file, open and locked. What a killed process left of
    such files is removed.
    """
    folder = os.path.dirname(path)
    at = os.open(folder or ".", FOLDER)
    try:
        sweep(at)
        name, fd = new_file(at, _PRIVATE, os.O_RDWR | os.O_APPEND)
    finally:
        os.close(at)
    return os.path.join(folder, name), fd


def _link(path: str, name: str, *, both: bool = False) -> None:
    """Give a file another name, that nothing else has. Raises FileExistsError.

    Where no file can have two names it loses the old one, or is copied if `both` must be there.
    """
    try:
        os.link(path, name)
        return
    except FileExistsError:
        raise
    except OSError:
        if os.path.lexists(name):
            raise FileExistsError from None
    if not both:
        os.rename(path, name)
        return
    from shutil import copy2

    copy2(path, name)
