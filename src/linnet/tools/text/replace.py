"""Finds exact replacements in a text regardless of its line endings, and makes them such that those are kept. Pure."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from re import finditer

from msgspec import Struct

from linnet.errors import ToolFailed

BOM = "\ufeff"


class Change(Struct, frozen=True):
    """`text[start:end]` becomes `new`; both have lines that end in LF."""

    start: int
    end: int
    new: str


class SourceText:
    """The text of a file."""

    def __init__(self, raw: str) -> None:
        self._bom = BOM if raw.startswith(BOM) else ""
        self._raw = raw.removeprefix(BOM)
        self.text = as_lf(self._raw)
        """What is matched: no BOM, and every CRLF an LF."""
        # Where `text` has an LF that is a CRLF in `_raw`: the nth one has moved by n.
        crlfs = finditer("\r\n", self._raw) if len(self.text) != len(self._raw) else ()
        self._shifts = [found.start() - n for n, found in enumerate(crlfs)]

    def apply(self, changes: Sequence[Change]) -> str:
        """Return the file with sorted changes made; every byte outside of them is as it was."""
        parts = [self._bom]
        done = 0
        for change in changes:
            ending = self._ending_near(change.start)
            trimmed = self._trim(change)
            start, end = self._to_raw(trimmed.start), self._to_raw(trimmed.end)
            parts += [self._raw[done:start], trimmed.new.replace("\n", ending)]
            done = end
        return "".join([*parts, self._raw[done:]])

    def _trim(self, change: Change) -> Change:
        """Return the change without what is the same at both ends, so that lines of context keep their own endings."""
        old = self.text[change.start : change.end]
        head = _alike(old, change.new)
        tail = _alike(old[head:][::-1], change.new[head:][::-1])
        return Change(change.start + head, change.end - tail, change.new[head : len(change.new) - tail])

    def _ending_near(self, place: int) -> str:
        """Return how the line at `place` ends; for a last line without an ending, how the one before it does."""
        newline = self.text.find("\n", place)
        if newline == -1:
            newline = self.text.rfind("\n")
        nth = bisect_left(self._shifts, newline)
        return "\r\n" if nth < len(self._shifts) and self._shifts[nth] == newline else "\n"

    def _to_raw(self, place: int) -> int:
        """Return where a place of `text` is in the file."""
        return place + bisect_left(self._shifts, place)


def _alike(a: str, b: str) -> int:
    """Return how many characters two texts have in common at their start."""
    shorter = min(len(a), len(b))
    return next((n for n in range(shorter) if a[n] != b[n]), shorter)


def as_lf(text: str) -> str:
    """Return the text with every CRLF an LF."""
    return text.replace("\r\n", "\n")


class NotThere(ToolFailed):
    """The text to replace is not in the file."""


class NotUnique(ToolFailed):
    """The text to replace is in the file more than once."""

    def __init__(self, reason: str, times: int) -> None:
        super().__init__(reason)
        self.times = times


def locate(text: str, replacements: Sequence[tuple[str, str]], name: str) -> list[Change]:
    """Return all replacements as changes of `text`, in its order.

    Raises NotThere or NotUnique if one is not found exactly once, and ToolFailed if two overlap.
    """
    placed = sorted(
        (_place(text, as_lf(old).removeprefix(BOM), as_lf(new).removeprefix(BOM), f"edit {number}", name), number)
        for number, (old, new) in enumerate(replacements, 1)
    )
    for (first, number), (second, other) in pairwise(placed):
        if second[0] < first[1]:
            low, high = sorted((number, other))
            raise ToolFailed(f"edits {low} and {high} overlap in {name}; make them one edit")
    return [Change(*place) for place, _ in placed]


def _place(text: str, old: str, new: str, label: str, name: str) -> tuple[int, int, str]:
    """Return start, end and new text of one replacement. Raises like `locate`."""
    if not old:
        raise ToolFailed(f"{label}: oldText must not be empty")
    if old == new:
        raise ToolFailed(f"{label}: oldText and newText are the same")
    start = text.find(old)
    if start == -1:
        raise NotThere(f"{label}: oldText not found in {name}; it must match exactly, white space included")
    if text.find(old, start + 1) != -1:
        times = _count(text, old)
        raise NotUnique(
            f"{label}: oldText found {times} times in {name}; add surrounding lines to make it unique", times
        )
    return start, start + len(old), new


def _count(text: str, wanted: str) -> int:
    """Return how often a text occurs, overlaps included: either would do, so it is not clear which is meant."""
    times = 0
    place = text.find(wanted)
    while place != -1:
        times += 1
        place = text.find(wanted, place + 1)
    return times
