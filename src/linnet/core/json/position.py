"""Finds where in a JSON text something stands, so that errors can name a line and edits leave the rest alone."""

from collections.abc import Sequence
from typing import TypeAlias

Path: TypeAlias = Sequence[str | int]
"""The way from the root: names of members and places in lists, such as ("models", 0, "id")."""

_SPACE = b" \t\n\r"


def line_at(text: bytes, offset: int) -> int:
    """Return the line, counting from 1, that a byte is on."""
    return text.count(b"\n", 0, offset) + 1


def line_of(text: bytes, path: Path) -> int:
    """Return the line, counting from 1, on which the path's last step begins: the name of a member, or an item.

    The text must be valid JSON. A step that is not there ends the search: then it is the line of what would hold it. Of
    two members with one name the last counts, as it does for decoders.
    """
    at = past_space(text, 0)
    named = at
    for step in path:
        found = member(text, at, step) if isinstance(step, str) else _item(text, at, step)
        if found is None:
            break
        named, at = found
    return line_at(text, named)


def spelled(path: Path) -> str:
    """Return the path as people write it: `models[0].id`; empty for the root."""
    words = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return words.removeprefix(".")


def member(text: bytes, at: int, name: str) -> tuple[int, int] | None:
    """Return where the name and the value of a member of the object at `at` begin; None if it has no such member.

    Of two members with one name the last counts.
    """
    if text[at : at + 1] != b"{":
        return None
    found = None
    for start in parts(text, at):
        end = past(text, start)
        value = past_space(text, past_space(text, end) + 1)
        if _unquoted(text[start:end]) == name:
            found = start, value
    return found


def _item(text: bytes, at: int, index: int) -> tuple[int, int] | None:
    if text[at : at + 1] != b"[":
        return None
    for count, start in enumerate(parts(text, at)):
        if count == index:
            return start, start
    return None


def parts(text: bytes, at: int) -> list[int]:
    """Return where each member or item of the object or list at `at` begins."""
    starts: list[int] = []
    here = past_space(text, at + 1)
    while text[here : here + 1] not in (b"}", b"]", b""):
        starts.append(here)
        while text[here : here + 1] not in (b",", b"}", b"]", b""):
            here = past_space(text, past(text, here) if text[here : here + 1] != b":" else here + 1)
        if text[here : here + 1] == b",":
            here = past_space(text, here + 1)
    return starts


def past(text: bytes, at: int) -> int:
    """Return the offset just after the value or name that begins at `at`."""
    if text[at : at + 1] == b'"':
        return _past_string(text, at)
    depth = 0
    while at < len(text):
        byte = text[at : at + 1]
        if byte == b'"':
            at = _past_string(text, at)
            continue
        if byte in (b"{", b"["):
            depth += 1
        elif byte in (b"}", b"]"):
            if not depth:
                return at
            depth -= 1
            if not depth:
                return at + 1
        elif not depth and (byte in (b",", b":") or byte in _SPACE):
            return at
        at += 1
    return at


def _past_string(text: bytes, at: int) -> int:
    at += 1
    while at < len(text) and text[at : at + 1] != b'"':
        at += 2 if text[at : at + 1] == b"\\" else 1
    return at + 1


def past_space(text: bytes, at: int) -> int:
    """Return the offset of the first byte from `at` on that is not white space."""
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _unquoted(name: bytes) -> str:
    from linnet.decoding import decoder_of

    return decoder_of(str).decode(name)
