"""Splits the bytes of a session file into a header and lines, and builds an index of them.

Nothing here does I/O, so that whatever a crash may leave behind can be tried out.
"""

from collections.abc import Iterable, Iterator, MutableSequence, Sequence
from itertools import accumulate, compress
from typing import Protocol, overload

from msgspec import Struct

from linnet.errors import SessionError
from linnet.store.header import VERSION, Header, header
from linnet.store.lines import Glance, glance, glances
from linnet.store.migrate import migrated, migrated_header
from linnet.store.tree import Index

CHUNK = 128 * 1024  # About so many bytes are looked at together.


class Span(Struct, frozen=True, gc=False):
    """The place of a line in the file, without its line end."""

    start: int
    length: int


class Spans:
    """Spans in two rows of numbers, which take few bytes if there are `many`."""

    def __init__(self, spans: Iterable[Span] = (), *, many: bool = False) -> None:
        self.starts: MutableSequence[int] = []
        self.lengths: MutableSequence[int] = []
        if many:
            from array import array  # A new session need not wait for it.

            self.starts, self.lengths = array("q"), array("q")
        for span in spans:
            self.append(span)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, index: int) -> Span:
        return Span(self.starts[index], self.lengths[index])

    def __iter__(self) -> Iterator[Span]:
        return map(Span, self.starts, self.lengths)

    def append(self, span: Span) -> None:
        self.starts.append(span.start)
        self.lengths.append(span.length)

    def copy(self) -> "Spans":
        copy = Spans()
        copy.starts, copy.lengths = self.starts[:], self.lengths[:]
        return copy


class SessionLines(Sequence[bytes]):
    """The lines of a file that is in memory, each of them cut out when it is asked for."""

    def __init__(self, data: bytes, spans: Spans) -> None:
        self._data = data
        self._spans = spans

    def __len__(self) -> int:
        return len(self._spans)

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        start = self._spans.starts[index]
        return self._data[start : start + self._spans.lengths[index]]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


class Contents(Protocol):
    """What is in a log: who it belongs to, and its lines, with an index of the entries that they are."""

    @property
    def header(self) -> Header: ...

    @property
    def lines(self) -> Sequence[bytes]: ...

    @property
    def index(self) -> Index: ...

    @property
    def size(self) -> int:
        """Return about how many bytes the lines take in memory, if they are there for this alone."""


class LoadedSession(Struct, frozen=True):
    """What is in a session file.

    `lines`, `glances` and `spans` go together, one of each for every entry; lines that are no entries are left out.
    `index` is of the same entries.
    """

    header: Header
    first: bytes
    """The line that the header was read from, in the present version."""
    version: int
    """The file's own."""
    lines: Sequence[bytes]
    """Those of the entries, in the present version."""
    spans: Spans
    index: Index
    ended: int
    """So many bytes of the file are lines that have their line end. What follows is a line that was never finished."""
    unended: bool = False
    """That line is an entry, and only its line end is missing."""

    @property
    def size(self) -> int:
        return self.ended

    @property
    def glances(self) -> list[Glance]:
        """Return a glance at each line. They are made anew each time: together they take more memory than the file."""
        return [seen for line in self.lines if (seen := glance(line)) is not None]


def load(data: bytes, path: str) -> LoadedSession:
    """Return what the bytes of a session file say. Raises SessionError, in a sentence with `path`, if they are no
    session.
    """
    if not data or data.isspace():
        raise SessionError(f"{path} is empty: it is not a session")
    ended = data.rfind(b"\n") + 1
    unended = ended < len(data) and glance(data[ended:]) is not None
    end = len(data) if unended else ended
    head, opening, start = _head(data, end, path)
    index, spans = Index(), Spans(many=len(data) > CHUNK)
    lines: Sequence[bytes] = SessionLines(data, spans)
    if head.version == VERSION and (b"\r" not in data or b"\r\n" not in data):
        for at, text in _chunks(data, start, end):
            found = text.split(b"\n")
            _take(found, glances(text, found), at, index, spans)
    else:
        lines = _migrated(data, start, end, head.version, index, spans)
    first = opening if head.version == VERSION else migrated_header(opening)
    return LoadedSession(head, first, head.version, lines, spans, index, ended, unended)


def _chunks(data: bytes, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield some lines at a time, without the line end of the last one, and where the first of them is."""
    while start < end:
        stop = data.find(b"\n", min(start + CHUNK, end - 1), end)
        stop = end if stop < 0 else stop
        yield start, data[start:stop]
        start = stop + 1


def _take(lines: Sequence[bytes], seen: Sequence[Glance | None], start: int, index: Index, spans: Spans) -> None:
    """Add to `index` and `spans` the lines that are entries, of which the first is at `start`."""
    lengths = list(map(len, lines))
    starts: Iterable[int] = accumulate([start, *[length + 1 for length in lengths[:-1]]])
    # Some versions of pi wrote a second header into a file. It is no entry, and neither is what cannot be read.
    taken = [each for each in seen if each is not None and each.id and each.type != "session"]
    if len(taken) < len(lines):
        kept = [each is not None and bool(each.id) and each.type != "session" for each in seen]
        starts, lengths = compress(starts, kept), list(compress(lengths, kept))
    spans.starts.extend(starts)
    spans.lengths.extend(lengths)
    index.add(taken)


def _migrated(data: bytes, start: int, end: int, version: int, index: Index, spans: Spans) -> list[bytes]:
    """Return the lines as the present version writes them, and add them to `index` and `spans`."""
    pieces = data[start:end].removesuffix(b"\n").split(b"\n") if start < end else []
    after = [piece.removesuffix(b"\r") for piece in pieces] if b"\r\n" in data else pieces
    kept: list[bytes] = []
    for piece, line in zip(pieces, after if version == VERSION else migrated(after, version), strict=True):
        before = len(spans)
        _take([line], [glance(line)], start, index, spans)
        if len(spans) > before:
            kept.append(line)
        start += len(piece) + 1
    return kept


def _head(data: bytes, end: int, path: str) -> tuple[Header, bytes, int]:
    """Return the header, the line it is in, and where the next one begins. Raises SessionError."""
    start = 0
    while start < end:
        stop = data.find(b"\n", start, end)
        line = data[start : end if stop < 0 else stop]
        start = end if stop < 0 else stop + 1
        if not line.strip():
            continue
        head = header(line)
        if head is None:
            break
        if head.version > VERSION:
            newest = f"the newest that linnet knows is {VERSION}"
            raise SessionError(f"{path} is a session of version {head.version}; {newest}")
        return head, line, start
    raise SessionError(f"{path} is not a session: its first line is no session header")
