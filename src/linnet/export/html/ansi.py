"""Writes what a command printed for a terminal as HTML: its colours, and what a line looked like in the end."""

import re
from typing import TypeAlias

from msgspec import Struct, structs

from linnet.export.html.escape import escape, is_plain
from linnet.export.html.palette import RGB, Palette, indexed, opposite, own, readable

Colour: TypeAlias = int | RGB | None  # One of the terminal's own 16, a mixed one, or the usual one.

# Colours and the like (SGR), erasing in a line (EL), strings of all kinds, which may lack their end, the other control
# sequences, other escapes, and at last the characters that move.
_MARKS = re.compile(
    r"(?:\x1b\[|\x9b)(?P<sgr>[0-9;:]*)m"
    r"|(?:\x1b\[|\x9b)(?P<erase>[012]?)K"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
    r"|(?P<move>[\r\b\n])"
    r"|[\x00\x07\x0e\x0f]"
)
_FLAGS = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike", 21: "underline"}
_OFF = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("inverse",), 29: ("strike",)}


class Style(Struct, frozen=True):
    """How a character looks."""

    ink: Colour = None
    ground: Colour = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    inverse: bool = False
    strike: bool = False


PLAIN = Style()
MOST_CODES = 256  # So many characters of a sequence are read; what changes more at once was not meant for a terminal.
Cell: TypeAlias = tuple[str, Style]
"""A character, and how it looks."""


def lines(text: str, palette: Palette) -> list[str]:
    """Return a piece of HTML for each line; every tag that it opens it closes."""
    text = text.replace("\r\n", "\n")
    if is_plain(text) or not _MARKS.search(text.replace("\n", "")):
        return escape(text).split("\n")
    classes: dict[Style, str] = {PLAIN: ""}
    out: list[str] = []
    for row in _rows(text):
        parts: list[str] = []
        for style, words in row:
            if style not in classes:
                classes[style] = " ".join(_classes(style, palette))
            name = classes[style]
            parts.append(f'<span class="{name}">{escape(words)}</span>' if name else escape(words))
        out.append("".join(parts))
    return out


def _rows(text: str) -> list[list[tuple[Style, str]]]:
    """Return the lines as a terminal would show them, each in runs of characters that look alike."""
    rows: list[list[tuple[Style, str]]] = []
    cells: list[Cell] = []
    column = 0
    style = PLAIN
    place = 0
    for mark in [*_MARKS.finditer(text), None]:
        words = text[place : mark.start() if mark else len(text)]
        if words:
            cells[column : column + len(words)] = [(character, style) for character in words]
            column += len(words)
        if mark is None:
            break
        place = mark.end()
        if (codes := mark["sgr"]) is not None:
            style = _changed(style, codes)
        elif (part := mark["erase"]) is not None:
            _erase(cells, column, part)
        elif mark["move"] == "\n":
            rows.append(_runs(cells))
            cells, column = [], 0
        elif mark["move"] == "\r":
            column = 0
        elif mark["move"]:
            column = max(0, column - 1)
    return [*rows, _runs(cells)]


def _erase(cells: list[Cell], column: int, part: str) -> None:
    if part in ("", "0"):
        del cells[column:]
    else:
        end = len(cells) if part == "2" else min(column + 1, len(cells))
        cells[:end] = [(" ", PLAIN)] * end


def _runs(cells: list[Cell]) -> list[tuple[Style, str]]:
    runs: list[tuple[Style, str]] = []
    start = 0
    for end in range(1, len(cells) + 1):
        if end == len(cells) or cells[end][1] is not cells[start][1]:
            runs.append((cells[start][1], "".join(character for character, _ in cells[start:end])))
            start = end
    return runs


def _changed(style: Style, codes: str) -> Style:
    # A colour's parts are set apart by colons or by semicolons; with colons they are one code.
    todo = [code.split(":") for code in codes[:MOST_CODES].split(";")]
    while todo:
        head, *rest = todo.pop(0)
        code = int(head[:4] or 0)
        if code == 0:
            style = PLAIN
        elif code == 4 and rest[:1] == ["0"]:
            style = structs.replace(style, underline=False)
        elif code in _FLAGS:
            style = structs.replace(style, **{_FLAGS[code]: True})
        elif code in _OFF:
            style = structs.replace(style, **dict.fromkeys(_OFF[code], False))
        elif code in (38, 48):
            colour = _mixed(rest) if rest else _taken(todo)
            if colour is not None:
                style = structs.replace(style, **{"ink" if code == 38 else "ground": colour})
        elif code in (39, 49):
            style = structs.replace(style, **{"ink" if code == 39 else "ground": None})
        elif (plain := _own(code)) is not None:
            style = structs.replace(style, **{"ink" if code % 60 < 40 else "ground": plain})
    return style


def _own(code: int) -> int | None:
    """Return which of the 16 colours a code means, or None: from 30 and 40 on dark, from 90 and 100 on bright."""
    tens, unit = divmod(code, 10)
    return unit + (8 if tens >= 9 else 0) if tens in (3, 4, 9, 10) and unit < 8 else None


def _taken(todo: list[list[str]]) -> Colour:
    """Take the codes that belong to a colour off the front, and return the colour."""
    wanted = {"5": 2, "2": 4}.get(todo[0][0] if todo else "", 1)
    parts = [code[0] for code in todo[:wanted]]
    del todo[:wanted]
    return _mixed(parts)


def _mixed(parts: list[str]) -> Colour:
    numbers = [int(part[:4] or 0) for part in parts]
    match numbers:
        case [5, number, *_] if number < 16:
            return number
        case [5, number, *_] if number < 256:
            return indexed(number)
        case [2, red, green, blue] | [2, _, red, green, blue, *_] if max(red, green, blue) < 256:
            return red, green, blue
        case _:
            return None


def _classes(style: Style, palette: Palette) -> list[str]:
    ink, ground = (style.ground, style.ink) if style.inverse else (style.ink, style.ground)
    names = [name for name in ("bold", "italic", "underline", "strike") if getattr(style, name)]
    if ground is not None:
        return [*names, *_on(ink, ground, palette)]
    if style.inverse:
        return [*names, "inverse"]  # Whatever its ink, that was chosen for another ground.
    if ink is not None:
        return [*names, f"f{ink}" if isinstance(ink, int) else palette.ink(ink)]
    return [*names, "dim"] if style.dim else names


def _on(ink: Colour, ground: int | RGB, palette: Palette) -> list[str]:
    """Return the classes of a text with a background. Both are the same in the light and in the dark theme."""
    if ink is None and isinstance(ground, int):
        return [f"b{ground}"]
    below = own(ground) if isinstance(ground, int) else ground
    above = own(ink) if isinstance(ink, int) else ink
    return [palette.ground(below), palette.exact(opposite(below) if above is None else readable(above, below))]
