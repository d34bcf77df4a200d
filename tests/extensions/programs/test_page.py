"""The page about extensions in any language: every frame is shown, and what is shown is a frame."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec

from linnet.extensions.programs import frames
from linnet.extensions.programs.occasions import MORE_EVENTS, MORE_INTERCEPTS
from linnet.extensions.programs.protocol import EVENTS

PAGE = (Path(__file__).parents[3] / "docs" / "extension-programs.md").read_text()


def shown() -> Iterator[dict[str, Any]]:
    for block in re.findall(r"^```jsonl\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE):
        yield from map(json.loads, block.splitlines())


def tags(union: Any) -> set[str]:
    return {str(kind.__struct_config__.tag) for kind in get_args(union)}


def test_every_frame_is_shown_and_has_the_shape_of_the_real_one() -> None:
    incoming, outgoing = tags(frames.Incoming), tags(frames.Outgoing)
    seen = set()
    for frame in shown():
        seen.add(frame["type"])
        if frame["type"] in incoming:
            assert not isinstance(frames.decode(json.dumps(frame).encode()), frames.Unusable), frame
        else:
            assert json.loads(frames.encode(msgspec.convert(frame, frames.Outgoing))) == frame
    assert seen == incoming | outgoing


def test_every_event_has_a_row() -> None:
    rows = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`[^|]*)\|", PAGE, re.MULTILINE))))
    assert {*EVENTS, *MORE_EVENTS, *MORE_INTERCEPTS} <= rows
