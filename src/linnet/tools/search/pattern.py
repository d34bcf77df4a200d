"""Parses grep's patterns, and writes them twice: for ripgrep, as all its versions read them, and for Python's `re`.

What the two would take differently, or one of them not at all, is refused for both.
"""

from functools import cached_property
from typing import NoReturn

from linnet.errors import ToolFailed
from linnet.tools.search.char_ranges import CATEGORIES, POSIX
from linnet.tools.search.regex import DOT, At, Chars, Choice, Named, Node, Repeat, Sequence, python

MAX_REPEAT = 1000
MAX_DEPTH = 100
_META = frozenset("\\.+*?()|[]{}^$#&-~")
_CONTROLS = {"t": 9, "r": 13, "f": 12, "v": 11, "a": 7}
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}


class Pattern:
    """A pattern that both programs take in the same way."""

    def __init__(self, pattern: str, *, literal: bool = False, ignore_case: bool = False) -> None:
        """Raises ToolFailed with what is wrong, or is not taken in the same way by both."""
        reader = _Reader(pattern, ignore_case)
        self._node = reader.text() if literal else reader.whole()
        self.ripgrep = "".join(reader.written)

    @cached_property
    def python(self) -> str:
        """The expression for Python's `re`."""
        return python(self._node, ascii=False)

    @cached_property
    def python_ascii(self) -> str:
        """The expression that does the same, faster, in text that is all ASCII."""
        return python(self._node, ascii=True)


class _Reader:
    """Parses a pattern from left to right, by recursive descent. All methods raise ToolFailed.

    Each method that reads a part returns its node, and appends it to `written`.
    """

    def __init__(self, pattern: str, fold: bool) -> None:
        if "\n" in pattern:
            raise ToolFailed("The pattern has a line break in it, and lines are searched one at a time.")
        if any("\ud800" <= char <= "\udfff" for char in pattern) or "\0" in pattern:
            raise ToolFailed("The pattern has something in it that is not text.")
        self.written: list[str] = []
        """What was read, spelled as every version of ripgrep reads it."""
        self._pattern = pattern
        self._at = 0
        self._fold = fold
        self._depth = 0

    def text(self) -> Node:
        """Return the pattern as text that stands for itself."""
        self.written.append(self._pattern)
        return Sequence(tuple(map(self._char, self._pattern)))

    def whole(self) -> Node:
        """Read the whole pattern."""
        node = self._choice()
        if self._peek():
            self._refuse("a ) that nothing opened; for the character itself write \\)")
        return node

    def _choice(self) -> Node:
        """Read branches with `|` between them, up to a `)` or the end."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._refuse("too many groups inside each other")
        outer = self._fold
        branches = [self._sequence()]
        while self._takes("|"):
            self.written.append("|")
            branches.append(self._sequence())
        self._fold = outer  # Flags that were set inside end here.
        self._depth -= 1
        return Choice(tuple(branches)) if len(branches) > 1 else branches[0]

    def _sequence(self) -> Node:
        """Read one branch."""
        nodes: list[Node] = []
        while (char := self._peek()) and char not in "|)":
            node = self._atom()
            if node is not None:
                nodes.append(self._repeated(node))
        return Sequence(tuple(nodes))

    def _atom(self) -> Node | None:
        """Read what could be repeated; return None for flags, which cannot."""
        char = self._next()
        if char in ("*", "+", "?"):
            self._refuse(f"nothing in front of {char} to repeat; for the character itself write \\{char}")
        match char:
            case ".":
                self.written.append(".")
                return DOT
            case "^" | "$":
                self.written.append(char)
                return At(char)
            case "(":
                return self._group()
            case "[":
                return self._class()
            case "\\":
                return self._escape()
            case _:
                self._write(char)
                return self._char(char)

    def _char(self, char: str) -> Node:
        """Return the node of one character."""
        return Chars(((ord(char), ord(char)),), negated=False, fold=self._fold)

    def _repeated(self, node: Node) -> Node:
        """Read the repetitions that follow a node, and return it with them."""
        while bounds := self._bounds():
            least, most = bounds
            counts = {(0, None): "*", (1, None): "+", (0, 1): "?"}
            upper = "" if most is None else most
            self.written.append(counts.get(bounds) or (f"{{{least}}}" if least == most else f"{{{least},{upper}}}"))
            if self._takes("?"):
                self.written.append("?")
            node = Repeat(node, least, most)
        return node

    def _bounds(self) -> tuple[int, int | None] | None:
        """Read one repetition, and return how often at least and at most; None if there is none."""
        for char, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._takes(char):
                return bounds
        end = self._pattern.find("}", self._at)
        if self._peek() != "{" or end < 0:
            return None
        first, comma, last = self._pattern[self._at + 1 : end].partition(",")
        # A brace with anything else in it is a brace, as everywhere but in ripgrep, which refuses it.
        if not _is_number(first) or not (_is_number(last) or last == ""):
            return None
        least = int(first)
        most = (int(last) if last else None) if comma else least
        if max(least, most or 0) > MAX_REPEAT or (most is not None and most < least):
            self._refuse(f"a repetition that runs backwards or beyond {MAX_REPEAT}")
        self._at = end + 1
        return least, most

    def _group(self) -> Node | None:
        """Read the rest of a group, of which `(` was read; return None if it only sets flags."""
        if self._takes("?"):
            for opening, what in (
                ("=", "look-ahead"),
                ("!", "look-ahead"),
                ("<=", "look-behind"),
                ("<!", "look-behind"),
            ):
                if self._takes(opening):
                    self._refuse(f"{what}, which is not supported")
            if self._takes("P<") or self._takes("<"):
                name, closed, _ = self._pattern[self._at :].partition(">")
                if not closed or not name.isidentifier():
                    self._refuse("a group without a proper name")
                self._at += len(name) + 1
            elif not self._takes(":"):
                return self._flags()
        self.written.append("(?:")
        return self._inside()

    def _inside(self) -> Node:
        """Read a group up to its `)`."""
        node = self._choice()
        if not self._takes(")"):
            self._refuse("a ( that is not closed; for the character itself write \\(")
        self.written.append(")")
        return node

    def _flags(self) -> Node | None:
        """Read flags, and the group that they are for; return None if they are for what follows."""
        on = True
        fold = self._fold
        while (flag := self._next()) not in (":", ")"):
            match flag:
                case "-" if on:
                    on = False
                case "i":
                    fold = on
                case "s" | "U":
                    pass  # Of no consequence within a line.
                case "m" if on:
                    pass  # It is so anyway.
                case _:
                    self._refuse("flags other than i, m, s and U")
        self.written.append(f"(?{'' if fold else '-'}i{flag}")
        outer, self._fold = self._fold, fold
        if flag == ")":
            return None
        node = self._inside()
        self._fold = outer
        return node

    def _escape(self) -> Node:
        """Read what follows a backslash outside of a class."""
        char = self._next()
        if char in ("b", "B"):
            self.written.append(f"\\{char}")
            return At("b" if char == "b" else "B")
        item = self._escaped(char)
        if isinstance(item, Named):
            return Chars((item,), negated=False, fold=self._fold)
        return self._char(chr(item))

    def _escaped(self, char: str) -> int | Named:
        """Return the character or the class that a backslash and `char` stand for, and read what belongs to it."""
        if not char:
            self._refuse("a backslash at its end")
        if char in "dswDSW":
            self.written.append(f"\\{char}")
            return Named(char.lower(), char.isupper())
        if char in "pP":
            return self._property(char == "P")
        if char in _CONTROLS:
            self.written.append(f"\\x{_CONTROLS[char]:02x}")
            return _CONTROLS[char]
        if char in _HEX_DIGITS:
            point = self._code_point(_HEX_DIGITS[char])
            self.written.append(f"\\x{{{point:x}}}")
            return point
        if char == "n":
            self._refuse("a line break, and lines are searched one at a time")
        if char.isdigit():
            self._refuse("a reference to a group, which is not supported")
        if char in "AzZ":
            self._refuse(f"\\{char}; write ^ and $ for the ends of a line")
        if char.isalpha() or char in "<>":
            self._refuse(f"\\{char}, which is not supported")
        self._write(char)
        return ord(char)

    def _property(self, negated: bool) -> Named:
        """Read the name of a general category, after `\\p` or `\\P`."""
        if self._takes("{"):
            name, closed, _ = self._pattern[self._at :].partition("}")
            self._at += len(name) + len(closed)
            negated ^= name.startswith("^")
            name = name.removeprefix("^")
        else:
            name = self._next()
        if name not in CATEGORIES:
            self._refuse("\\p with something else than a general category, such as \\p{L}, \\p{Lu} or \\p{Nd}")
        self.written.append(f"\\{'P' if negated else 'p'}{{{name}}}")
        return Named(name, negated)

    def _code_point(self, digits: int) -> int:
        """Read so many hexadecimal digits, or any number of them in braces."""
        if self._takes("{"):
            number, closed, _ = self._pattern[self._at :].partition("}")
            self._at += len(number) + len(closed)
        else:
            number = self._pattern[self._at : self._at + digits]
            self._at += len(number)
            if len(number) < digits:
                number = ""
        if not number or any(digit not in "0123456789abcdefABCDEF" for digit in number):
            self._refuse("an escape without its hexadecimal digits")
        point = int(number, 16)
        if point > 0x10FFFF or 0xD800 <= point <= 0xDFFF or point == 10:
            self._refuse(f"an escape for what cannot be in a line, {number}")
        return point

    def _class(self) -> Node:
        """Read the rest of a class, of which `[` was read."""
        self.written.append("[")
        negated = self._takes("^")
        if negated:
            self.written.append("^")
        items: list[tuple[int, int] | Named] = []
        while True:
            if not self._peek():
                self._refuse("a [ that is not closed; for the character itself write \\[")
            if items and self._takes("]"):
                break
            low = self._member()
            high: int | Named = low
            dash = self._pattern[self._at : self._at + 2]
            if dash.startswith("-") and dash not in ("-]", "-"):
                self._at += 1
                self.written.append("-")
                high = self._member()
            match low, high:
                case int(), int() if low <= high:
                    items.append((low, high))
                case Named(), _ if high is low:
                    items.append(low)
                case _:
                    self._refuse("a range in a class that does not go from a character to a later one")
        self.written.append("]")
        return Chars(tuple(items), negated, self._fold)

    def _member(self) -> int | Named:
        """Read a character of a class, or a class within it."""
        if self._peek() == "[":
            return self._posix()
        if self._pattern[self._at : self._at + 2] in ("&&", "--", "~~"):
            self._refuse("&&, -- or ~~ in a class, which is not supported; for the characters write \\& \\- \\~")
        char = self._next()
        if char == "\\":
            if self._peek() in ("b", "B"):
                self._refuse("\\b in a class")
            return self._escaped(self._next())
        self._write(char)
        return ord(char)

    def _posix(self) -> Named:
        """Read a class such as `[:alpha:]` within a class."""
        name, closed, _ = self._pattern[self._at + 2 :].partition(":]")
        negated = name.startswith("^")
        if not self._pattern.startswith("[:", self._at) or not closed or name.removeprefix("^") not in POSIX:
            self._refuse("a [ in a class; for the character itself write \\[")
        self._at += len(name) + 4
        self.written.append(f"[:{name}:]")
        return Named(name.removeprefix("^"), negated)

    def _write(self, char: str) -> None:
        """Append a character that stands for itself."""
        self.written.append(f"\\{char}" if char in _META else char)

    def _peek(self) -> str:
        """Return the next character without taking it; nothing at the end."""
        return self._pattern[self._at : self._at + 1]

    def _next(self) -> str:
        """Take the next character; nothing at the end."""
        char = self._peek()
        self._at += 1
        return char

    def _takes(self, text: str) -> bool:
        """Take this text if it is next, and return whether it was."""
        found = self._pattern.startswith(text, self._at)
        self._at += len(text) * found
        return found

    def _refuse(self, what: str) -> NoReturn:
        """Raise ToolFailed, which says what the pattern has."""
        raise ToolFailed(f"The pattern has {what}. To search for the text as it stands, set literal to true.")


def _is_number(text: str) -> bool:
    """Return whether this is a number, and not a very long one."""
    return text.isascii() and text.isdecimal() and len(text) < 10
