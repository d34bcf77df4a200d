"""The Responses API's stream as deltas: in the vendor's order, in other orders, and cut anywhere."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.core.deltas import (
    CallDelta,
    CallOpened,
    CallSigned,
    Delta,
    PartClosed,
    ReplyOpened,
    Stopped,
    TextDelta,
    TextSigned,
    ThinkingDelta,
    ThinkingSigned,
    UsageReported,
)
from linnet.core.loop.draft import Draft
from linnet.core.messages import Text, Thinking, ToolCall, Usage
from linnet.core.models import Model
from linnet.errors import ContextOverflow, ModelRefused, ProviderError, ProviderRejected, ProviderUnavailable
from linnet.providers.openai_responses.response import Reader

MODEL = Model("gpt-6-sol", "openai", api="openai-responses")
USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {
        "cached_tokens": 60,
        "cache_write_tokens": 30,
        "cache_write_tokens_details": {"ttl_12h_tokens": 20, "ttl_30m_tokens": 10},
    },
    "output_tokens": 7,
    "output_tokens_details": {"reasoning_tokens": 3},
    "total_tokens": 107,
}


def reasoning(id: str = "rs_1", *summary: str, sealed: str = "c2VhbGVk") -> dict[str, Any]:
    parts = [{"type": "summary_text", "text": text} for text in summary]
    item: dict[str, Any] = {"id": id, "type": "reasoning", "summary": parts}
    return {**item, "encrypted_content": sealed} if sealed else item


def message(id: str, text: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"id": id, "type": "message", "role": "assistant", "status": "completed", "content": content, **more}


def call(id: str, call_id: str, arguments: str) -> dict[str, Any]:
    return {"id": id, "type": "function_call", "call_id": call_id, "name": "read", "arguments": arguments}


def streamed(index: int, item: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of an item, in the vendor's order."""
    at = {"output_index": index, "item_id": item["id"]}
    begun = {**item, "summary": [], "content": [], "arguments": "", "encrypted_content": "c2V"}
    added = {"type": "response.output_item.added", "output_index": index, "item": begun}
    grown: list[dict[str, Any]] = []
    match item["type"]:
        case "reasoning":
            for n, part in enumerate(item["summary"]):
                kind = "response.reasoning_summary_text"
                grown.append({"type": "response.reasoning_summary_part.added", **at, "summary_index": n, "part": part})
                half = len(part["text"]) // 2
                for piece in (part["text"][:half], part["text"][half:]):
                    grown.append({"type": f"{kind}.delta", **at, "summary_index": n, "delta": piece})
                grown.append({"type": f"{kind}.done", **at, "summary_index": n, "text": part["text"]})
        case "message":
            for part in item["content"]:
                grown.append({"type": "response.content_part.added", **at, "content_index": 0, "part": part})
                for piece in part["text"]:
                    grown.append({"type": "response.output_text.delta", **at, "content_index": 0, "delta": piece})
                grown.append({"type": "response.output_text.done", **at, "content_index": 0, "text": part["text"]})
        case _:
            kind = "response.function_call_arguments"
            half = len(item["arguments"]) // 2
            for piece in (item["arguments"][:half], item["arguments"][half:]):
                grown.append({"type": f"{kind}.delta", **at, "delta": piece})
            grown.append({"type": f"{kind}.done", **at, "arguments": item["arguments"]})
    return [added, *grown, {"type": "response.output_item.done", "output_index": index, "item": item}]


def last(status: str = "completed", *output: dict[str, Any], **more: Any) -> dict[str, Any]:
    response = {"id": "resp_1", "status": status, "output": list(output), "usage": USAGE, **more}
    return {"type": f"response.{status}", "response": response}


def reply(*items: dict[str, Any], end: dict[str, Any] | None = None) -> list[bytes]:
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}},
        {"type": "response.in_progress", "response": {"id": "resp_1", "status": "in_progress"}},
    ]
    for index, item in enumerate(items):
        events += streamed(index, item)
    events.append(end or last("completed", *items))
    return [json.dumps({**event, "sequence_number": n}).encode() for n, event in enumerate(events)]


def read(payloads: list[bytes]) -> tuple[Reader, list[Delta]]:
    reader = Reader()
    deltas = reader.feed(payloads)
    return reader, deltas + reader.end()


def content(payloads: list[bytes]) -> list[Any]:
    reader, deltas = read(payloads)
    assert reader.finished
    assert reader.failure is None
    draft = Draft()
    draft.add(deltas)
    return list(draft.message(0, MODEL, Usage()).content)


def failure(*events: dict[str, Any]) -> ProviderError:
    reader, _ = read([json.dumps(event).encode() for event in events])
    assert not reader.finished
    assert reader.failure is not None
    return reader.failure


def test_a_reply_is_thoughts_text_and_calls_with_what_the_vendor_wants_back() -> None:
    thought = reasoning("rs_1", "First.", "Then.")
    text = message("msg_1", "On it.", phase="commentary")
    reader, deltas = read(reply(thought, text, call("fc_1", "call_1", '{"path":"a"}'), call("fc_2", "call_2", "{}")))
    assert reader.finished
    assert deltas == [
        ReplyOpened(),
        *map(ThinkingDelta, ("Fir", "st.", "\n\nTh", "en.")),
        ThinkingSigned(json.dumps(thought)),
        PartClosed(),
        *map(TextDelta, "On it."),
        TextSigned('{"v":1,"id":"msg_1","phase":"commentary"}'),
        PartClosed(),
        CallOpened("call_1", "read"),
        CallSigned("call_1", "fc_1"),
        CallDelta("call_1", '{"path'),
        CallDelta("call_1", '":"a"}'),
        PartClosed(),
        CallOpened("call_2", "read"),
        CallSigned("call_2", "fc_2"),
        CallDelta("call_2", "{"),
        CallDelta("call_2", "}"),
        PartClosed(),
        UsageReported(Usage(10, 7, 60, 30, cache_write_long=20)),
        Stopped("tool_use"),
    ]


def test_two_messages_are_two_texts_each_with_its_own_id() -> None:
    parts = content(reply(message("msg_1", "Wait."), message("msg_2", "Done.", phase="final_answer")))
    assert parts == [
        Text("Wait.", '{"v":1,"id":"msg_1"}'),
        Text("Done.", '{"v":1,"id":"msg_2","phase":"final_answer"}'),
    ]


def test_raw_thoughts_are_thoughts_and_two_items_are_two() -> None:
    raw = {"type": "response.reasoning_text.delta", "output_index": 0, "content_index": 0}
    events = reply(reasoning("rs_1"), reasoning("rs_2", "Two."))
    events[3:3] = [
        json.dumps({**raw, "delta": "Hm."}).encode(),
        json.dumps({**raw, "content_index": 1, "delta": "So."}).encode(),
    ]
    assert [(part.text, json.loads(part.signature)["id"]) for part in content(events)] == [
        ("Hm.\n\nSo.", "rs_1"),
        ("Two.", "rs_2"),
    ]


def test_calls_grow_side_by_side() -> None:
    one, two = streamed(0, call("fc_1", "call_1", '{"path":"a"}')), streamed(1, call("fc_2", "call_2", '{"path":"b"}'))
    woven = [event for pair in zip(one, two, strict=True) for event in pair]
    parts = content([json.dumps(event).encode() for event in [*woven, last()]])
    assert parts == [
        ToolCall("call_1", "read", {"path": "a"}, signature="fc_1"),
        ToolCall("call_2", "read", {"path": "b"}, signature="fc_2"),
    ]


def test_what_was_not_streamed_is_taken_from_the_whole_item() -> None:
    items = [reasoning("rs_1", "One.", "Two."), message("msg_1", "Hi."), call("fc_1", "call_1", '{"path":"a"}')]
    done = [{"type": "response.output_item.done", "output_index": n, "item": item} for n, item in enumerate(items)]
    parts = content([json.dumps(event).encode() for event in [*done, last()]])
    assert parts == [
        Thinking("One.\n\nTwo.", json.dumps(items[0])),
        Text("Hi.", '{"v":1,"id":"msg_1"}'),
        ToolCall("call_1", "read", {"path": "a"}, signature="fc_1"),
    ]


def test_a_thought_without_words_is_kept_for_its_signature() -> None:
    sealed = reasoning("rs_1")
    assert content(reply(sealed, message("msg_1", "Hi.")))[0] == Thinking("", json.dumps(sealed))


def test_a_thought_that_only_the_whole_reply_seals_is_signed_late() -> None:
    open_items = [reasoning("rs_1", "One.", sealed=""), reasoning("rs_2", sealed=""), message("msg_1", "Hi.")]
    sealed = [reasoning("rs_1", "One."), reasoning("rs_2"), open_items[2]]
    parts = content(reply(*open_items, end=last("completed", *sealed)))
    assert parts == [
        Thinking("One.", json.dumps(sealed[0])),
        Thinking("", json.dumps(sealed[1])),
        Text("Hi.", '{"v":1,"id":"msg_1"}'),
    ]


def test_a_thought_that_nobody_seals_is_shown_and_not_signed() -> None:
    items = [reasoning("rs_1", "One.", sealed=""), reasoning("rs_2", sealed=""), message("msg_1", "Hi.")]
    assert content(reply(*items)) == [Thinking("One."), Text("Hi.", '{"v":1,"id":"msg_1"}')]


def test_unknown_events_items_and_noise_are_skipped() -> None:
    events = reply(message("msg_1", "Hi."))
    search = {
        "type": "response.output_item.added",
        "output_index": 7,
        "item": {"type": "web_search_call", "id": "ws_1"},
    }
    for noise in (
        b'{"type":"keepalive","sequence_number":466}',
        b"{not json",
        b"[]",
        json.dumps(search).encode(),
        json.dumps({**search, "type": "response.output_item.done"}).encode(),
        b'{"type":"response.function_call_arguments.delta","output_index":9,"delta":"{}"}',
        b'{"type":"response.mcp_call.failed","error":{"message":"not ours"}}',
    ):
        events = [each for event in events for each in (noise, event)]
    assert content(events) == [Text("Hi.", '{"v":1,"id":"msg_1"}')]


@pytest.mark.parametrize("told", ["incomplete", "completed"])
def test_a_reply_that_ran_out_of_tokens_says_so(told: str) -> None:
    """Some servers let such a reply end in `response.completed`."""
    end = {**last("incomplete", incomplete_details={"reason": "max_output_tokens"}), "type": f"response.{told}"}
    reader, deltas = read(reply(message("msg_1", "Hi."), end=end))
    assert reader.finished
    assert deltas[-1] == Stopped("length")


@pytest.mark.parametrize(
    ("end", "kind", "words"),
    [
        (last("incomplete", incomplete_details={"reason": "content_filter"}), ModelRefused, "content filter"),
        (last("incomplete", incomplete_details={"reason": "steered"}), ProviderRejected, '"steered"'),
        (last("failed", error={"code": "server_error", "message": "boom"}), ProviderUnavailable, "boom"),
        (last("failed", error={"code": "rate_limit_exceeded", "message": "slow"}), ProviderUnavailable, "slow"),
        (last("failed", error={"code": "bio_policy", "message": "no"}), ModelRefused, "bio_policy: no"),
        (last("failed", error={"code": "invalid_prompt", "message": "no"}), ModelRefused, "no"),
        (last("failed", error={"code": "invalid_image", "message": "bad"}), ProviderRejected, "bad"),
        (last("failed", error={"code": "context_length_exceeded", "message": "x"}), ContextOverflow, "x"),
        (last("failed"), ProviderRejected, "without a reason"),
        ({**last("cancelled"), "type": "response.failed"}, ProviderRejected, "cancelled"),
        ({**last("cancelled"), "type": "response.completed"}, ProviderRejected, "cancelled"),
        ({**last("pondering"), "type": "response.completed"}, ProviderRejected, '"pondering"'),
        ({"type": "error", "code": "server_error", "message": "boom", "param": None}, ProviderUnavailable, "boom"),
        ({"type": "error", "code": "insufficient_quota", "message": "pay"}, ProviderRejected, "pay"),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, ProviderUnavailable, "busy"),
        ({"error": {"type": "server_error", "message": "gateway"}}, ProviderUnavailable, "gateway"),
        ({"error": {"code": 503, "message": "gateway"}}, ProviderUnavailable, "gateway"),
    ],
)
def test_a_reply_that_is_none_says_why(end: dict[str, Any], kind: type[ProviderError], words: str) -> None:
    found = failure(end)
    assert type(found) is kind
    assert words in str(found)
    reader, deltas = read(reply(message("msg_1", "Hi."), end=end))
    assert type(reader.failure) is kind
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == "Hi."
    assert not any(isinstance(delta, Stopped) for delta in deltas)


def test_nothing_is_opened_by_a_reply_that_fails_at_once() -> None:
    """So that it can be tried again, silently."""
    reader, deltas = read([json.dumps(last("failed", error={"code": "server_error", "message": "boom"})).encode()])
    assert deltas == []
    assert isinstance(reader.failure, ProviderUnavailable)


def test_a_refusal_is_text_and_an_error() -> None:
    item = {**message("msg_1", ""), "content": [{"type": "refusal", "refusal": "I will not."}]}
    delta = {"type": "response.refusal.delta", "output_index": 0, "delta": "I will not."}
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}
    for events in ([delta, done], [done]):
        reader, deltas = read([json.dumps(event).encode() for event in [*events, last()]])
        assert isinstance(reader.failure, ModelRefused)
        assert "I will not." in str(reader.failure)
        assert [delta.text for delta in deltas if isinstance(delta, TextDelta)] == ["I will not."]


WHOLE = reply(reasoning("rs_1", "One.", "Two."), message("msg_1", "héllo"), call("fc_1", "call_1", '{"path":"a"}'))


@pytest.mark.parametrize("cut", range(len(WHOLE)))
def test_a_stream_without_its_last_event_was_cut_short(cut: int) -> None:
    reader, deltas = read(WHOLE[:cut])
    assert isinstance(reader.failure, ProviderUnavailable)
    assert not any(isinstance(delta, Stopped) for delta in deltas)
    assert deltas[:1] in ([], [ReplyOpened()])
    _, all_deltas = read(WHOLE)
    assert all_deltas[: len(deltas)] == deltas


@given(st.lists(st.integers(0, len(WHOLE)), max_size=6))
def test_how_payloads_are_batched_changes_nothing(cuts: list[int]) -> None:
    _, expected = read(WHOLE)
    reader, found = Reader(), []
    edges = [0, *sorted(cuts), len(WHOLE)]
    for start, end in pairwise(edges):
        found += reader.feed(WHOLE[start:end])
    assert found == expected
    assert reader.finished


@given(st.permutations(WHOLE))
def test_events_in_any_order_break_nothing(events: list[bytes]) -> None:
    reader, deltas = read(events)
    assert reader.finished != bool(reader.failure)
    Draft().add(deltas)
