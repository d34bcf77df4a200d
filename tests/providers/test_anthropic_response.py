import json
from typing import Any

import pytest
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
from linnet.core.messages import Usage
from linnet.errors import ModelRefused, ProviderError, ProviderRejected, ProviderUnavailable
from linnet.providers.anthropic.response import Reader

START = {"type": "message_start", "message": {"usage": {"input_tokens": 5, "output_tokens": 1}}}
STOP = {"type": "message_stop"}
OPENED: list[Delta] = [ReplyOpened(), UsageReported(Usage(5, 1))]


def wire(*events: Any) -> list[bytes]:
    return [event if isinstance(event, bytes) else json.dumps(event).encode() for event in events]


def block(index: int, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": fields}


def part(index: int, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": fields}


def closed(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def stopping(reason: str | None, **usage: int) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}


def read(*events: Any) -> tuple[list[Delta], ProviderError | None]:
    reader = Reader()
    deltas = reader.feed(wire(*events))
    return deltas + reader.end(), reader.failure


def test_text_thoughts_and_a_call_become_deltas_in_order() -> None:
    deltas, failure = read(
        START,
        {"type": "ping"},
        block(0, type="thinking", thinking="", signature=""),
        part(0, type="thinking_delta", thinking="Hm."),
        part(0, type="signature_delta", signature="sig"),
        closed(0),
        block(1, type="redacted_thinking", data="secret"),
        closed(1),
        block(2, type="text", text=""),
        part(2, type="text_delta", text="Hi"),
        closed(2),
        block(3, type="tool_use", id="t1", name="read", input={}),
        part(3, type="input_json_delta", partial_json=""),
        part(3, type="input_json_delta", partial_json='{"path":'),
        part(3, type="input_json_delta", partial_json='"a"}'),
        closed(3),
        stopping("tool_use", output_tokens=9),
        STOP,
    )
    assert failure is None
    assert deltas == [
        *OPENED,
        ThinkingDelta("Hm."),
        ThinkingSigned("sig"),
        PartClosed(),
        ThinkingSigned("secret", redacted=True),
        PartClosed(),
        TextDelta("Hi"),
        PartClosed(),
        CallOpened("t1", "read"),
        CallDelta("t1", '{"path":'),
        CallDelta("t1", '"a"}'),
        PartClosed(),
        UsageReported(Usage(5, 9)),
        Stopped("tool_use"),
    ]


def test_usage_is_cumulative_and_later_words_replace_earlier_ones() -> None:
    first = {
        "input_tokens": 3,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": None,
        "output_tokens": 1,
    }
    deltas, _ = read(
        {"type": "message_start", "message": {"usage": first}},
        stopping("end_turn", output_tokens=7, cache_read_input_tokens=100),
        STOP,
    )
    assert [d.usage for d in deltas if isinstance(d, UsageReported)] == [Usage(3, 1, 0, 20), Usage(3, 7, 100, 20)]


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("pause_turn", "end"),
        ("tool_use", "tool_use"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        (None, "end"),
    ],
)
def test_every_reason_to_stop_has_a_meaning(reason: str | None, stop: str) -> None:
    deltas, failure = read(START, stopping(reason), STOP)
    assert failure is None
    assert isinstance(deltas[-1], Stopped)
    assert deltas[-1].reason == stop


@pytest.mark.parametrize(
    ("reason", "details", "kind", "words"),
    [
        ("something_new", None, ProviderRejected, 'not known here: "something_new"'),
        ("refusal", None, ModelRefused, "refused to answer"),
        ("refusal", {"type": "refusal", "category": "bio", "explanation": "No."}, ModelRefused, "(bio: No.)"),
        ("sensitive", None, ModelRefused, "refused to answer"),
        ("content_filter", None, ModelRefused, "refused to answer"),
    ],
)
def test_a_reason_that_is_no_good_end_is_an_error(
    reason: str, details: dict[str, str] | None, kind: type[ProviderError], words: str
) -> None:
    closing = json.dumps({"type": "message_delta", "delta": {"stop_reason": reason, "stop_details": details}}).encode()
    deltas, failure = read(START, closing, STOP)
    assert not any(isinstance(delta, Stopped) for delta in deltas)
    assert type(failure) is kind
    assert words in str(failure)


def test_a_refusal_keeps_the_words_said_and_then_fails() -> None:
    deltas, failure = read(START, part(0, type="text_delta", text="I can"), stopping("refusal"), STOP)
    assert TextDelta("I can") in deltas
    assert isinstance(failure, ProviderRejected)
    assert str(failure) == "anthropic: the model refused to answer"


def test_arguments_that_come_whole_with_the_block_are_not_lost() -> None:
    deltas, _ = read(START, block(0, type="tool_use", id="t", name="read", input={"path": "a"}), closed(0), STOP)
    args = [json.loads(delta.text) for delta in deltas if isinstance(delta, CallDelta)]
    assert args == [{"path": "a"}]
    assert deltas[-1] == Stopped("tool_use")


def test_arguments_that_come_both_ways_count_once() -> None:
    deltas, _ = read(
        START,
        block(0, type="tool_use", id="t", name="read", input={"path": "a"}),
        part(0, type="input_json_delta", partial_json='{"path": "a"}'),
        closed(0),
        STOP,
    )
    assert [delta for delta in deltas if isinstance(delta, CallDelta)] == [CallDelta("t", '{"path": "a"}')]


def test_text_that_comes_with_the_start_of_its_block_is_not_lost() -> None:
    deltas, _ = read(START, block(0, type="text", text="Hi"), part(0, type="text_delta", text="!"), closed(0), STOP)
    assert deltas[2:4] == [TextDelta("Hi"), TextDelta("!")]


def test_what_is_unknown_or_broken_is_skipped_with_all_its_parts() -> None:
    deltas, failure = read(
        START,
        b"{not json",
        b"\xff",
        b'{"type":"content_block_delta"}',
        {"type": "quite_new"},
        block(0, type="server_tool_use", id="s", name="web_search", input={}),
        part(0, type="input_json_delta", partial_json='{"q":1}'),
        part(0, type="text_delta", text="not ours"),
        closed(0),
        block(1, type="text", text=""),
        part(1, type="citations_delta", citation={}),
        part(1, type="text_delta", text="ours"),
        closed(1),
        stopping("end_turn"),
        STOP,
    )
    assert failure is None
    assert [d for d in deltas if not isinstance(d, UsageReported)] == [
        ReplyOpened(),
        TextDelta("ours"),
        PartClosed(),
        Stopped("end"),
    ]


@pytest.mark.parametrize("events", [[], [START], [START, part(0, type="text_delta", text="x"), stopping("end_turn")]])
def test_a_reply_without_its_last_event_was_cut_short(events: list[Any]) -> None:
    _, failure = read(*events)
    assert isinstance(failure, ProviderUnavailable)
    assert str(failure) == "anthropic: the reply was cut short"


def test_an_error_event_ends_the_reply_after_what_came_before_it() -> None:
    fault = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    deltas, failure = read(START, part(0, type="text_delta", text="be"), fault, part(0, type="text_delta", text="no"))
    assert deltas == [*OPENED, TextDelta("be")]
    assert isinstance(failure, ProviderUnavailable)
    assert str(failure) == "anthropic: overloaded_error: Overloaded"


def test_nothing_is_read_after_the_end() -> None:
    deltas, _ = read(START, STOP, part(0, type="text_delta", text="no"))
    assert deltas == [*OPENED, Stopped("end")]


@given(st.lists(st.integers(0, 6)))
def test_how_payloads_are_batched_changes_nothing(cuts: list[int]) -> None:
    events = wire(
        START,
        block(0, type="text", text=""),
        *(part(0, type="text_delta", text=str(n)) for n in range(9)),
        closed(0),
        stopping("end_turn", output_tokens=3),
        STOP,
    )
    whole = Reader().feed(events)
    reader = Reader()
    deltas: list[Delta] = []
    rest = events
    for cut in cuts:
        deltas += reader.feed(rest[:cut])
        rest = rest[cut:]
    assert deltas + reader.feed(rest) == whole


@given(st.lists(st.binary(max_size=30)))
def test_no_payload_raises(payloads: list[bytes]) -> None:
    Reader().feed([*payloads, b"[" * 100_000, b'{"type": "content_block_start", "index": null}'])
