"""Makes a unified diff of changes whose places are known. Pure.

It never compares whole files: ordinary ones of 10,000 lines would take a third of a second, repetitive ones three.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from linnet.tools.text.replace import Change

CONTEXT = 3  # Lines around a change.
# Comparing line by line is quadratic; what is larger is shown as taken out and put in.
MAX_COMPARED = 400
HEAD = re.compile(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@")


class _Edit(Struct, frozen=True):
    """Lines `start:end` of the old text are replaced by `lines`."""

    start: int
    end: int
    lines: list[str]


def diff(text: str, changes: Sequence[Change]) -> str:
    """Return the unified hunks, with line numbers, of sorted changes of `text`."""
    old = _lines(text)
    parts: list[str] = []
    shift = 0
    for edits in _near(_edits(text, changes)):
        first = max(0, edits[0].start - CONTEXT)
        last = min(len(old), edits[-1].end + CONTEXT)
        body: list[str] = []
        place = first
        growth = 0
        for edit in edits:
            body += _marked(" ", old[place : edit.start])
            body += _marked("-", old[edit.start : edit.end])
            body += _marked("+", edit.lines)
            place = edit.end
            growth += len(edit.lines) - (edit.end - edit.start)
        body += _marked(" ", old[place:last])
        length = last - first
        parts.append(f"@@ -{_range(first, length)} +{_range(first + shift, length + growth)} @@\n")
        parts += body
        shift += growth
    return "".join(parts)


def numbered(hunks: str) -> tuple[str, int]:
    """Return unified hunks as pi shows them since 0.73, each line with its number; and the first line that has
    changed.
    """
    heads = [HEAD.fullmatch(line) for line in hunks.split("\n")]
    last = max((int(head[start]) + int(head[start + 1]) for head in heads if head for start in (1, 3)), default=0)
    width = len(str(max(1, last - 1)))
    shown: list[str] = []
    old = new = first = 0
    for line, head in zip(hunks.split("\n")[:-1], heads, strict=False):
        if head:
            if shown:
                shown.append(f" {'':{width}} ...")
            old, new = (int(head[start]) + (head[start + 1] == "0") for start in (1, 3))
            continue
        if line.startswith("\\"):
            continue
        shown.append(f"{line[0]}{new if line[0] == '+' else old:>{width}} {line[1:]}")
        first = first or (0 if line[0] == " " else new)
        old, new = old + (line[0] != "+"), new + (line[0] != "-")
    return "\n".join(shown), first


def _edits(text: str, changes: Sequence[Change]) -> Iterator[_Edit]:
    """Yield what the changes do to whole lines, in order."""
    line = 0
    counted = 0
    for start, end, new in _blocks(text, changes):
        line += text.count("\n", counted, start)
        counted = start
        before, after = _lines(text[start:end]), _lines(new)
        for first, last, after_first, after_last in _differences(before, after):
            yield _Edit(line + first, line + last, after[after_first:after_last])


def _blocks(text: str, changes: Sequence[Change]) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and new text of changes that are widened to whole lines; those that touch a line are one.

    The line after a change is part of it, since the two become one when a change takes out the newline between them.
    """
    todo = list(changes)
    while todo:
        start = text.rfind("\n", 0, todo[0].start) + 1
        parts: list[str] = []
        done = end = start
        while todo and (not parts or todo[0].start < end):
            change = todo.pop(0)
            parts += [text[done : change.start], change.new]
            done = change.end
            end = max(end, text.find("\n", change.end) + 1 or len(text))
        yield start, end, "".join([*parts, text[done:end]])


def _differences(before: list[str], after: list[str]) -> Iterator[tuple[int, int, int, int]]:
    """Yield start and end, before and after, of each run of lines that differs."""
    if len(before) + len(after) <= MAX_COMPARED:
        from difflib import SequenceMatcher

        for tag, *places in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
            if tag != "equal":
                yield places[0], places[1], places[2], places[3]
        return
    shorter = min(len(before), len(after))
    head = next((n for n in range(shorter) if before[n] != after[n]), shorter)
    tail = next((n for n in range(shorter - head) if before[-1 - n] != after[-1 - n]), shorter - head)
    yield head, len(before) - tail, head, len(after) - tail


def _near(edits: Iterable[_Edit]) -> Iterator[list[_Edit]]:
    """Yield groups of edits that share a hunk: those whose context would touch."""
    group: list[_Edit] = []
    for edit in edits:
        if group and edit.start - group[-1].end > 2 * CONTEXT:
            yield group
            group = []
        group.append(edit)
    if group:
        yield group


def _lines(text: str) -> list[str]:
    """Return the lines with their newlines, split at nothing else."""
    *whole, last = text.split("\n")
    return [f"{line}\n" for line in whole] + ([last] if last else [])


def _marked(sign: str, lines: Iterable[str]) -> list[str]:
    """Return lines of a hunk: each with its sign, and a note where the newline is missing."""
    return [
        f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n" for line in lines
    ]


def _range(first: int, length: int) -> str:
    """Return a range for the head of a hunk; an empty one names the line before it."""
    return f"{first + (length > 0)},{length}"
