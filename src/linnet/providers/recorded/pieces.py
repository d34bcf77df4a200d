"""The texts that the deltas of a reply amount to, and how to change such a text where it spans several deltas. Pure."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from linnet.core.deltas import CallDelta, CallOpened, Delta, PartClosed, TextDelta, ThinkingDelta
from linnet.decoding import converted

T = TypeVar("T", bound=Struct)


class Change(NamedTuple):
    """A part of a text, and what is to stand there instead."""

    start: int
    end: int
    text: str


class Blocks:
    """Tells which deltas continue each other."""

    def __init__(self) -> None:
        self._block = 0
        self._kind: type[Delta] | None = None

    def key(self, delta: Delta) -> Hashable:
        """Return the same for all pieces of one text, which for arguments is the id of the call; None for a delta that
        is no piece. Deltas are given in order.
        """
        if isinstance(delta, CallDelta):
            return delta.id
        if isinstance(delta, PartClosed | CallOpened):
            self._kind = None
        if not isinstance(delta, TextDelta | ThinkingDelta):
            return None
        if type(delta) is not self._kind:
            self._kind = type(delta)
            self._block += 1
        return self._block


def changed(batches: Sequence[Sequence[Delta]], changes: Callable[[str, bool], Sequence[Change]]) -> list[list[Delta]]:
    """Return the batches after each text in them was changed. `changes` is given the text, and whether it is JSON, as
    the arguments of a call are. It returns what is to change, in order and without overlaps; what is put in stands in
    the piece in which the part that it replaces began.
    """
    made = [list(batch) for batch in batches]
    blocks = Blocks()
    texts: dict[Hashable, list[tuple[int, int, str]]] = {}
    for number, batch in enumerate(batches):
        for place, delta in enumerate(batch):
            key = blocks.key(delta)
            if key is not None and isinstance(delta, TextDelta | ThinkingDelta | CallDelta):
                texts.setdefault(key, []).append((number, place, delta.text))
    for key, pieces in texts.items():
        if found := changes("".join([text for _, _, text in pieces]), isinstance(key, str)):
            for (number, place, old), text in zip(pieces, _spliced([piece[2] for piece in pieces], found), strict=True):
                piece = made[number][place]
                if text != old and isinstance(piece, TextDelta | ThinkingDelta | CallDelta):
                    made[number][place] = replace(piece, text=text)
    return made


def retold(said: T, change: Callable[[str], str]) -> T:
    """Return the same after all texts in it were changed."""
    return converted(walked(to_builtins(said), change), type(said))


def walked(value: Any, change: Callable[[str], str]) -> Any:
    """Return a value of JSON after all texts in it were changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {walked(name, change): walked(each, change) for name, each in value.items()}
    return [walked(each, change) for each in value] if isinstance(value, list | tuple) else value


def _spliced(pieces: Sequence[str], changes: Sequence[Change]) -> list[str]:
    """Return the pieces of a text after it was changed."""
    made: list[str] = []
    start = 0
    for piece in pieces:
        end = start + len(piece)
        out, at = "", start
        for change in changes:
            if change.start < end and change.end > start:
                out += piece[at - start : max(change.start, start) - start]
                out += change.text if change.start >= start else ""
                at = min(change.end, end)
        made.append(out + piece[at - start :])
        start = end
    return made
