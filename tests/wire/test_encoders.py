"""What is printed depends on what happened since a mark, and on nothing before it."""

import json
from collections.abc import Sequence
from random import Random
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.core import events
from linnet.core.loop.open_work import OpenWork
from linnet.core.messages import ToolCall
from linnet.wire.dialect import Asked, Dialect, Encoder
from linnet.wire.numbered import Framing, numbered_lines
from linnet.wire.pi.dialect import Pi
from linnet.wire.pi.generations import PI_073, PI_087, PI_1
from linnet.wire.pi_legacy.dialect import PiLegacy
from linnet.wire.zot.dialect import Zot
from tests.wire.stories import story

DIALECTS: list[Dialect] = [
    Zot(),
    Zot(show_thinking=True),
    Pi(),
    Pi(stream="deltas"),
    Pi(settled=True),
    Pi(stream="deltas", settled=True),
    Pi(PI_073),
    Pi(PI_087),
    Pi(PI_1),
    Pi(PI_1, stream="full"),
    PiLegacy(),
    PiLegacy(stream="deltas"),
]


def printed(encoder: Encoder, happened: Sequence[events.Event]) -> bytes:
    return b"".join(bytes(buffer) for buffers in encoder.encode(happened) for buffer in buffers)


def last_mark(happened: list[events.Event]) -> int:
    """How many events come before it."""
    work, mark = OpenWork(), 0
    for number, event in enumerate(happened, 1):
        work.apply(event)
        mark = number if work.is_empty else mark
    return mark


randoms = st.randoms(use_true_random=False)


@given(randoms, st.floats(0, 1))
def test_a_fresh_encoder_that_skips_from_the_mark_prints_what_one_prints_that_never_left(
    random: Random, part: float
) -> None:
    happened = story(random)
    cut = round(part * len(happened))
    before, after = happened[:cut], happened[cut:]
    mark = last_mark(before)
    for dialect in DIALECTS:
        stayed, fresh = dialect.encoder(), dialect.encoder()
        printed(stayed, before)
        fresh.skip(before[mark:])
        assert printed(fresh, after) == printed(stayed, after)


@given(randoms, st.sampled_from(get_args(Framing)))
def test_events_that_are_numbered_together_have_the_lines_that_they_have_one_by_one(
    random: Random, framing: Framing
) -> None:
    happened = story(random)
    for dialect in DIALECTS:
        one_by_one = dialect.encoder()
        expected = [
            line
            for number, event in enumerate(happened, 7)
            for line in numbered_lines(one_by_one, number, [event], framing)
        ]
        together = list(numbered_lines(dialect.encoder(), 7, happened, framing))
        assert b"".join(line for (line,) in together) == b"".join(line for (line,) in expected)


@given(randoms)
def test_what_is_skipped_and_what_is_printed_are_remembered_alike(random: Random) -> None:
    happened = story(random)
    for dialect in DIALECTS:
        whole = dialect.encoder()
        lines = [printed(whole, [event]) for event in happened]
        for cut in range(0, len(happened), 7):
            fresh = dialect.encoder()
            fresh.skip(happened[:cut])
            assert printed(fresh, happened[cut : cut + 7]) == b"".join(lines[cut : cut + 7])


@given(randoms, st.sampled_from(["full", "deltas"]), st.sampled_from(["full", "deltas"]))
def test_what_a_client_has_set_holds_for_it_alone_however_long_it_is_there(
    random: Random, first: str, then: str
) -> None:
    happened = story(random)
    cut = len(happened) // 2
    one, other = Pi(), Pi()
    stayed, beside = one.encoder(), other.encoder()
    set_stream(one, first)
    printed(stayed, happened[:cut])
    printed(beside, happened[:cut])
    set_stream(one, then)
    fresh = one.encoder()
    fresh.skip(happened[last_mark(happened[:cut]) : cut])
    told = printed(stayed, happened[cut:])
    assert told == printed(fresh, happened[cut:])
    assert told == printed(fresh_of(Pi(stream="full" if then == "full" else "deltas"), happened[:cut]), happened[cut:])
    assert printed(beside, happened[cut:]) == printed(fresh_of(Pi(), happened[:cut]), happened[cut:])


def set_stream(pi: Pi, mode: str) -> None:
    asked = pi.decode(b'{"type":"set_stream","mode":"%b"}' % mode.encode())
    assert isinstance(asked, Asked)
    pi.heed(asked)


def fresh_of(dialect: Dialect, happened: list[events.Event]) -> Encoder:
    encoder = dialect.encoder()
    encoder.skip(happened)
    return encoder


@pytest.mark.parametrize("dialect", DIALECTS[2:])
def test_nothing_is_left_of_a_job_that_has_settled(dialect: Dialect) -> None:
    """Neither of one that ended by itself nor of one that broke: a prompt that takes no run is told as an empty one."""
    next_prompt: list[events.Event] = [events.JobStarted("prompt"), events.Settled("prompt", "aborted")]
    whole: list[events.Event] = [events.RunStarted(), events.RunEnded("end", "", ())]
    broken: list[events.Event] = [
        events.RunStarted(),
        events.StepStarted(1),
        events.ToolStarted(ToolCall("a", "bash", {})),
    ]
    expected = printed(dialect.encoder(), next_prompt)
    assert expected
    for before in (whole, broken, [events.CompactionStarted("overflow")]):
        encoder = dialect.encoder()
        printed(encoder, [events.JobStarted("prompt"), *before, events.Settled("prompt", "error", "it broke")])
        assert printed(encoder, [events.ToolProgressed("a", "bash", "late")]) == b""
        assert printed(encoder, next_prompt) == expected


EVENTS_OF_073 = {
    *("agent_start", "agent_end", "turn_start", "turn_end", "message_start", "message_update", "message_end"),
    *("tool_execution_start", "tool_execution_update", "tool_execution_end", "queue_update"),
    *("compaction_start", "compaction_end", "auto_retry_start", "auto_retry_end", "session_info_changed"),
    *("thinking_level_changed", "extension_error", "extension_ui_request"),
}
ASKED_FOR = {"tool_request", "tool_request_closed", "output"}  # By clients that bring tools or schemas.


@given(randoms)
def test_clients_of_pi_073_are_sent_no_event_that_it_does_not_have(random: Random) -> None:
    lines = printed(Pi(PI_073).encoder(), story(random)).splitlines()
    assert {json.loads(line)["type"] for line in lines} <= EVENTS_OF_073 | ASKED_FOR


def test_a_story_may_have_anything_in_it() -> None:
    stories = [story(Random(seed)) for seed in range(400)]
    assert {type(event) for happened in stories for event in happened} == set(get_args(events.Event))
    marks = [last_mark(happened) for happened in stories]
    assert sum(0 < mark < len(happened) for mark, happened in zip(marks, stories, strict=True)) > 100
