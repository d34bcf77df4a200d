import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.core.deltas import (
    CallDelta,
    CallOpened,
    Delta,
    ReplyOpened,
    Stopped,
    TextDelta,
    ThinkingDelta,
    ThinkingSigned,
    UsageReported,
)
from linnet.core.messages import Usage
from linnet.errors import ProviderError, ProviderRejected, ProviderUnavailable
from linnet.providers.openai_chat.response import Reader

DONE = b"[DONE]"


def chunk(finish: str | None = None, **delta: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    return json.dumps({"id": "c", "object": "chat.completion.chunk", "choices": [choice], "usage": None}).encode()


def counted(**usage: Any) -> bytes:
    return json.dumps({"choices": [], "usage": usage}).encode()


def call(index: int | None = 0, id: str | None = None, name: str | None = None, arguments: str | None = None) -> Any:
    piece: dict[str, Any] = {"function": {"name": name, "arguments": arguments}}
    if index is not None:
        piece["index"] = index
    if id is not None:
        piece["id"] = id
    return piece


def read(*payloads: bytes, name: str = "openai") -> tuple[list[Delta], ProviderError | None]:
    reader = Reader(name, turn=3)
    deltas = reader.feed(payloads)
    return deltas + reader.end(), reader.failure


def test_text_thoughts_and_usage_become_deltas_in_order() -> None:
    deltas, failure = read(
        chunk(role="assistant", content=""),
        chunk(reasoning_content="Hm."),
        chunk(reasoning="Hm."),
        chunk(content="Hi"),
        chunk("stop"),
        counted(prompt_tokens=10, completion_tokens=4, prompt_tokens_details={"cached_tokens": 6}),
        DONE,
    )
    assert failure is None
    assert deltas == [
        ReplyOpened(),
        ThinkingDelta("Hm."),
        ThinkingSigned("reasoning_content"),
        ThinkingDelta("Hm."),
        TextDelta("Hi"),
        UsageReported(Usage(4, 4, 6)),
        Stopped("end"),
    ]


def test_the_opening_comes_first_whatever_a_server_begins_with() -> None:
    deltas, _ = read(counted(prompt_tokens=1, completion_tokens=0), chunk(content="x"), chunk("stop"), DONE)
    assert deltas == [ReplyOpened(), UsageReported(Usage(1)), TextDelta("x"), Stopped("end")]


def test_the_same_thought_under_two_names_is_thought_once() -> None:
    deltas, _ = read(chunk(reasoning_content="Hm.", reasoning="Hm."), chunk("stop"), DONE)
    assert deltas[1:-1] == [ThinkingDelta("Hm."), ThinkingSigned("reasoning_content")]


def test_a_chunk_may_hold_a_thought_words_and_a_call_at_once() -> None:
    deltas, _ = read(chunk("tool_calls", reasoning="Hm.", content="Hi", tool_calls=[call(0, "a", "read", "{}")]), DONE)
    assert deltas[1:] == [
        ThinkingDelta("Hm."),
        ThinkingSigned("reasoning"),
        TextDelta("Hi"),
        CallOpened("a", "read"),
        CallDelta("a", "{}"),
        Stopped("tool_use"),
    ]


def test_calls_that_interleave_keep_their_ids() -> None:
    deltas, _ = read(
        chunk(tool_calls=[call(0, "a", "read", "")]),
        chunk(tool_calls=[call(1, "b", "ls", "")]),
        chunk(tool_calls=[call(0, arguments='{"x"'), call(1, arguments="{}")]),
        chunk(tool_calls=[call(0, arguments=":1}")]),
        chunk("tool_calls"),
        DONE,
    )
    assert deltas[1:-1] == [
        CallOpened("a", "read"),
        CallOpened("b", "ls"),
        CallDelta("a", '{"x"'),
        CallDelta("b", "{}"),
        CallDelta("a", ":1}"),
    ]


@pytest.mark.parametrize(
    "pieces",
    [
        [call(0, "a", "read", "{"), call(0, "a", "read", "}")],
        [call(0, "a", "read", "{"), call(0, "", None, "}")],
        [call(None, "a", "read", "{"), call(None, None, None, "}")],
        [call(None, "a", "read", "{"), call(None, "a", "read", "}")],
        [call(0, "a", None, None), call(0, None, "read", "{}")],
        [call(0, "a", "read", "{}")],
    ],
)
def test_one_call_however_a_server_repeats_itself(pieces: list[Any]) -> None:
    deltas, _ = read(*(chunk(tool_calls=[piece]) for piece in pieces), chunk("tool_calls"), DONE)
    assert [delta for delta in deltas if isinstance(delta, CallOpened)] == [CallOpened("a", "read")]
    assert "".join(delta.text for delta in deltas if isinstance(delta, CallDelta)) == "{}"


@pytest.mark.parametrize(
    "pieces",
    [
        [call(0, "a", "read", "{}"), call(1, "b", "ls", "{}")],
        [call(0, "a", "read", "{}"), call(0, "b", "ls", "{}")],
        [call(None, "a", "read", "{}"), call(None, "b", "ls", "{}")],
    ],
)
def test_two_calls_however_a_server_numbers_them(pieces: list[Any]) -> None:
    deltas, _ = read(*(chunk(tool_calls=[piece]) for piece in pieces), chunk("tool_calls"), DONE)
    assert [delta.id for delta in deltas if isinstance(delta, CallOpened)] == ["a", "b"]
    assert [delta for delta in deltas if isinstance(delta, CallDelta)] == [CallDelta("a", "{}"), CallDelta("b", "{}")]


def test_an_id_that_is_missing_is_made_up() -> None:
    deltas, _ = read(chunk(tool_calls=[call(0, None, "read", "{}"), call(1, None, "ls", "{}")]), chunk("stop"), DONE)
    assert [delta.id for delta in deltas if isinstance(delta, CallOpened)] == ["call_3_0", "call_3_1"]
    assert deltas[-1] == Stopped("tool_use")  # The server said `stop`, but it did ask for tools.


@pytest.mark.parametrize(
    ("reason", "stop"),
    [("stop", "end"), ("length", "length"), ("tool_calls", "tool_use"), ("function_call", "tool_use"), ("eos", "end")],
)
def test_every_reason_to_finish_has_a_meaning(reason: str, stop: str) -> None:
    deltas, failure = read(chunk(content="x"), chunk(reason), DONE)
    assert failure is None
    assert isinstance(deltas[-1], Stopped)
    assert deltas[-1].reason == stop


def test_a_refusal_is_text() -> None:
    deltas, failure = read(chunk(refusal="I will not."), chunk("stop"), DONE)
    assert failure is None
    assert TextDelta("I will not.") in deltas


def test_a_filtered_reply_keeps_the_words_said_and_then_fails() -> None:
    deltas, failure = read(chunk(content="I can"), chunk("content_filter"), DONE)
    assert TextDelta("I can") in deltas
    assert isinstance(failure, ProviderRejected)
    assert "content filter" in str(failure)


@pytest.mark.parametrize("rest", [[], [counted(prompt_tokens=1, completion_tokens=1)], [DONE]])
def test_a_reason_to_finish_makes_a_reply_whole_whatever_follows(rest: list[bytes]) -> None:
    deltas, failure = read(chunk(content="x"), chunk("stop"), *rest)
    assert failure is None
    assert deltas[-1] == Stopped("end")


@pytest.mark.parametrize("payloads", [[], [chunk(content="x")], [chunk(content="x"), DONE]])
def test_a_body_without_a_reason_to_finish_was_cut_short(payloads: list[bytes]) -> None:
    _, failure = read(*payloads, name="deepseek")
    assert isinstance(failure, ProviderUnavailable)
    assert str(failure) == "deepseek: the reply was cut short"


def test_usage_may_come_with_the_last_words_and_in_other_names() -> None:
    last = {"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}]}
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": 8, "prompt_cache_miss_tokens": 2}
    deltas, _ = read(json.dumps({**last, "usage": usage}).encode(), DONE)
    assert deltas == [ReplyOpened(), TextDelta("x"), UsageReported(Usage(2, 2, 8)), Stopped("end")]


def test_tokens_written_to_the_cache_are_not_counted_twice() -> None:
    details = {"cached_tokens": 5, "cache_write_tokens": 3}
    deltas, _ = read(chunk("stop"), counted(prompt_tokens=10, completion_tokens=1, prompt_tokens_details=details))
    assert UsageReported(Usage(2, 1, 5, 3)) in deltas


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "server_error", "code": None, "message": "oops"}, ProviderUnavailable),
        ({"type": "invalid_request_error", "message": "oops"}, ProviderRejected),
        ({"code": 502, "message": "upstream"}, ProviderUnavailable),
        ("oops", ProviderRejected),
    ],
)
def test_an_error_inside_the_stream_ends_it(error: Any, kind: type[ProviderError]) -> None:
    deltas, failure = read(chunk(content="be"), json.dumps({"error": error}).encode(), chunk(content="no"))
    assert deltas == [ReplyOpened(), TextDelta("be")]
    assert type(failure) is kind


def test_broken_payloads_and_other_choices_are_skipped() -> None:
    other = json.dumps({"choices": [{"index": 1, "delta": {"content": "no"}}]}).encode()
    deltas, failure = read(b"{", b"\xff", b"[]", b"1", other, chunk(content="yes"), chunk("stop"), DONE)
    assert failure is None
    assert deltas == [ReplyOpened(), TextDelta("yes"), Stopped("end")]


@given(st.lists(st.binary(max_size=30)))
def test_no_payload_raises(payloads: list[bytes]) -> None:
    Reader().feed(payloads)
