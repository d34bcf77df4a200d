"""Splits a shell line into the commands it may be made of, and their words: a generous reader, to ask or deny by.

It never says that a line is wrong. Whatever a shell might run is read as a command: what is behind a joint, in a
substitution, in a function, in a document on the lines below. Quotes are undone, and what was in them is also read as a
line of its own, since it may be handed to another shell.
"""

import re

from msgspec import Struct, field

DEEPEST = 12
LONGEST = 100_000
MOST = 5_000  # So many commands are read.
_ORDINARY = re.compile(r"[^\s\\'\"$`;&|<>()#*?\[\]{}]+")
_SAYING = re.compile(r"[\s;&|<>()$`\\'\"{}]")
_QUOTED = re.compile(r'[^"\\$`]+')
_INSTEAD = re.compile(r"\$\{!?\w*:?[-=+?]")  # Behind it is what may be put in instead.
_NAME = re.compile(r"[A-Za-z_]\w*|[@*#?$!0-9_-]", re.ASCII)
_ANSI = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_GROUPS = frozenset(("{", "if", "while", "until", "for", "case", "select"))
_SIGNS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_COMMENT = re.compile(r"(?:^|(?<=[\s;&|()]))#[^\n]*")


class TooMuch(Exception):
    """The line is so long, or has so much inside each other, that nobody knows what it does."""


class Word(Struct):
    """A word of a command."""

    text: str = ""  # With quotes undone, without what the shell would put in.
    line: str = ""  # The same, with `${…}` where the shell would put something in.
    quotes: list[str] = field(default_factory=list)  # What was in quotes.
    inner: list["Word"] = field(default_factory=list)  # The words of substitutions.
    expands: bool = False  # The shell puts something in.
    escaped: bool = False  # There was a backslash.
    globs: bool = False  # Names of files may come in its place.
    braces: bool = False  # It has braces that may stand for several words.
    is_target: bool = False  # A redirection is about it.
    is_input: bool = False  # It is what the command reads.

    def put(self, text: str) -> None:
        self.text += text
        self.line += text

    def insert(self, name: str, inner: list["Word"]) -> None:
        """Add something that the shell puts in, which `name` stands for."""
        self.line += name
        self.inner += inner
        self.expands = True


class ShellCommand(Struct):
    """A command that the line may run."""

    words: list[Word]
    is_piped: bool = False  # It reads what another one prints.
    runs: bool = True  # False for a sum or a list of values.


def commands(line: str) -> list[ShellCommand]:
    """Return all commands that the line may run, those inside others included. Raises TooMuch."""
    found = _Reader(line, 0).read()
    bare = _COMMENT.sub("", line)  # A quote in a comment opens nothing: once more without what may be comments.
    return found if bare == line else found + _Reader(bare, 0).read()


def inside(word: Word, depth: int) -> list[ShellCommand]:
    """Return the commands of the word if it is read as a line: all of it, and what was in its quotes. Raises TooMuch.

    There are none if that says no more than the word itself: each reading undoes some quotes, so this comes to an end.
    """
    if not word.quotes and not word.escaped:
        return []
    lines = sorted({line for line in (word.line, *word.quotes) if _SAYING.search(line)})
    return [command for line in lines for command in _Reader(line, depth).read()]


class _Reader:
    """Reads from left to right. Invariant: every character of the line is in some word, or joins or quotes some."""

    def __init__(self, text: str, depth: int) -> None:
        if len(text) > LONGEST or depth > DEEPEST:
            raise TooMuch
        self._text = text
        self._at = 0
        self._depth = depth
        self._found: list[ShellCommand] = []

    def read(self) -> list[ShellCommand]:
        self._list("", 0)
        return self._found

    def _peek(self, ahead: int = 0) -> str:
        return self._text[self._at + ahead : self._at + ahead + 1]

    def _starts(self, *texts: str) -> bool:
        return self._text.startswith(texts, self._at)

    def _list(self, closer: str, level: int, *, runs: bool = True, piped: bool = False) -> list[Word]:
        """Read commands up to what closes them, and that as well. Return all their words."""
        if self._depth + level > DEEPEST:
            raise TooMuch
        current = _Current(self._found, runs)
        if piped:
            current.pipe_group()
        parentheses = cases = 0
        while self._at < len(self._text):
            sign = self._text[self._at]
            if sign == closer and not parentheses and not cases:
                break
            if ordinary := _ORDINARY.match(self._text, self._at):
                current.word.put(ordinary[0])
                self._at = ordinary.end()
            elif self._starts("<(", ">("):
                self._at += 2
                current.word.insert("${_}", self._list(")", level + 1, piped=sign == ">"))
                current.word.is_input = True
            elif sign in "<>" or self._starts("&>"):
                self._redirection(current)
            elif sign in ";\n&|":
                cases = max(0, cases + current.end_word())
                self._at += 2 if self._starts("&&", "||") else 1
                current.end(piped=sign == "|" and self._text[self._at - 2 : self._at] != "||")
            elif sign.isspace() or (sign == "#" and not current.is_inside):
                cases = max(0, cases + current.end_word())
                self._at += 1
                if sign == "#":
                    current.end()  # A comment, if it is one.
            elif self._starts("((") or (sign == "(" and current.is_list):
                self._sum(current, level)
            elif sign in "()":
                cases = max(0, cases + current.end_word())
                current.end()
                if sign == "(" and current.is_piped:
                    current.pipe_group()
                parentheses = max(0, parentheses + (1 if sign == "(" else -1))
                self._at += 1
            else:
                self._part(current.word, level)
        self._at += 1
        current.end()
        return current.all

    def _redirection(self, current: "_Current") -> None:
        """Read `>`, `2>&1`, `&>`, `<<<` and the like. What it is about is the next word."""
        if current.is_inside and re.fullmatch(r"\d+|\{\w+\}", current.word.text):
            current.word.is_target = True
        current.end_word()
        start = self._at
        while self._peek() and self._peek() in "<>&|-" and (self._peek() != "-" or self._text[self._at - 1] == "<"):
            self._at += 1
        current.expect(is_input=self._text[start] == "<")

    def _sum(self, current: "_Current", level: int) -> None:
        """Read `((…))` and `name=(…)`. Only what is substituted in it runs, unless `((` turns out to be two groups."""
        twice = self._starts("((")
        start = len(self._found)
        self._at += 2 if twice else 1
        current.word.inner += self._list(")", level + 1, runs=False)
        if twice and self._peek() == ")":
            self._at += 1
        elif twice:
            for command in self._found[start:]:
                command.runs = True

    def _part(self, word: Word, level: int) -> None:
        """Read a part of a word that begins with a sign."""
        match self._text[self._at]:
            case "\\":
                word.put("" if self._peek(1) == "\n" else self._peek(1))
                word.escaped = True
                self._at += 2
            case "'":
                end = self._text.find("'", self._at + 1)
                self._quote(word, self._text[self._at + 1 : end if end >= 0 else None])
                self._at = end + 1 if end >= 0 else len(self._text)
            case '"':
                self._double(word, level)
            case "$" | "`":
                self._expansion(word, level)
            case sign:
                word.put(sign)
                word.globs |= sign in "*?["
                word.braces |= sign == "{"
                self._at += 1

    @staticmethod
    def _quote(word: Word, content: str) -> None:
        word.put(content)
        word.quotes.append(content)

    def _double(self, word: Word, level: int) -> None:
        content = Word()
        self._at += 1
        while self._at < len(self._text) and self._peek() != '"':
            if plain := _QUOTED.match(self._text, self._at):
                content.put(plain[0])
                self._at = plain.end()
            elif self._peek() == "\\":
                kept = "" if self._peek(1) in ("$", "`", '"', "\\", "\n") else "\\"
                content.put(kept + self._peek(1).strip("\n"))
                self._at += 2
            else:
                self._expansion(content, level, quoted=True)
        self._at += 1
        word.text += content.text
        word.line += content.line
        word.quotes.append(content.line)
        word.inner += content.inner
        word.expands |= content.expands

    def _expansion(self, word: Word, level: int, *, quoted: bool = False) -> None:
        """Read what begins with `$` or a backtick into the word."""
        if self._peek() == "`":
            self._backtick(word)
        elif self._starts("$'") and not quoted:
            self._ansi(word)
        elif self._starts('$"') and not quoted:
            self._at += 1
            self._double(word, level)
        elif self._starts("$(("):
            self._at += 1
            current = _Current(self._found, False)
            self._sum(current, level)
            word.insert("${_}", current.word.inner)
            if self._text[self._at - 2 : self._at] != "))":  # It was a command in parentheses, with more to come.
                word.inner += self._list(")", level + 1)
        elif self._starts("$("):
            self._at += 2
            word.insert("${_}", self._list(")", level + 1))
        elif self._starts("${", "$["):
            closer = "}" if self._peek(1) == "{" else "]"
            instead = _INSTEAD.match(self._text, self._at)
            self._at = instead.end() if instead is not None else self._at + 2
            word.insert("${_}", self._list(closer, level + 1, runs=False))
        elif name := _NAME.match(self._text, self._at + 1):
            word.insert(f"${{{name[0]}}}", [])
            self._at = name.end()
        else:
            word.put("$")
            self._at += 1

    def _backtick(self, word: Word) -> None:
        found = re.compile(r"((?:[^`\\]|\\.)*)`?", re.DOTALL).match(self._text, self._at + 1)
        assert found is not None
        self._at = max(found.end(), self._at + 1)
        inner = _Reader(re.sub(r"\\([`\\$])", r"\1", found[1]), self._depth + 1).read()
        self._found += inner
        word.insert("${_}", [each for command in inner for each in command.words])

    def _ansi(self, word: Word) -> None:
        """Read `$'…'`, in which signs may be written as numbers."""
        found = re.compile(r"((?:[^'\\]|\\.)*)'?", re.DOTALL).match(self._text, self._at + 2)
        assert found is not None
        self._at = max(found.end(), self._at + 2)
        self._quote(word, _ANSI.sub(_meant, found[1]))


class _Current:
    """The command that is being read, and its last word."""

    def __init__(self, found: list[ShellCommand], runs: bool) -> None:
        self.all: list[Word] = []
        self._found = found
        self._runs = runs
        self._words: list[Word] = []
        self._word: Word | None = None
        self._piped = False
        self._group_is_piped = False  # Any command of it may read what came through the pipe.
        self._target = self._input = False

    @property
    def is_piped(self) -> bool:
        return self._piped

    def pipe_group(self) -> None:
        """Count all commands from here on as reading a pipe: where the group ends is not worth being wrong about."""
        self._piped = self._group_is_piped = True

    @property
    def word(self) -> Word:
        if self._word is None:
            self._word = Word(is_target=self._target, is_input=self._input)
            self._target = self._input = False
        return self._word

    @property
    def is_inside(self) -> bool:
        return self._word is not None

    @property
    def is_list(self) -> bool:
        """Return whether a parenthesis here begins the values of an array."""
        return self._word is not None and self._word.text.endswith("=")

    def expect(self, *, is_input: bool) -> None:
        self._target, self._input = True, is_input

    def end_word(self) -> int:
        """End the word. Return 1 if it begins a `case`, whose parentheses close nothing, -1 if it ends one, else 0."""
        word, self._word = self._word, None
        if word is None:
            return 0
        self._words.append(word)
        self.all.append(word)
        is_first = len(self._words) == 1
        return {"case": 1, "esac": -1}.get(word.text, 0) if is_first or word.text == "esac" else 0

    def end(self, *, piped: bool = False) -> None:
        self.end_word()
        if self._words:
            if len(self._found) >= MOST:
                raise TooMuch
            self._found.append(ShellCommand(self._words, self._piped, self._runs))
            if self._piped and self._words[0].text in _GROUPS:
                self._group_is_piped = True
            self._words = []
            self._piped = piped or self._group_is_piped
        self._piped |= piped  # A pipe reaches across the lines below it.
        self._target = self._input = False


def _meant(escape: re.Match[str]) -> str:
    hexadecimal = escape[1] or escape[2] or escape[3]
    if hexadecimal or escape[4]:
        code = int(hexadecimal, 16) if hexadecimal else int(escape[4], 8) & 0xFF
        return chr(code) if 0 < code < 0x110000 else ""
    if escape[5]:
        return chr(ord(escape[5]) & 31)
    return _SIGNS.get(escape[6], escape[6])
