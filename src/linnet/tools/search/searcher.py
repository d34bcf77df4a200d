"""The program that searches for grep where there is no ripgrep, and for find. It prints, and is killed, like ripgrep.

It is a process of its own because a regular expression may take for ever, and nothing stops it in a thread. It imports
as little as it can, and nothing outside the standard library.
"""

import json
import os
import re
import sys
from collections import deque
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from linnet.tools.search.globs import PathGlob, os_bytes
from linnet.tools.search.pattern import Pattern
from linnet.tools.search.walk import walk

BLOCK = 1 << 20
# Where ripgrep, too, looks for a zero byte before it looks for anything else.
HEAD = 1 << 16
# Of a longer line only its beginning is printed.
MAX_LINE = 4096
_BOMS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


def main(words: list[str]) -> None:
    """Take the order from the first word, a JSON object, and search the working folder."""
    try:
        search(json.loads(words[0]), b".", sys.stdout.buffer)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        os._exit(1)


def search(order: dict[str, Any], root: bytes, out: BinaryIO) -> None:
    """Do what one of the orders in `engines` says, and write what was found."""
    if order["do"] == "find":
        _find(order, root, out)
    else:
        _grep(order, root, _Report(out))


def _find(order: dict[str, Any], root: bytes, out: BinaryIO) -> None:
    """Write the paths that the glob chooses, each with a zero byte, and an empty one, which says that it is the end."""
    pattern: str = order["pattern"]
    fold = not any(char.isupper() for char in pattern)
    glob = PathGlob(pattern, os.path.realpath(root), fold=fold)
    left: int = order["limit"]
    for entry in walk(root):
        if (entry.is_folder or not glob.only_folders) and glob.chooses(entry.path):
            out.write(entry.path + (b"/\0" if entry.is_folder else b"\0"))
            left -= 1
            if not left:
                break
    out.write(b"\0")


def _grep(order: dict[str, Any], root: bytes, report: "_Report") -> None:
    """Report the matches in all files that the order names."""
    pattern = Pattern(order["pattern"], literal=order["literal"], ignore_case=order["ignore_case"])
    glob = PathGlob(order["glob"], os.path.realpath(root)) if order["glob"] else None
    finder = _Finder(pattern, order["context"], order["limit"])
    target = os_bytes(order["target"]).removeprefix(b"./")
    paths = (target,) if target else (entry.path for entry in walk(root) if entry.is_file)
    for path in paths:
        if glob is None or glob.chooses(path):
            report.file(path, finder.search(os.path.join(root, path)))
    report.tell("summary")


class _Report:
    """Writes as ripgrep does with --json."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out

    def file(self, path: bytes, lines: "Iterator[_Line]") -> None:
        """Write what was found in a file; nothing if there are no matches."""
        name = _words(f"./{path.decode('utf-8', 'surrogateescape')}")
        begun = False
        zero: int | None = None
        for line in lines:
            if line.kind == "zero":
                zero = line.number
                continue
            if not begun:
                self.tell("begin", path=name)
                begun = True
            self.tell(line.kind, path=name, lines=_words(line.text), line_number=line.number)
        if begun:
            self.tell("end", path=name, binary_offset=zero)

    def tell(self, kind: str, **data: Any) -> None:
        """Write one record."""
        self._out.write(json.dumps({"type": kind, "data": data}).encode() + b"\n")


def _words(text: str) -> dict[str, str]:
    """Return text as ripgrep writes it: in base 64 if its bytes are not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        from base64 import b64encode

        return {"bytes": b64encode(os_bytes(text)).decode()}
    return {"text": text}


class _Line(NamedTuple):
    """Something that was found in a file."""

    kind: str  # `match`, `context`, or `zero` for a zero byte, which is where searching ends.
    number: int  # Of the line; where the zero byte is.
    text: str = ""


class _Finder:
    """Finds the lines that match, in one file after another."""

    def __init__(self, pattern: Pattern, context: int, limit: int) -> None:
        self._pattern = pattern
        self._ascii = re.compile(pattern.python_ascii)
        self._any: re.Pattern[str] | None = None
        self._context = context
        self._limit = limit

    def search(self, path: bytes) -> Iterator[_Line]:
        """Yield at most `limit` matches, each with the lines around it; no line twice. Nothing if it cannot be read."""
        hits = _Hits(self._context, self._limit)
        try:
            for block in _blocks(path):
                if (zero := block.find(b"\0")) >= 0:
                    yield _Line("zero", zero)
                    return
                yield from hits.search(*self._prepared(block))
                if hits.done:
                    return
        except OSError:
            return

    def _prepared(self, block: bytes) -> tuple[re.Pattern[str], str]:
        """Return the expression for a block, and its text."""
        if block.isascii():
            return self._ascii, block.decode("ascii")
        if self._any is None:  # A class of Unicode takes a while to build.
            self._any = re.compile(self._pattern.python)
        return self._any, block.decode("utf-8", "surrogateescape")


class _Hits:
    """Goes through the blocks of one file, each of whole lines."""

    def __init__(self, context: int, limit: int) -> None:
        self._before: deque[_Line] = deque(maxlen=context)
        self._context = context
        self._after = 0
        self._left = limit
        self._number = 1

    @property
    def done(self) -> bool:
        """Whether all matches that are wanted were found, with the lines after them."""
        return self._left == 0 and self._after == 0

    def search(self, regex: re.Pattern[str], text: str) -> Iterator[_Line]:
        """Yield the matches in the next block, and the lines around them."""
        at = 0
        while at < len(text):
            found = regex.search(text, at) if self._left else None
            # An empty match behind the last line feed is not in any line.
            start = text.rfind("\n", at, found.start()) + 1 if found else 0
            if found is None or (found.start() == len(text) and text.endswith("\n")):
                yield from self._around(text, at, len(text))
                return
            start = max(start, at)
            yield from self._around(text, at, start)
            end = text.find("\n", found.start())
            end = len(text) if end < 0 else end
            yield from self._before
            self._before.clear()
            yield _Line("match", self._number, text[start : min(end, start + MAX_LINE)])
            self._number += 1
            self._left -= 1
            self._after = self._context
            at = end + 1
            if self.done:
                return

    def _around(self, text: str, start: int, end: int) -> Iterator[_Line]:
        """Pass over lines that do not match: yield those after a match, and keep the last ones for the next match."""
        if not self._context:
            self._number += text.count("\n", start, end)
            return
        while start < end:
            stop = text.find("\n", start, end)
            stop = end if stop < 0 else stop
            line = _Line("context", self._number, text[start : min(stop, start + MAX_LINE)])
            self._number += 1
            start = stop + 1
            if self._after:
                self._after -= 1
                yield line
                if self.done:
                    return
            else:
                self._before.append(line)


def _blocks(path: bytes) -> Iterator[bytes]:
    """Yield a file in blocks of whole lines, as UTF-8 and without a byte order mark. Raises OSError."""
    with open(path, "rb", buffering=0) as file:
        head = _read(file.fileno(), HEAD)
        encoding = _BOMS.get(head[:2])
        pieces = _decoded(file.fileno(), head, encoding) if encoding else _pieces(file.fileno(), head)
        waiting: list[bytes] = []
        for piece in pieces:
            whole, feed, rest = piece.rpartition(b"\n")
            if not feed and b"\0" not in piece:
                waiting.append(piece)
                continue
            yield b"".join(waiting) + whole + feed + (rest if b"\0" in rest else b"")
            waiting = [rest]
        if last := b"".join(waiting):
            yield last


def _pieces(fd: int, head: bytes) -> Iterator[bytes]:
    """Yield what was read and the rest of the file, in pieces of any size."""
    piece = head.removeprefix(b"\xef\xbb\xbf")
    while piece:
        yield piece
        piece = _read(fd, BLOCK)


def _decoded(fd: int, head: bytes, encoding: str) -> Iterator[bytes]:
    """Yield the same of a file in another encoding, as UTF-8."""
    from codecs import getincrementaldecoder

    decoder = getincrementaldecoder(encoding)("replace")
    piece = head[2:]
    while piece:
        yield decoder.decode(piece).encode()
        piece = _read(fd, BLOCK)
    yield decoder.decode(b"", final=True).encode()


def _read(fd: int, size: int) -> bytes:
    """Return as much as there is up to that size, whatever pieces the system gives it in."""
    pieces: list[bytes] = []
    while size and (piece := os.read(fd, size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
