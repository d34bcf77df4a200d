"""Reads the head of a Markdown file, between two lines of `---`: as much of YAML as templates and skills need.

`key: value`, quoted strings, text over several lines (plain, `|`, `>`), lists, comments. What is nested deeper is
passed over. Text that YAML would refuse but nobody can misunderstand, such as `description: note: this`, is taken as it
stands.
"""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from msgspec import Struct

from linnet.errors import BadInput

Value: TypeAlias = str | tuple[str, ...]
FENCE = "---"
_CLOSING = {"[": "]", "{": "}"}
_BLOCKS = ("|", ">")
_ESCAPES = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    " ": " ",
    '"': '"',
    "/": "/",
    "\\": "\\",
    "N": "\x85",
    "_": "\xa0",
}
_HEX = {"x": 2, "u": 4, "U": 8}


class Document(Struct, frozen=True):
    """The head and the body of a file."""

    fields: dict[str, Value]
    body: str  # Trimmed where there was a head, and whole where there was none.

    def text(self, key: str) -> str:
        """Return what the head says under a key; "" if it says nothing, or something that is no text."""
        value = self.fields.get(key, "")
        return value.strip() if isinstance(value, str) else ""


def parse(text: str) -> Document:
    """Return the head and the body of a file. A head that is never closed is part of the body.

    Raises BadInput with a sentence that names the line.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    lines = text.split("\n")
    if lines[0].rstrip() != FENCE:
        return Document({}, text)
    end = next((index for index in range(1, len(lines)) if lines[index].rstrip() == FENCE), None)
    if end is None:
        return Document({}, text)
    return Document(_fields(lines[1:end]), "\n".join(lines[end + 1 :]).strip())


def _fields(lines: Sequence[str]) -> dict[str, Value]:
    fields: dict[str, Value] = {}
    at = 0
    while at < len(lines):
        line, number = lines[at], at + 2  # The fence is line 1.
        at += 1
        if _says_nothing(line):
            continue
        key, value = _entry(line, number)
        begin = at
        while at < len(lines) and (_belongs(lines[at]) or (not value and _is_item(lines[at]))):
            at += 1
        if value[:1] in _CLOSING and lines[at : at + 1] and lines[at].startswith(_CLOSING[value[0]]):
            at += 1  # A bracket that is closed where a key would stand.
        fields[key] = _value(value, lines[begin:at], number)
    return fields


def _entry(line: str, number: int) -> tuple[str, str]:
    if line[0] in "\"'" and (end := _closing_quote(line)):
        key, colon, value = _quoted(line[:end], number), *line[end:].lstrip().partition(":")[1:]
        bad = line[end:].lstrip()[:1] != ":"
    else:
        key, colon, value = line.partition(":")
        key = key.rstrip()
        bad = key[:1] in " \t-[]{}\"'&*!|>%@`"
    if bad or not colon or not key or value[:1] not in ("", " ", "\t"):
        raise _broken(number, f"expected `key: value`, not {line[:60]!r}")
    value = value.strip()
    return key, "" if value.startswith("#") else value


def _closing_quote(line: str) -> int:
    """Return the offset just after the quoted text that the line begins with; 0 if the quote is not closed."""
    mark, at = line[0], 1
    while at < len(line):
        if line[at] == "\\" and mark == '"':
            at += 1
        elif line[at] == mark:
            if mark == '"' or line[at + 1 : at + 2] != mark:
                return at + 1
            at += 1
        at += 1
    return 0


def _says_nothing(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _belongs(line: str) -> bool:
    """Return whether a line belongs to the value that was begun above it."""
    return line[:1] in (" ", "\t", "")


def _is_item(line: str) -> bool:
    return line == "-" or line.startswith("- ")


def _value(value: str, below: Sequence[str], number: int) -> Value:
    first = value[:1]
    if first in ("|", ">"):
        return _block(value, below, number)
    if first in ('"', "'"):
        return _quoted(_joined([value, *below]), number)
    if first == "[":
        return _list(_joined(map(_uncommented, [value, *below])), number)
    if first == "{":
        return ""
    said = [line.strip() for line in below if not _says_nothing(line)]
    if not value and said and _is_item(said[0]):
        return tuple(_item(each, number) for each in _items(below))
    if not value and said and ":" in said[0] and said[0].partition(":")[2][:1] in ("", " ", "\t"):
        return ""  # A mapping of its own.
    if not value and said and said[0][0] in "\"'[{":
        return _value(said[0], said[1:], number)
    plain = _joined(_uncommented(line) for line in [value, *below] if not line.lstrip().startswith("#"))
    return "" if plain in ("~", "null") else plain


def _items(lines: Sequence[str]) -> list[list[str]]:
    """Return each item of a list with the lines on which it goes on. Of an item that is a mapping only the first line
    is returned.
    """
    found: list[list[str]] = []
    for line in lines:
        text = line.strip()
        if _is_item(text):
            found.append([text[1:].strip()])
        elif found and (found[-1][0][:1] in _BLOCKS or not (_says_nothing(line) or _is_entry(found[-1][0]))):
            found[-1].append(line)
    return found


def _item(lines: Sequence[str], number: int) -> str:
    if lines[0][:1] in _BLOCKS:
        return _block(lines[0], lines[1:], number).rstrip("\n")
    text = _joined(lines if lines[0][:1] in "\"'" else map(_uncommented, lines))
    return _scalar(text, number)


def _is_entry(text: str) -> bool:
    key, colon, value = text.partition(":")
    return bool(colon) and key[:1] not in "\"'" and " " not in key and value[:1] in ("", " ", "\t")


def _scalar(text: str, number: int) -> str:
    return _quoted(text, number) if text[:1] in ('"', "'") else _uncommented(text)


def _uncommented(line: str) -> str:
    end = min((found for mark in (" #", "\t#") if (found := line.find(mark)) >= 0), default=len(line))
    return line[:end].rstrip()


def _joined(lines: Iterable[str]) -> str:
    """Return the lines of a paragraph as one; a blank line becomes a line end."""
    text, breaks = "", 0
    for line in (line.strip() for line in lines):
        if not line:
            breaks += 1
            continue
        text += ("\n" * breaks if breaks else " " if text else "") + line
        breaks = 0
    return text.strip("\n")


def _quoted(text: str, number: int) -> str:
    """Return what a string in quotes says. Raises BadInput if anything but a comment follows it."""
    mark, at, parts = text[0], 1, ""
    while at < len(text):
        letter = text[at]
        at += 1
        if letter == mark:
            if mark == "'" and text[at : at + 1] == "'":
                parts += "'"
                at += 1
                continue
            if rest := _uncommented(" " + text[at:]).strip():
                raise _broken(number, f"text after the closing quote: {rest[:60]!r}")
            return parts
        if letter == "\\" and mark == '"':
            taken, said = _escape(text[at : at + 9], number)
            parts += said
            at += taken
            continue
        parts += letter
    raise _broken(number, "a quote is never closed")


def _escape(rest: str, number: int) -> tuple[int, str]:
    """Return how many characters an escape has after its backslash, and what it stands for. Raises BadInput."""
    kind = rest[:1]
    if kind in _ESCAPES:
        return 1, _ESCAPES[kind]
    digits = rest[1 : 1 + _HEX.get(kind, 0)]
    if digits and len(digits) == _HEX[kind] and all(digit in "0123456789abcdefABCDEF" for digit in digits):
        code = int(digits, 16)
        if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF:
            return 1 + len(digits), chr(code)
    raise _broken(number, f"unknown escape \\{kind}")


def _list(text: str, number: int) -> tuple[str, ...]:
    """Return the items of a list in brackets: `[a, "b, c"]`. Raises BadInput."""
    if not text.endswith("]"):
        raise _broken(number, "a list in brackets is never closed")
    items, item, quote = [], "", ""
    for letter in text[1:-1]:
        if letter == "," and not quote:
            items.append(item)
            item = ""
            continue
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'" and not item.strip():
            quote = letter
        item += letter
    return tuple(_scalar(each.strip(), number) for each in (*items, item) if each.strip())


def _block(header: str, below: Sequence[str], number: int) -> str:
    """Return the text of a block: `|` keeps lines, `>` folds them; `-` takes the last line end away, `+` keeps all."""
    marks = _uncommented(header)[1:].strip()
    if any(mark not in "+-123456789" for mark in marks) or len(marks) > 2:
        raise _broken(number, f"text cannot begin on the line of a block: {header[:60]!r}")
    margins = [len(line) - len(line.lstrip(" ")) for line in below if line.strip()]
    margin = next((int(mark) for mark in marks if mark.isdecimal()), margins[0] if margins else 0)
    lines = [line[margin:] if line.strip() else "" for line in below]
    text = "\n".join(lines) if header[0] == "|" else _folded(lines)
    if "+" in marks:
        return text + "\n"
    text = text.rstrip("\n")
    return text + "\n" if text and "-" not in marks else text


def _folded(lines: Iterable[str]) -> str:
    """Return the lines with neighbours joined by a blank, unless one of the two is indented."""
    text, breaks, before = "", 0, ""
    for line in lines:
        if not line:
            breaks += 1
            continue
        stays = line[0] in " \t" or before[:1] in (" ", "\t")
        if before:
            text += "\n" * (breaks + 1) if stays else "\n" * breaks or " "
        else:
            text += "\n" * breaks
        text += line
        before, breaks = line, 0
    return text + "\n" * breaks


def _broken(number: int, why: str) -> BadInput:
    return BadInput(f"line {number}: {why}")
