"""What a reply grew to by its deltas alone is what its end says, in every generation of pi's protocol."""

import json
from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from linnet.client import PiDraft
from linnet.core import deltas, events
from linnet.core.loop.draft import Draft
from linnet.core.messages import Usage
from linnet.core.models import Model
from linnet.wire.pi.dialect import Pi
from linnet.wire.pi.generations import GENERATIONS, Generation
from linnet.wire.pi.reading import incoming as pi
from tests.wire.stories import story
from tests.wire.test_encoders import printed

MODEL = Model("m", "anthropic", api="anthropic-messages")
each = pytest.mark.parametrize("generation", GENERATIONS, ids=lambda each: each.name)
words = st.text(max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)


def pieces(text: str, cuts: list[int]) -> list[str]:
    at = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return [text[start:end] for start, end in pairwise(at)]


@st.composite
def replies(draw: st.DrawFn) -> list[deltas.Delta]:
    """A reply in any pieces; calls may be written side by side."""
    said: list[deltas.Delta] = []
    cuts = st.lists(st.integers(0, 100), max_size=4)
    for _ in range(draw(st.integers(0, 3))):
        thinks = draw(st.booleans())
        for piece in pieces(draw(words), draw(cuts)):
            said.append(deltas.ThinkingDelta(piece) if thinks else deltas.TextDelta(piece))
        if draw(st.booleans()):
            said.append(deltas.PartClosed())
    calls = [[*pieces(json.dumps(draw(st.dictionaries(words, values, max_size=3))), draw(cuts))] for _ in range(2)]
    for number in range(draw(st.integers(0, 2))):
        said.append(deltas.CallOpened(f"call_{number}", "read"))
        waiting = [(index, calls[index]) for index in range(number + 1) if calls[index]]
        for index, rest in draw(st.permutations(waiting)):
            taken = len(rest) if index < number or draw(st.booleans()) else 0
            said += [deltas.CallDelta(f"call_{index}", rest.pop(0)) for _ in range(taken)]
    opened = {each.id for each in said if isinstance(each, deltas.CallOpened)}
    for index, rest in enumerate(calls):
        said += [deltas.CallDelta(f"call_{index}", piece) for piece in rest if f"call_{index}" in opened]
    return said


def heard(generation: Generation, happened: Sequence[events.Event], stream: Any = None) -> list[object]:
    reader = pi.reader()
    lines = printed(Pi(generation, stream=stream).encoder(), happened)
    return [incoming.said for incoming in reader.feed(lines)]


def compared(frames: list[object]) -> int:
    """How many replies grew to what their end said. One that was cut short has lost its calls by then, and each its
    empty blocks.
    """
    draft, count, started = PiDraft(), 0, False
    for frame in frames:
        if isinstance(frame, pi.MessageEnd) and frame.message.role == "assistant" and started:
            assert draft.message
            broken = frame.message.stop_reason == "error" and not frame.message.content  # linnet itself failed.
            assert broken or content(draft.message, frame.message.stop_reason) == content(frame.message)
            count += not broken
        started = isinstance(frame, pi.MessageUpdate) or (started and not isinstance(frame, pi.MessageEnd))
        draft.add(frame)
    return count


def content(message: pi.Message, stop: str = "") -> list[pi.Block]:
    assert not isinstance(message.content, str)
    told = [replace(block, thinking_signature=None, redacted=False) for block in message.content]
    cut = stop in ("length", "error", "aborted")
    return [block for block in told if (not cut if block.type == "toolCall" else block.text or block.thinking)]


@each
@given(replies(), st.data())
def test_a_reply_in_any_pieces_grows_to_what_its_end_says(
    generation: Generation, reply: list[deltas.Delta], data: st.DataObject
) -> None:
    draft = Draft()
    happened: list[events.Event] = [events.ReplyStarted(MODEL.api, MODEL.provider, MODEL.id, 1)]
    while reply:
        size = data.draw(st.integers(1, len(reply)))
        happened += draft.add(reply[:size])
        reply = reply[size:]
    happened += draft.add([deltas.Stopped("end")])
    happened.append(events.ReplyEnded(draft.message(1, MODEL, Usage(1, 2)), Usage(1, 2)))
    stream = data.draw(st.sampled_from([None, "full", "deltas"]))
    if generation.call_starts_named or stream != "deltas":
        compared(heard(generation, happened, stream))


@each
@given(st.integers(0, 2**32))
def test_in_any_session_replies_grow_to_what_their_ends_say(generation: Generation, seed: int) -> None:
    compared(heard(generation, story(Random(seed))))
