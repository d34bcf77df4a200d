"""A readable account of changes whose places are known. It never compares whole files: that takes seconds. Pure."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from linnet.tools.replace import Change

CONTEXT = 3
# Comparing line by line is quadratic; a larger block is shown as taken out and put in.
MAX_COMPARED = 400


class _Block(Struct):
    """Lines `old_start:old_end` of the old text are now `lines`."""

    old_start: int
    old_end: int
    lines: list[str]


def diff(text: str, changes: Sequence[Change]) -> str:
    """Unified hunks with line numbers, for sorted changes of `text`."""
    old = text.split("\n")
    hunks = []
    shift = 0
    for group in _near(_blocks(text, changes, old)):
        first = max(0, group[0].old_start - CONTEXT)
        last = min(_length(old), group[-1].old_end + CONTEXT)
        body = []
        place = first
        grown = 0
        for block in group:
            body += [f" {line}" for line in old[place : block.old_start]]
            body += [f"-{line}" for line in old[block.old_start : block.old_end]]
            body += [f"+{line}" for line in block.lines]
            place = block.old_end
            grown += len(block.lines) - (block.old_end - block.old_start)
        body += [f" {line}" for line in old[place:last]]
        before = last - first
        hunks.append("\n".join([f"@@ {_range('-', first, before)} {_range('+', first + shift, before + grown)} @@", *body]))
        shift += grown
    return "\n".join(hunks)
