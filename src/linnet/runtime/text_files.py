"""Files that people write for the agent, read with care: any of them may be huge, broken, or no file at all."""

import os
from collections.abc import Callable, Iterator
from stat import S_ISREG
from threading import Lock
from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct

from linnet.errors import BadInput, LinnetError

T = TypeVar("T")
MOST = 256 * 1024  # Bytes of a file that somebody wrote by hand.
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY  # Opening a FIFO would wait for its other end.
_TRIES = 3
Signature: TypeAlias = tuple[int, int, int, int]
Open: TypeAlias = Callable[[str, int], int]
"""As `os.open`; it may raise BadInput for what may not be opened."""


class Text(Struct, frozen=True):
    """`cut`: there is more in the file."""

    path: str
    text: str
    cut: bool


class Files(Generic[T]):
    """What is made of files, each of which is read again only when it has changed.

    Nothing is raised: what cannot be used counts as not there, and that is told, in one line, once.
    """

    def __init__(
        self, make: Callable[[Text], T], *, most: int = MOST, cuts: bool = False, open: Open = os.open
    ) -> None:
        """`make` raises BadInput for a text that cannot be used. What is longer than `most` is left out, or cut."""
        self._make = make
        self._most = most
        self._cuts = cuts
        self._open = open
        self._known: dict[tuple[str, str | None], tuple[Signature, T | None]] = {}
        self._told: set[str] = set()
        self._lock = Lock()

    def get(self, path: str, within: str | None = None) -> T | None:
        """None if there is none, or it cannot be used, or it is a link that leads out of the folder `within`."""
        with self._lock:
            try:
                status = os.stat(path)
            except (FileNotFoundError, NotADirectoryError):
                self._known.pop((path, within), None)
                return None
            except (OSError, ValueError) as error:
                self._complain(path, error)
                return None
            before = _signature(status)
            known = self._known.get((path, within))
            if known is None or known[0] != before:
                known = self._known[path, within] = before, self._read(path, status, within)
            return known[1]

    def tell(self, sentence: str) -> None:
        """Once, to whoever looks after the program."""
        if sentence not in self._told:
            self._told.add(sentence)
            warn(sentence)

    def _read(self, path: str, status: os.stat_result, within: str | None) -> T | None:
        try:
            if not S_ISREG(status.st_mode):
                raise BadInput("it is not a file")  # Opening a device may do something.
            if within is not None:
                path_in_full = os.path.realpath(path)
                if not is_inside(path_in_full, within):
                    raise BadInput(f"it is a link that leads out of {named(within)}")
                text, cut = read(path_in_full, self._most, os.O_NOFOLLOW, open=self._open)
            else:
                text, cut = read(path, self._most, open=self._open)
            if cut and not self._cuts:
                raise BadInput(f"it has more than {self._most // 1024} KiB")
            return self._make(Text(path, text, cut))
        except (OSError, LinnetError) as error:
            self._complain(path, error)
            return None

    def _complain(self, path: str, error: Exception) -> None:
        self.tell(_sentence(path, error))


def read(path: str, most: int, more_flags: int = 0, *, open: Open = os.open) -> tuple[str, bool]:
    """The beginning of a text file, at most so many bytes, and whether there is more. Never waits for anybody.

    Raises OSError, or BadInput with the end of a sentence about the file.
    """
    fd = open(path, _FLAGS | more_flags)
    try:
        for _ in range(_TRIES):
            before = os.fstat(fd)
            if not S_ISREG(before.st_mode):
                raise BadInput("it is not a file")
            data = _read(fd, most + 1, before.st_size)
            if _signature(os.fstat(fd)) == _signature(before):
                break
        else:
            raise BadInput("it changes while it is read")
    finally:
        os.close(fd)
    cut = len(data) > most
    return _decoded(data[:most], cut=cut), cut


def entries(folder: str, tell: Callable[[str], None]) -> Iterator["os.DirEntry[str]"]:
    """What is in a folder, sorted by name; nothing if there is no such folder."""
    try:
        with os.scandir(folder) as found_there:
            found = sorted(found_there, key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        tell(_sentence(folder, error))
        return
    yield from found


def is_inside(path: str, folder: str) -> bool:
    """Both in full, with links followed."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def named(path: str) -> str:
    """As part of a line: a name may have line ends in it."""
    return path if path.isprintable() else repr(path)


def warn(sentence: str) -> None:
    """Without a handler of the program's own, this is a line on stderr."""
    import logging  # 5 ms that nothing healthy pays

    logging.getLogger("linnet.project").warning("linnet: %s", sentence)


def _sentence(path: str, error: Exception) -> str:
    why = error.strerror.lower() if isinstance(error, OSError) and error.strerror else str(error)
    return f"{named(path)} is left out: {why}"


def _signature(status: os.stat_result) -> Signature:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _read(fd: int, most: int, size: int) -> bytes:
    """`size` may be 0 for what the kernel makes as it is read."""
    data = b""
    while len(data) < most and (chunk := os.pread(fd, most - len(data), len(data))):
        data += chunk
        if len(data) == size:
            break
    return data


def _decoded(data: bytes, *, cut: bool) -> str:
    if b"\0" in data:
        raise BadInput("it is not text")
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        if cut and error.start >= len(data) - 3:  # A character that the limit falls into.
            return data[: error.start].decode().removeprefix("\ufeff")
        raise BadInput(f"it is not UTF-8 (byte {error.start})") from None
