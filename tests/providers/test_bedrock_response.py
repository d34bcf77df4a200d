"""What Bedrock streams, as deltas."""

import json
from typing import Any

import pytest

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
from linnet.errors import (
    ContextOverflow,
    ModelRefused,
    ProviderError,
    ProviderRejected,
    ProviderUnavailable,
)
from linnet.providers.bedrock.response import Reader

START: dict[str, Any] = {"messageStart": {"role": "assistant"}}
METADATA: dict[str, Any] = {"metadata": {"usage": {"inputTokens": 3, "outputTokens": 4}, "metrics": {"latencyMs": 1}}}


def delta(index: int = 0, **said: Any) -> dict[str, Any]:
    return {"contentBlockIndex": index, "delta": said, "p": "abc"}


def closed(index: int = 0) -> dict[str, Any]:
    return {"contentBlockStop": {"contentBlockIndex": index}}


def stop(reason: str) -> dict[str, Any]:
    return {"messageStop": {"stopReason": reason}}


def read(*events: dict[str, Any] | bytes, bound: str = "") -> tuple[list[Delta], Reader]:
    reader = Reader(bound=bound)
    payloads = [event if isinstance(event, bytes) else json.dumps(event).encode() for event in events]
    return reader.feed(payloads), reader


def failure(*events: dict[str, Any]) -> ProviderError:
    _, reader = read(START, *events)
    reader.end()
    assert reader.failure is not None
    return reader.failure


def test_a_reply_is_whole_when_what_it_took_has_come() -> None:
    deltas, reader = read(START, delta(text="hi"), closed(), stop("end_turn"))
    assert deltas == [ReplyOpened(), TextDelta("hi"), PartClosed()]
    assert not reader.finished
    more = reader.feed([json.dumps(METADATA).encode()])
    assert more == [UsageReported(Usage(3, 4)), Stopped("end")]
    assert reader.finished


def test_a_reply_that_stopped_is_whole_without_it_too() -> None:
    _, reader = read(START, delta(text="hi"), stop("end_turn"))
    assert reader.end(ProviderUnavailable("bedrock", "cut")) == [Stopped("end")]
    assert reader.finished
    assert reader.failure is None


def test_a_reply_that_did_not_stop_was_cut() -> None:
    assert isinstance(failure(delta(text="hi")), ProviderUnavailable)


def test_a_reply_opens_before_its_first_word() -> None:
    assert read(START)[0] == [ReplyOpened()]


def test_thoughts_come_with_their_signature_and_what_they_are_bound_to() -> None:
    deltas, _ = read(
        START,
        delta(reasoningContent={"text": "hm"}),
        delta(reasoningContent={"signature": "sig"}),
        closed(),
        bound="digest",
    )
    assert deltas[1:] == [ThinkingDelta("hm"), ThinkingSigned("sig", bound="digest"), PartClosed()]


def test_a_redacted_thought_that_comes_in_pieces_is_one() -> None:
    pieces = (delta(reasoningContent={"redactedContent": part}) for part in ("aGVs", "bG8="))
    deltas, _ = read(START, *pieces, closed())
    assert deltas[1:] == [ThinkingSigned("aGVsbG8=", redacted=True), PartClosed()]
    deltas, _ = read(START, *(delta(reasoningContent={"redactedContent": part}) for part in ("aA==", "aQ==")), closed())
    assert deltas[1] == ThinkingSigned("aGk=", redacted=True)


def test_calls_in_parallel_are_told_apart() -> None:
    def begun(index: int) -> dict[str, Any]:
        call = {"toolUse": {"toolUseId": f"t{index}", "name": "read"}}
        return {"contentBlockStart": {"start": call, "contentBlockIndex": index}}

    deltas, _ = read(
        START,
        begun(1),
        begun(2),
        delta(2, toolUse={"input": "{}"}),
        delta(1, toolUse={"input": '{"a":1}'}),
        delta(3, toolUse={"input": "{}"}),
        stop("end_turn"),
        METADATA,
    )
    assert deltas[1:5] == [
        CallOpened("t1", "read"),
        CallOpened("t2", "read"),
        CallDelta("t2", "{}"),
        CallDelta("t1", '{"a":1}'),
    ]
    assert deltas[-1] == Stopped("tool_use")


def test_the_start_of_a_text_is_nothing() -> None:
    assert read(START, {"contentBlockStart": {"start": {}, "contentBlockIndex": 0}})[0] == [ReplyOpened()]


def test_cached_tokens_are_counted_and_so_is_how_long_they_are_kept() -> None:
    usage = {
        "inputTokens": 10,
        "outputTokens": 2,
        "cacheReadInputTokens": 1000,
        "cacheWriteInputTokens": 200,
        "cacheDetails": [{"ttl": "1h", "inputTokens": 50}, {"ttl": "5m", "inputTokens": 150}],
    }
    deltas, _ = read(START, stop("end_turn"), {"metadata": {"usage": usage}})
    assert deltas[1] == UsageReported(Usage(10, 2, 1000, 200, cache_write_long=50))


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("tool_use", "tool_use"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
    ],
)
def test_known_reasons_to_stop(reason: str, expected: Any) -> None:
    assert read(START, stop(reason), METADATA)[0][-1] == Stopped(expected)


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("content_filtered", ModelRefused),
        ("guardrail_intervened", ModelRefused),
        ("malformed_model_output", ProviderUnavailable),
        ("malformed_tool_use", ProviderUnavailable),
        ("tired", ProviderRejected),
    ],
)
def test_other_reasons_are_errors_whether_or_not_anything_follows(reason: str, kind: type[ProviderError]) -> None:
    assert type(failure(stop(reason), METADATA)) is kind
    assert type(failure(stop(reason))) is kind


@pytest.mark.parametrize(
    ("type_", "message", "kind"),
    [
        ("throttlingException", "Too many tokens, please wait before trying again.", ProviderUnavailable),
        ("internalServerException", "oh", ProviderUnavailable),
        ("modelStreamErrorException", "oh", ProviderUnavailable),
        ("serviceUnavailableException", "oh", ProviderUnavailable),
        ("validationException", "Input is too long for requested model.", ContextOverflow),
        ("validationException", "messages: bad", ProviderRejected),
        ("expiredTokenException", "The security token is expired", ProviderRejected),
        ("novelException", None, ProviderRejected),
    ],
)
def test_exceptions_in_a_stream_are_told_apart_by_type(type_: str, message: Any, kind: type[ProviderError]) -> None:
    error = failure(delta(text="hi"), {"exception": {"type": type_, "body": {"message": message}}})
    assert type(error) is kind
    assert type_ in str(error)


def test_what_is_not_known_is_skipped() -> None:
    odd: tuple[dict[str, Any] | bytes, ...] = (
        b"{not json",
        {"newThing": {}},
        delta(citation={}),
        {"delta": None},
    )
    deltas, _ = read(START, delta(text="a"), *odd, delta(text="b"))
    assert deltas == [ReplyOpened(), TextDelta("a"), TextDelta("b")]
