"""Sets of characters as ranges of code points, with the classes and the case folding of Unicode as ripgrep has them.

Python's own `\\w`, `\\s` and IGNORECASE differ from those in a few hundred characters.
"""

from collections.abc import Iterable
from functools import cache
from typing import TypeAlias

Ranges: TypeAlias = tuple[tuple[int, int], ...]

# Unassigned beyond it, but for a few marks in the last planes.
_LAST_ASSIGNED = 0x32400
_LATE_MARKS = range(0xE0000, 0xE0200)
# Bytes that are no UTF-8 are surrogates here. They are not characters, so no class has them.
_ALL: Ranges = ((0, 0xD7FF), (0xE000, 0x10FFFF))
_ASCII: Ranges = ((0, 0x7F),)
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
    """Sorted, and no two touch."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(each for ranges in sets for each in ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def common(one: Ranges, other: Ranges) -> Ranges:
    pairs = ((max(a, c), min(b, d)) for a, b in one for c, d in other if a <= d and c <= b)
    return union(pairs)


def complement(ranges: Ranges) -> Ranges:
    left: list[tuple[int, int]] = []
    start = 0
    for low, high in union(ranges):
        left.append((start, low - 1))
        start = high + 1
    left.append((start, 0x10FFFF))
    return common(tuple((low, high) for low, high in left if low <= high), _ALL)


def ascii_only(ranges: Ranges) -> Ranges:
    return common(ranges, _ASCII)


@cache
def named(name: str) -> Ranges:
    """`d`, `s` or `w`, a class of POSIX, or a general category."""
    if name in POSIX:
        return POSIX[name]
    if name == "s":
        ranges = ((9, 13), (32, 32), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029))
        return (*ranges, (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000))
    if name == "d":
        return named("Nd")
    if name == "w":
        return union(_OTHER_WORD, *map(named, ("L", "M", "Nd", "Nl", "Pc")))
    from unicodedata import category

    points = (*range(_LAST_ASSIGNED), *_LATE_MARKS)
    return union((point, point) for point in points if category(chr(point)).startswith(name))


def folded(ranges: Ranges) -> Ranges:
    """With everything that is the same but for its case."""
    added = [
        (other, other)
        for point, others in _orbits().items()
        if any(low <= point <= high for low, high in ranges)
        for other in others
    ]
    return union(ranges, added)


@cache
def _orbits() -> dict[int, list[int]]:
    """Characters that are the same but for their case, by each of them."""
    same: dict[str, list[int]] = {}
    for point in range(0x1E960):
        same.setdefault(_simply_folded(chr(point)), []).append(point)
    return {point: points for points in same.values() if len(points) > 1 for point in points}


def _simply_folded(char: str) -> str:
    """One character for one: those that fold to several, such as ß, go with their lower case, if that is one."""
    for form in (char.casefold(), char.lower()):
        if len(form) == 1:
            return form
    return char


def class_text(ranges: Ranges) -> str:
    """As Python writes it."""
    if not ranges:
        return "(?!)"
    return f"[{''.join(f'{_escape(a)}-{_escape(b)}' if a < b else _escape(a) for a, b in ranges)}]"


def _escape(point: int) -> str:
    char = chr(point)
    return char if char.isascii() and char.isalnum() else f"\\U{point:08x}"
