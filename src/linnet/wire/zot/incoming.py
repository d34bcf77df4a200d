"""The client's side of the zot protocol: a reader of the events that an agent prints."""

from typing import TypeAlias

from linnet.wire.incoming import BadLine, Fields, Reader, UnknownEvent
from linnet.wire.jsonl import LONGEST_LINE
from linnet.wire.zot import frames

Heard: TypeAlias = frames.Event | UnknownEvent | BadLine


def reader(limit: int = LONGEST_LINE) -> Reader[frames.Event]:
    """Return a reader of what an agent prints."""
    return Reader(frames.Event, _mended, limit)


def _mended(fields: Fields) -> Fields | None:
    """Return an object as zot's document says it; None if that changes nothing.

    zot itself says `end` where its document says `end_turn`, and null for a list or an object that is empty.
    """
    mended = _filled(fields)
    if mended.get("stop") == "end":
        mended["stop"] = "end_turn"
    blocks = mended.get("content")
    if isinstance(blocks, list):
        mended["content"] = [_filled(block) if isinstance(block, dict) else block for block in blocks]
    return None if mended == fields else mended


def _filled(fields: Fields) -> Fields:
    empty: Fields = {"content": [], "args": {}}
    return {name: empty.get(name) if value is None else value for name, value in fields.items()}
