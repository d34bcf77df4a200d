"""Computes sets of characters as ranges of code points, with Unicode's classes and case folding as ripgrep has them.

Python's own `\\w`, `\\s` and IGNORECASE differ from those in a few hundred characters.
"""

from bisect import bisect_right
from collections.abc import Iterable
from functools import cache
from typing import TypeAlias

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""The first and the last code point of each range; both belong to the set."""

# Unassigned beyond it, but for a few marks in the last planes.
_LAST_ASSIGNED = 0x32400
_LATE_MARKS = range(0xE0000, 0xE0200)
# Bytes that are no UTF-8 are surrogates here. They are not characters, so no class has them.
_ALL: Ranges = ((0, 0xD7FF), (0xE000, 0x10FFFF))
_SPACE: Ranges = (
    *((9, 13), (32, 32), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029)),
    *((0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)),
)
# Letters of a kind that Unicode files under symbols, and the joiners.
_OTHER_WORD: Ranges = ((0x200C, 0x200D), (0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189))
POSIX: dict[str, Ranges] = {
    "alnum": ((48, 57), (65, 90), (97, 122)),
    "alpha": ((65, 90), (97, 122)),
    "ascii": ((0, 127),),
    "blank": ((9, 9), (32, 32)),
    "cntrl": ((0, 31), (127, 127)),
    "digit": ((48, 57),),
    "graph": ((33, 126),),
    "lower": ((97, 122),),
    "print": ((32, 126),),
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
    "space": ((9, 13), (32, 32)),
    "upper": ((65, 90),),
    "word": ((48, 57), (65, 90), (95, 95), (97, 122)),
    "xdigit": ((48, 57), (65, 70), (97, 102)),
}
# The general categories, which `\\p{…}` can name; those of what is unassigned or private are left out.
CATEGORIES = {"Cc", "Cf", *"LMNPSZ"} | {
    kind + detail
    for kind, details in (("L", "lmotu"), ("M", "cen"), ("N", "dlo"), ("P", "cdefios"), ("S", "ckmo"), ("Z", "lps"))
    for detail in details
}


def union(*sets: Iterable[tuple[int, int]]) -> Ranges:
    """Return what is in any of these sets: sorted ranges, of which no two touch."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(each for ranges in sets for each in ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def common(one: Ranges, other: Ranges) -> Ranges:
    """Return what is in both sets."""
    pairs = ((max(a, c), min(b, d)) for a, b in one for c, d in other if a <= d and c <= b)
    return union(pairs)


def complement(ranges: Ranges) -> Ranges:
    """Return all characters that are not in the set."""
    left: list[tuple[int, int]] = []
    start = 0
    for low, high in union(ranges):
        left.append((start, low - 1))
        start = high + 1
    left.append((start, 0x10FFFF))
    return common(tuple((low, high) for low, high in left if low <= high), _ALL)


def named(name: str, *, ascii: bool = False) -> Ranges:
    """Return the set that has this name: `d`, `s` or `w`, a class of POSIX, or a general category.

    With `ascii`, it need be right for ASCII text only.
    """
    if name in POSIX:
        return POSIX[name]
    if name == "s":
        return _SPACE
    if name == "d":
        return named("Nd", ascii=ascii)
    if name == "w":
        return union(_OTHER_WORD, *(named(kind, ascii=ascii) for kind in ("L", "M", "Nd", "Nl", "Pc")))
    return union(*(ranges for kind, ranges in _categories(ascii).items() if kind.startswith(name)))


def folded(ranges: Ranges, *, ascii: bool = False) -> Ranges:
    """Return the set with everything that differs from a member by case only.

    With `ascii`, it need be right for ASCII text only.
    """
    orbits = _orbits(ascii)
    starts = [low for low, _ in ranges]
    added: list[tuple[int, int]] = []
    for point, others in orbits.items():
        place = bisect_right(starts, point) - 1
        if place >= 0 and point <= ranges[place][1]:
            added += [(other, other) for other in others]
    return union(ranges, added)


def ascii_only(ranges: Ranges) -> Ranges:
    """Return the ASCII characters of the set."""
    return common(ranges, ((0, 0x7F),))


def _points(ascii: bool) -> Iterable[int]:
    """Return the assigned code points; with `ascii`, those of ASCII and the two that differ from them by case only."""
    return (*range(0x80), 0x17F, 0x212A) if ascii else (*range(_LAST_ASSIGNED), *_LATE_MARKS)


@cache
def _categories(ascii: bool) -> dict[str, list[tuple[int, int]]]:
    """Return the ranges of each general category."""
    from unicodedata import category

    runs: dict[str, list[tuple[int, int]]] = {}
    last, start, end = "", 0, -1
    for point in _points(ascii):
        kind = category(chr(point))
        if kind != last or point != end + 1:
            runs.setdefault(last, []).append((start, end))
            last, start = kind, point
        end = point
    runs.setdefault(last, []).append((start, end))
    del runs[""]
    return runs


@cache
def _orbits(ascii: bool) -> dict[int, list[int]]:
    """Return, for each code point that has others which differ by case only, all of these."""
    same: dict[str, list[int]] = {}
    for point in _points(ascii) if ascii else range(0x1E960):
        same.setdefault(_simply_folded(chr(point)), []).append(point)
    return {point: points for points in same.values() if len(points) > 1 for point in points}


def _simply_folded(char: str) -> str:
    """Return the one character that a character folds to; its lower case if it folds to several, as ß does."""
    for form in (char.casefold(), char.lower()):
        if len(form) == 1:
            return form
    return char


def class_text(ranges: Ranges) -> str:
    """Return the set as a class for Python's `re`."""
    if not ranges:
        return "(?!)"
    return f"[{''.join(f'{_escape(a)}-{_escape(b)}' if a < b else _escape(a) for a, b in ranges)}]"


def _escape(point: int) -> str:
    """Return a character as it is written in a class."""
    char = chr(point)
    return char if char.isascii() and char.isalnum() else f"\\U{point:08x}"
