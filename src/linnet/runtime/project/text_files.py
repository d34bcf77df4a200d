"""Reads files that people write for the agent, with care: any of them may be huge, broken, or no file at all."""

import os
from collections.abc import Callable, Iterator
from threading import Lock
from typing import Generic, TypeVar

from msgspec import Struct

from linnet import logs
from linnet.core.text.terminal_text import one_line
from linnet.errors import BadInput, LinnetError
from linnet.files import reading as files
from linnet.files.reading import Open

T = TypeVar("T")
MOST = 256 * 1024  # Bytes of a file that somebody wrote by hand.


class TextFile(Struct, frozen=True):
    """A file, or the beginning of one."""

    path: str
    text: str
    cut: bool  # There is more in the file.


class TextFiles(Generic[T]):
    """Makes values of files, and reads a file again only when it has changed.

    Nothing is raised: a file that cannot be used counts as not there, which is logged, in one line, once.
    """

    def __init__(
        self, make: Callable[[TextFile], T], *, most: int = MOST, cuts: bool = False, open: Open = os.open
    ) -> None:
        """`make` raises BadInput for a text that cannot be used. A file of more than `most` bytes is left out, or if
        `cuts` is set, cut.
        """
        self._make = make
        self._most = most
        self._cuts = cuts
        self._open = open
        self._known: dict[tuple[str, str | None], tuple[files.Signature, T | None]] = {}
        self._told: set[str] = set()
        self._lock = Lock()

    def get(self, path: str, within: str | None = None) -> T | None:
        """Return what was made of the file; None if it is not there, cannot be used, or is a link that leads out of the
        folder `within`.
        """
        with self._lock:
            try:
                status = os.stat(path)
            except (FileNotFoundError, NotADirectoryError):
                self._known.pop((path, within), None)
                return None
            except (OSError, ValueError) as error:
                self._complain(path, error)
                return None
            before = files.signature(status)
            known = self._known.get((path, within))
            if known is None or known[0] != before:
                known = self._known[path, within] = before, self._read(path, within)
            return known[1]

    def tell(self, sentence: str) -> None:
        """Log a sentence, unless it was logged before."""
        if sentence not in self._told:
            self._told.add(sentence)
            warn(sentence)

    def _read(self, path: str, within: str | None) -> T | None:
        try:
            if within is not None:
                path_in_full = os.path.realpath(path)
                if not is_inside(path_in_full, within):
                    raise BadInput(f"it is a link that leads out of {named(within)}")
                text, cut = read(path_in_full, self._most, os.O_NOFOLLOW, open=self._open)
            else:
                text, cut = read(path, self._most, open=self._open)
            if cut and not self._cuts:
                raise BadInput(f"it has more than {self._most // 1024} KiB")
            return self._make(TextFile(path, text, cut))
        except (OSError, LinnetError) as error:
            self._complain(path, error)
            return None

    def _complain(self, path: str, error: Exception) -> None:
        self.tell(_sentence(path, error))


def read(path: str, most: int, more_flags: int = 0, *, open: Open = os.open) -> tuple[str, bool]:
    """Return the beginning of a text file, at most so many bytes, and whether there is more. Never blocks, whatever
    kind of file it is.

    Raises OSError, or BadInput with the end of a sentence about the file.
    """
    found = files.read(path, most, more_flags, open=open)
    return _decoded(found.data, cut=found.cut), found.cut


def entries(folder: str, tell: Callable[[str], None]) -> Iterator["os.DirEntry[str]"]:
    """Yield what is in a folder, sorted by name; nothing if there is no such folder. If it cannot be read, `tell` is
    told why.
    """
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
    """Return whether the path is the folder, or in it. Both are absolute, with links resolved."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def named(path: str) -> str:
    """Return the path on one line: a name may have line ends in it."""
    return one_line(path)


def warn(sentence: str) -> None:
    """Log a sentence. If the program has no handler for logs, it is a line on stderr."""
    logs.warn("linnet.project", f"linnet: {sentence}")


def _sentence(path: str, error: Exception) -> str:
    why = error.strerror.lower() if isinstance(error, OSError) and error.strerror else str(error)
    return f"{named(path)} is left out: {why}"


def _decoded(data: bytes, *, cut: bool) -> str:
    if b"\0" in data:
        raise BadInput("it is not text")
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        if cut and error.start >= len(data) - 3:  # A character that the limit falls into.
            return data[: error.start].decode().removeprefix("\ufeff")
        raise BadInput(f"it is not UTF-8 (byte {error.start})") from None
