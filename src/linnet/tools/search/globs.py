"""Turns globs into regular expressions over the bytes of a path, reading them as ripgrep does.

`*` and `?` stay within a name, `**` as a whole part of the path crosses folders, `[a-z]` and `{one,two}` choose, a
backslash makes the next character an ordinary one.
"""

import re
from typing import TypeAlias

from linnet.errors import ToolFailed

Piece: TypeAlias = tuple[str, str]
"""What a part of a glob is, such as `star`, and its regular expression."""

PREFIX = r"(?:/?|(?s:.*)/)"
SUFFIX = r"/(?s:.*)"
BETWEEN = r"(?:/|/(?s:.*)/)"
STAR = r"[^/]*"
SLASH: Piece = ("char", r"\x2f")


class BadGlob(ValueError):
    """A glob that cannot be read, with the reason."""


def regex_of(glob: str) -> str:
    """Return the regular expression that the whole path must match, to be compiled for bytes. Raises BadGlob."""
    pieces = _Reader(glob).read()
    if pieces == [("prefix", PREFIX)]:
        return r"(?s:.*)\Z"
    return _joined(pieces) + r"\Z"


def _joined(pieces: list[Piece]) -> str:
    """Return the regular expression of these pieces.

    Plain text between two stars is matched where it first occurs, since the second star takes whatever follows; to try
    later places as well would take for ever if there are many stars.
    """
    texts: list[str] = []
    at = 0
    while at < len(pieces):
        kind, text = pieces[at]
        at += 1
        if kind == "star":
            end = at
            while end < len(pieces) and pieces[end][0] in ("char", "one") and pieces[end] != SLASH:
                end += 1
            if end < len(pieces) and pieces[end][0] == "star":
                text = f"(?>{STAR}?{''.join(text for _, text in pieces[at:end])})"
                at = end
        texts.append(text)
    return "".join(texts)


class _Reader:
    """Reads a glob from left to right."""

    def __init__(self, glob: str) -> None:
        self._glob = glob
        self._at = 0
        self._branches: list[list[Piece]] = [[]]  # The glob, then the parts of a brace that is open.

    def read(self) -> list[Piece]:
        """Return the pieces of the glob. Raises BadGlob."""
        while self._at < len(self._glob):
            char = self._glob[self._at]
            self._at += 1
            match char:
                case "?":
                    self._add("one", "[^/]")
                case "*":
                    self._star()
                case "[":
                    self._class()
                case "{":
                    if len(self._branches) > 1:
                        raise BadGlob("braces inside braces")
                    self._branches.append([])
                case "}":
                    parts, self._branches = self._branches[1:], self._branches[:1]
                    if texts := [text for part in parts if (text := _joined(part))]:
                        self._add("choice", f"(?:{'|'.join(texts)})")
                case "," if len(self._branches) > 1:
                    self._branches.append([])
                case "\\":
                    if self._at == len(self._glob):
                        raise BadGlob("a backslash at the end")
                    self._add("char", _escaped(self._glob[self._at]))
                    self._at += 1
                case _:
                    self._add("char", _escaped(char))
        if len(self._branches) > 1:
            raise BadGlob("a brace that is not closed")
        return self._branches[0]

    def _add(self, kind: str, text: str) -> None:
        """Append a piece to what is being read."""
        if kind == "star" and self._branches[-1][-1:] == [(kind, text)]:
            return  # Two say what one says, and would only be tried in more ways.
        self._branches[-1].append((kind, text))

    def _star(self) -> None:
        """Read the rest of `*` or `**`, of which the first star was read."""
        before = self._glob[self._at - 2 : self._at - 1] if self._at > 1 else ""
        if self._peek() != "*":
            self._add("star", STAR)
            return
        self._at += 1
        after = self._peek()
        pieces = self._branches[-1]
        if not pieces:
            if after in ("", "/"):
                self._at += 1
                self._add("prefix", PREFIX)
            else:
                self._add("star", STAR)
            return
        ends = after == "" or (after in (",", "}") and len(self._branches) > 1)
        if before != "/" or not (ends or after == "/"):
            self._add("star", STAR)
            return
        if not ends:
            self._at += 1
        kind, _ = pieces[-1]
        if kind in ("prefix", "suffix"):
            return
        pieces.pop()
        self._add(*(("suffix", SUFFIX) if ends else ("between", BETWEEN)))

    def _class(self) -> None:
        """Read the rest of a class, of which the bracket was read. Raises BadGlob."""
        negated = self._peek() in ("!", "^")
        self._at += negated
        ranges: list[list[str]] = []
        open_range = False
        while True:
            char = self._peek()
            self._at += 1
            if not char:
                raise BadGlob("a bracket that is not closed")
            if char == "]" and ranges:
                break
            if char == "-" and ranges and not open_range:
                open_range = True
            elif open_range:
                ranges[-1][1] = char
                if ranges[-1][0] > char:
                    raise BadGlob(f"the range {ranges[-1][0]}-{char} runs backwards")
                open_range = False
            else:
                ranges.append([char, char])
        if open_range:
            ranges.append(["-", "-"])
        body = "".join(
            _escaped(first) if first == last else f"{_escaped(first)}-{_escaped(last)}" for first, last in ranges
        )
        self._add("class", f"[{'^' * negated}{body}]")

    def _peek(self) -> str:
        """Return the next character without taking it; nothing at the end."""
        return self._glob[self._at : self._at + 1]


def _escaped(char: str) -> str:
    """Return the bytes of a character, written such that none means anything to a regular expression."""
    return "".join(chr(byte) if chr(byte).isalnum() and byte < 128 else f"\\x{byte:02x}" for byte in os_bytes(char))


def os_bytes(text: str) -> bytes:
    """Return the bytes of a path or of a line that was decoded with surrogates for what is not UTF-8."""
    return text.encode("utf-8", "surrogateescape")


class PathGlob:
    """What the model means by a glob: a name if it has no slash, else the end of a path; from the root if it starts
    with a slash; everything but that if it starts with `!`.
    """

    def __init__(self, glob: str, root: bytes, *, fold: bool = False) -> None:
        """`fold` says that case does not count. Raises ToolFailed if the glob cannot be read."""
        self.excludes = glob.startswith("!")
        wanted = glob[self.excludes :]
        self.only_folders = wanted.endswith("/") and len(wanted) > 1
        wanted = wanted.removesuffix("/") if self.only_folders else wanted
        self._root = root + b"/" if wanted.startswith("/") else b""
        self._by_name = "/" not in wanted
        whole = wanted if self._by_name or wanted.startswith(("/", "**/")) else f"**/{wanted}"
        try:
            self._regex = re.compile(regex_of(whole).encode("latin-1"), re.IGNORECASE if fold else 0)
        except (BadGlob, re.error) as error:
            raise ToolFailed(f"{glob!r} is not a glob: {error}.") from None
        last = wanted.rpartition("/")[2]
        plain = not self.excludes and "**" not in last and not any(char in wanted for char in "{}[]\\:")
        self.name = last if plain else ""
        """A glob that the file's own name matches whenever the path does; empty if there is none."""

    def matches(self, path: bytes) -> bool:
        """Return whether a path below the root is what the glob, without its `!`, names."""
        subject = path.rpartition(b"/")[2] if self._by_name else self._root + path
        return self._regex.match(subject) is not None

    def chooses(self, path: bytes) -> bool:
        """Return whether a file below the root is to be searched. What is in a folder that is excluded is not."""
        if not self.excludes:
            return self.matches(path)
        ends = [at for at, byte in enumerate(path) if byte == ord("/")] + [len(path)]
        return not any(self.matches(path[:end]) for end in ends)
