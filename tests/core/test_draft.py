"""Deltas folded into a message."""

from hypothesis import given
from hypothesis import strategies as st

from linnet.core.deltas import (
    CallDelta,
    CallOpened,
    Delta,
    PartClosed,
    ReplyOpened,
    Stopped,
    TextDelta,
    ThinkingDelta,
    ThinkingSigned,
    UsageReported,
)
from linnet.core.events import CallGrew, Event, PartEnded, PartStarted, TextGrew, ThinkingGrew
from linnet.core.loop.draft import Draft
from linnet.core.messages import AssistantMessage, StopReason, Text, Thinking, ToolCall, Usage
from linnet.core.models import Model

MODEL = Model("m", "p")
words = st.text(min_size=1, max_size=5)
deltas: st.SearchStrategy[Delta] = st.one_of(
    st.builds(TextDelta, words),
    st.builds(ThinkingDelta, words),
    st.builds(ThinkingSigned, words),
    st.builds(PartClosed),
    st.builds(CallDelta, st.sampled_from(["c1", "c2"]), st.sampled_from(['{"a"', ":1}", "{}"])),
    st.just(ReplyOpened()),
)


def fold(*batch: Delta, stop: StopReason | None = None, error: str = "") -> tuple[list[Event], AssistantMessage]:
    draft = Draft()
    events = draft.add(batch)
    return events, draft.message(1, MODEL, draft.usage, stop, error)


@given(st.lists(deltas), st.data())
def test_the_events_of_each_part_add_up_to_it(batch: list[Delta], data: st.DataObject) -> None:
    calls: list[Delta] = [CallOpened("c1", "read"), CallOpened("c2", "bash")]
    for call in calls:
        batch.insert(data.draw(st.integers(0, len(batch))), call)
    events, _ = fold(*batch, Stopped("end"))

    started = {event.index: event for event in events if isinstance(event, PartStarted)}
    assert list(started) == list(range(len(started)))
    grown: dict[int, str] = dict.fromkeys(started, "")
    ended: set[int] = set()
    for event in events:
        match event:
            case TextGrew() | ThinkingGrew() | CallGrew():
                assert event.index not in ended
                grown[event.index] += event.text
            case PartEnded(index, part):
                assert index not in ended
                ended.add(index)
                if isinstance(part, Text | Thinking):
                    assert part.text == grown[index]
            case _:
                pass
    assert ended == set(started)


@given(st.lists(deltas))
def test_how_the_stream_is_cut_into_batches_does_not_matter(batch: list[Delta]) -> None:
    whole, parts = Draft(), Draft()
    at_once = whole.add([*batch, Stopped("end")])
    one_by_one = [event for delta in [*batch, Stopped("end")] for event in parts.add([delta])]
    assert at_once == one_by_one


def test_two_blocks_of_text_stay_two() -> None:
    _, message = fold(TextDelta("a"), PartClosed(), TextDelta("b"), Stopped("end"))
    assert message.content == (Text("a"), Text("b"))


def test_a_call_with_no_arguments_has_an_empty_object() -> None:
    _, message = fold(CallOpened("c", "ls"), Stopped("tool_use"))
    assert message.content == (ToolCall("c", "ls", {}),)


def test_arguments_that_are_no_object_are_kept_as_they_came() -> None:
    for text in ("{not json", "[1]", "5", "[" * 100_000):
        _, message = fold(CallOpened("c", "ls"), CallDelta("c", text), Stopped("tool_use"))
        assert message.calls == (ToolCall("c", "ls", {}, text),)


def test_a_stop_for_tools_without_a_call_is_an_end() -> None:
    _, message = fold(TextDelta("hm"), Stopped("tool_use"))
    assert message.stop == "end"


def test_a_call_with_another_stop_is_a_stop_for_tools() -> None:
    _, message = fold(CallOpened("c", "ls"), CallDelta("c", "{}"), Stopped("end"))
    assert message.stop == "tool_use"


def test_a_reply_that_was_cut_keeps_its_words_and_loses_its_calls() -> None:
    stops: list[StopReason] = ["error", "aborted", "length"]
    for stop in stops:
        _, message = fold(TextDelta("so far"), CallOpened("c", "ls"), CallDelta("c", '{"a'), stop=stop)
        assert message.content == (Text("so far"),)
        assert message.stop == stop


def test_a_signature_belongs_to_the_thought_before_it() -> None:
    _, message = fold(ThinkingDelta("hm"), ThinkingSigned("sig"), PartClosed(), TextDelta("x"), Stopped("end"))
    assert message.content == (Thinking("hm", "sig"), Text("x"))


def test_the_last_word_on_usage_counts() -> None:
    draft = Draft()
    draft.add([UsageReported(Usage(input=1)), UsageReported(Usage(input=2, output=3))])
    assert draft.usage == Usage(input=2, output=3)
