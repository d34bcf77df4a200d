"""One file of an agent's events: a header, what was open when it began, and lines of events."""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress

from msgspec import DecodeError, Struct
from msgspec.json import encode

from linnet.core.events import Event
from linnet.core.messages import Message
from linnet.decoding import decoder_of
from linnet.eventlog.followed import Numbered
from linnet.eventlog.spelling import VERSION, Reader, Unreadable, Writer
from linnet.files.replacing import write_all
from linnet.wire.jsonl import Lines, Overlong

SUFFIX = ".events.jsonl"
UNBEGUN = ".new"
CHUNK = 256 * 1024


class Header(Struct, frozen=True):
    """The first line of a file."""

    version: int
    first: int
    """Events in the file have this number or a higher one."""
    boot: str
    whole: bool
    """Nothing is missing between the file before this one and this."""


def name(first: int) -> str:
    """Return the name of the file that begins with this number. Names sort as numbers do."""
    return f"{first:020d}{SUFFIX}"


def firsts(folder: str) -> list[int]:
    """Return the numbers with which the files in a folder begin, the lowest first."""
    found = [each.removesuffix(SUFFIX) for each in os.listdir(folder) if each.endswith(SUFFIX)]
    return sorted(int(each) for each in found if each.isdecimal())


class Segment:
    """A file that is written to. Whoever calls sees to it that one thread does at a time."""

    def __init__(
        self, folder: str, first: int, size: int = 0, messages: Sequence[Message] = (), *, settled: bool = False
    ) -> None:
        """Open the file that begins with this number, to go on after so many bytes. `messages` are those in it. Without
        any bytes it is a new one, which has its name once it has begun: whoever is killed before leaves none behind
        that says nothing.

        Raises OSError.
        """
        self.first = first
        self.size = size
        """So many bytes are whole lines, which others may read."""
        self._begun = 0  # So many of them are what it begins with.
        self._settled = settled
        self._writer = Writer(messages)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._path = os.path.join(folder, name(first))
        self._fd = os.open(self._path if size else self._path + UNBEGUN, flags, 0o600)
        try:
            os.ftruncate(self._fd, size)  # What else there is was never told to anybody.
        except OSError:
            os.close(self._fd)
            raise

    def begin(self, header: Header, opening: Sequence[Event], time: int) -> None:
        """Write what a file begins with. Raises OSError."""
        self._write(encode(header) + b"\n" + (self._writer.line(opening, 0, time) if opening else b""))
        os.rename(self._path + UNBEGUN, self._path)
        self._begun = self.size

    @property
    def added(self) -> int:
        """Return how many bytes came after what it begins with."""
        return self.size - self._begun

    @property
    def is_intact(self) -> bool:
        """Return whether the file is there, and has what was written: anybody may have removed or emptied it."""
        status = os.fstat(self._fd)
        return status.st_size == self.size and status.st_nlink > 0

    def append(self, batches: Sequence[Numbered], time: int) -> None:
        """Write these events, all of them or none. Raises OSError."""
        self._write(b"".join([self._writer.line(each.events, each.first, time, each.parent) for each in batches]))

    def settle(self) -> None:
        """Have all of it on disk, and say so in it, unless it does: as far as the disk allows."""
        if self._settled:
            return
        with suppress(OSError):
            os.fsync(self._fd)
            self._write(self._writer.closing())
            os.fsync(self._fd)
            self._settled = True

    def close(self) -> None:
        os.close(self._fd)

    def _write(self, lines: bytes) -> None:
        try:
            write_all(self._fd, lines)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._fd, self.size)  # No half of a line stays.
            raise
        self.size += len(lines)
        self._settled = False


class Reading:
    """A file that is read from its beginning on, also while it is written to."""

    def __init__(self, folder: str, first: int) -> None:
        """Raises OSError if it is not there any more, Unreadable if it is another version's."""
        self._fd = os.open(os.path.join(folder, name(first)), os.O_RDONLY | os.O_CLOEXEC)
        self._reader = Reader()
        self._split = Lines()
        self._ready: deque[bytes] = deque()
        self.closed = False
        """The last line that was read says that all before it is on disk."""
        try:
            # Not more than that: what follows may still be being written.
            line, end, _ = os.pread(self._fd, CHUNK, 0).partition(b"\n")
            self.header = _header(line)
            self._position = len(line + end)
        except (OSError, Unreadable):
            self.close()
            raise

    def batches(self, size: int | None) -> Iterator[Numbered]:
        """Yield what was not read yet of the first `size` bytes; all without one. Raises Unreadable."""
        for line in self._lines(size):
            said, happened = self._reader.read(line)
            self.closed = said.closed
            if happened:
                yield Numbered(said.n, happened, said.p)

    @property
    def messages(self) -> Sequence[Message]:
        """Return the messages that were read, in their order."""
        return self._reader.messages

    @property
    def whole_lines(self) -> int:
        """Return how many bytes are whole lines, once all were read."""
        return self._position - self._split.unfinished

    def close(self) -> None:
        os.close(self._fd)

    def _lines(self, size: int | None) -> Iterator[bytes]:
        while True:
            while self._ready:
                yield self._ready.popleft()
            wanted = CHUNK if size is None else min(CHUNK, size - self._position)
            if wanted <= 0:
                return
            chunk = os.pread(self._fd, wanted, self._position)
            if not chunk and size is not None:
                raise Unreadable("it is shorter than what was written")
            if not chunk:
                return
            self._position += len(chunk)
            for line in self._split.feed(chunk):
                if isinstance(line, Overlong):
                    raise Unreadable(line.reason)
                self._ready.append(line)


def _header(line: bytes) -> Header:
    try:
        header = decoder_of(Header).decode(line)
    except DecodeError as error:
        raise Unreadable(f"it does not begin as a file of events: {error}") from None
    if header.version != VERSION:
        raise Unreadable(f"it is version {header.version}, and this linnet reads version {VERSION}")
    return header
