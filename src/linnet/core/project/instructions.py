"""The section of the system prompt with the instructions that people leave in files, such as `AGENTS.md`."""

import re
from collections.abc import Sequence
from itertools import chain, count

from msgspec import Struct

_INTRODUCTION = """\
What follows was written for agents by the user and by those who made this project, each part in the file that is \
named. Keep to it. The nearer to the working folder, the later it comes; where two parts disagree, the later one \
holds."""
_CUT = "[This file is longer. Read the rest with your tools if the task touches on what it is about.]"
_LEFT_OUT = "[Left out: there is too much of it. Read it with your tools if the task touches on what it is about.]"


class Instructions(Struct, frozen=True):
    """What a file of instructions says."""

    path: str
    text: str
    cut: bool = False  # The file is longer than the text.


def shown(found: Sequence[Instructions], most: int) -> str:
    """Return the section of the system prompt; "" without instructions.

    `found` begins with those that are farthest from the working folder. Beyond `most` characters in all, these are only
    named.
    """
    parts: list[tuple[str, str]] = []
    left = most
    for each in reversed(found):
        text = each.text.strip()
        if not text:
            continue
        left -= len(text)
        parts.append((each.path, _LEFT_OUT if left < 0 else f"{text}\n\n{_CUT}" if each.cut else text))
    if not parts:
        return ""
    tag = _unused("instructions", [text for _, text in parts])
    blocks = [f'<{tag} file="{_attribute(path)}">\n{text}\n</{tag}>' for path, text in reversed(parts)]
    return "\n\n".join([_INTRODUCTION, *blocks])


def _unused(tag: str, texts: Sequence[str]) -> str:
    """Return a tag that is in no text: what is in a file cannot pretend to be outside of it."""
    used = {found[1] for text in texts for found in re.finditer(rf"<\s*/?\s*{tag}(-[0-9]+)?", text, re.IGNORECASE)}
    return next(f"{tag}{end}" for end in chain([""], (f"-{n}" for n in count(2))) if (end or None) not in used)


def _attribute(path: str) -> str:
    for letter, name in (("&", "amp"), ("<", "lt"), (">", "gt"), ('"', "quot"), ("\n", "#10"), ("\r", "#13")):
        path = path.replace(letter, f"&{name};")
    return path
