"""Reads what a search program prints, lines of JSON as ripgrep writes them, and lists the matches."""

import os
import re
from base64 import b64decode
from collections.abc import Callable

from msgspec import DecodeError, Struct, field

from linnet.decoding import decoder_of
from linnet.tools.search.engines import Enough
from linnet.tools.search.globs import PathGlob
from linnet.tools.search.listing import Listing, shown
from linnet.tools.text.truncate import MAX_BYTES

MAX_CHARS = 500  # Of one line.
HEAD = 1 << 16  # Bytes by which a file is taken for binary.
# A longer record is that of a very long line, of which little is shown. It is not kept whole.
MAX_RECORD = 1 << 20
RECORD_HEAD = 1 << 16
_NUMBER = re.compile(rb'"line_number":(\d+)')
# The beginning of a string, up to where it can be cut off.
_TEXT = re.compile(rb'"lines":\{"text":("(?:[^"\\]|\\[^u]|\\u[0-9a-fA-F]{4})*)')
_BYTES = re.compile(rb'"lines":\{"bytes":"((?:[^"]{4})*)')


class _Words(Struct, frozen=True):
    """Text, or bytes in base 64 if they are not UTF-8."""

    text: str | None = None
    base64: str = field(default="", name="bytes")

    def raw(self) -> bytes:
        """Return the bytes."""
        return b64decode(self.base64) if self.text is None else self.text.encode()


class _Data(Struct, frozen=True):
    """What ripgrep tells of a file or of a line."""

    path: _Words = _Words()
    lines: _Words = _Words()
    line_number: int = 0
    binary_offset: int | None = None


class _Record(Struct, frozen=True):
    """One line of JSON."""

    type: str
    data: _Data


_decode = decoder_of(_Record).decode
_text = decoder_of(str)


class _File:
    """The matches of one file, until it is known not to be binary. More than can be shown is only counted."""

    def __init__(self, path: bytes, chosen: bool) -> None:
        """`chosen` says whether its matches are wanted."""
        self.path = path
        self.name = shown(path)
        self.chosen = chosen
        self.lines: dict[int, str] = {}  # By number.
        self.matches: list[int] = []  # The numbers of those that match.
        self.count = 0  # Matches, kept or not.
        self._size = 0

    def add(self, number: int, text: str, *, is_match: bool) -> None:
        """Count a match, and keep the line while there is room."""
        self.count += is_match
        if self._size <= 2 * MAX_BYTES:
            self._size += len(text) + 1
            self.lines[number] = text
            if is_match:
                self.matches.append(number)


def looks_binary(path: bytes) -> bool:
    """Return whether there is a zero byte near the beginning of a file, and no mark that it is text in UTF-16."""
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD)
    except OSError:
        return False
    return b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff"))


class Matches:
    """A Sink for the output of a search program. Files that turn out to be binary are left out.

    Invariant: memory stays bounded however much is fed.
    """

    def __init__(
        self,
        folder: str,
        glob: PathGlob | None,
        context: int,
        limit: int,
        may_find: Callable[[str], bool] | None = None,
    ) -> None:
        """`may_find` returns whether an absolute path may be shown."""
        self.listing = Listing()
        """What to show, in order: each match with the lines around it."""
        self.count = 0  # Matches, up to the limit.
        self.some_cut = False  # Whether a line was too long.
        self.some_binary = False  # Whether a file with matches was left out.
        self.is_complete = False  # Whether the program came to its end.
        self.complaint = ""  # What it printed that is no record.
        self._folder = os.fsencode(folder)
        self._glob = glob
        self._may_find = may_find
        self._context = context
        self._limit = limit
        self._record = _PartialRecord()
        self._file: _File | None = None

    def feed(self, data: bytes) -> None:
        """Take a piece of output. Raises Enough when there are as many matches as are wanted."""
        first, *rest = data.split(b"\n")
        self._record.extend(first)
        for piece in rest:
            record, self._record = self._record, _PartialRecord()
            self._record.extend(piece)
            self._take(record)

    def tick(self) -> float | None:
        """Return None: nothing is done between reads."""
        return None

    def _take(self, partial: "_PartialRecord") -> None:
        """Take a whole line of output. Raises Enough."""
        try:
            record = partial.decoded()
        except (DecodeError, ValueError):
            self.complaint = f"{self.complaint}{partial.head.decode('utf-8', 'replace')}\n"[:2000]
            return
        data = record.data
        match record.type:
            case "begin":
                path = data.path.raw().removeprefix(b"./")
                self._file = _File(path, self._chooses(path))
            case "match" | "context" if self._file and self._file.chosen:
                self._file.add(data.line_number, self._cut(data.lines.raw()), is_match=record.type == "match")
            case "end" if self._file and self._file.count:
                if data.binary_offset is not None or self._turns_binary(self._file):
                    self.some_binary = True
                else:
                    self._add(self._file)
            case "summary":
                self.is_complete = True
            case _:
                pass

    def _chooses(self, path: bytes) -> bool:
        """Return whether matches in this file are wanted, and may be shown."""
        if self._glob is not None and not self._glob.chooses(path):
            return False
        return self._may_find is None or self._may_find(os.fsdecode(os.path.join(self._folder, path)))

    def _cut(self, line: bytes) -> str:
        """Return a line as it is shown."""
        text = line.decode("utf-8", "replace").removesuffix("\n").replace("\r", "")
        if len(text) <= MAX_CHARS:
            return text
        self.some_cut = True
        return f"{text[:MAX_CHARS]}... [truncated]"

    def _turns_binary(self, file: _File) -> bool:
        """Return whether a file is binary although the program does not say so: it stops reading at enough matches."""
        return file.count >= self._limit and looks_binary(os.path.join(self._folder, file.path))

    def _add(self, file: _File) -> None:
        """List the matches of a file that has come to its end. Raises Enough."""
        wanted = self._limit - self.count
        for match in file.matches[:wanted]:
            if self.listing.is_full:
                break
            for number in range(match - self._context, match + self._context + 1):
                if number in file.lines:
                    mark = ":" if number == match else "-"
                    self.listing.add(f"{file.name}{mark}{number}{mark} {file.lines[number]}")
        self.count += min(file.count, wanted)
        if self.count >= self._limit:
            raise Enough


class _PartialRecord:
    """A line of JSON of which there may be more to come. Of a very long one its beginning and its number are kept."""

    def __init__(self) -> None:
        self.head = bytearray()
        self._end = b""
        self._number: int | None = None
        self._is_long = False

    def extend(self, piece: bytes) -> None:
        """Append a piece of the line, or what is needed of it."""
        if not self._is_long:
            self.head += piece
            if len(self.head) <= MAX_RECORD:
                return
            self._is_long = True
            piece = bytes(self.head)
            del self.head[RECORD_HEAD:]
        if self._number is None:
            end = self._end + piece
            found = _NUMBER.search(end)
            # A number that reaches to the end may not be all there yet.
            if found and found.end() < len(end):
                self._number = int(found[1])
            self._end = end[-64:]

    def decoded(self) -> _Record:
        """Return the record. Raises DecodeError or ValueError if it is none."""
        if not self._is_long:
            return _decode(self.head)
        kind = "match" if self.head.startswith(b'{"type":"match"') else "context"
        if self._number is None:
            raise ValueError("a long line that is not a record")
        if found := _TEXT.search(self.head):
            text = _text.decode(found[1].decode("utf-8", "ignore").encode() + b'"')
            return _Record(kind, _Data(lines=_Words(text), line_number=self._number))
        found = _BYTES.search(self.head)
        words = _Words(base64=found[1].decode()) if found else _Words()
        return _Record(kind, _Data(lines=words, line_number=self._number))
