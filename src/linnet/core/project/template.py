"""Prompt templates: texts with places for what a user types after the template's name, by pi's rules."""

import re

from msgspec import Struct

from linnet.core.text import frontmatter

SHORT = 60  # Characters of a first line that stands in for a description.
# Tried at each place once, from left to right, so that what was put in is never looked at again.
_PLACES = re.compile(
    r"\$\{(?P<given>[0-9]+|@|ARGUMENTS):-(?P<otherwise>[^}]*)\}"
    r"|\$\{@:(?P<first>[0-9]+)(?::(?P<count>[0-9]+))?\}"
    r"|\$(?P<name>[0-9]+|@|ARGUMENTS)"
)
_PIECE = re.compile(r""""[^"]*"?|'[^']*'?""")
_WORD = re.compile(rf"""(?:[^\s"']+|{_PIECE.pattern})+""")
_MOST_DIGITS = 9


class Template(Struct, frozen=True):
    """A prompt template."""

    name: str
    description: str
    hint: str  # What to type after the name.
    body: str


def parse(name: str, text: str) -> Template:
    """Return the template in a file's text. Raises BadInput if its head cannot be read."""
    document = frontmatter.parse(text)
    description = document.text("description") or _first_line(document.body)
    return Template(name, description, document.text("argument-hint"), document.body)


def arguments(text: str) -> list[str]:
    """Return the words of a text, split at white space.

    Quotes of either kind keep a word together and vanish; nothing escapes them, and one that is never closed goes on to
    the end. Two quotes with nothing between them are an empty word.
    """
    return [_PIECE.sub(lambda piece: piece[0].strip(piece[0][0]), word[0]) for word in _WORD.finditer(text)]


def filled(body: str, words: list[str]) -> str:
    """Return the body with the words in their places: `$1`, `$@` and `$ARGUMENTS`, `${@:2}`, `${@:2:3}`, `${1:-else}`.

    A word that is missing is empty, and one that is empty gives way to what is said behind `:-`.
    """

    def put(place: re.Match[str]) -> str:
        if place["first"] is not None:
            start = max(_number(place["first"]), 1) - 1
            end = None if place["count"] is None else start + _number(place["count"])
            return " ".join(words[start:end])
        name = place["given"] or place["name"]
        if name in ("@", "ARGUMENTS"):
            value = " ".join(words)
        else:
            index = _number(name)
            value = words[index - 1] if 0 < index <= len(words) else ""
        return value or place["otherwise"] or ""

    return _PLACES.sub(put, body)


def _number(digits: str) -> int:
    """Return the number that digits say, or a very large one for many digits: Python refuses to read those, and there
    are never that many words.
    """
    return int(digits[-_MOST_DIGITS:]) if len(digits.lstrip("0")) <= _MOST_DIGITS else 10**_MOST_DIGITS


def _first_line(body: str) -> str:
    line = next((line.strip() for line in body.split("\n") if line.strip()), "")
    return line if len(line) <= SHORT else f"{line[:SHORT]}..."
