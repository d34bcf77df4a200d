"""Google's stream becomes the same deltas as any other, and no signature is lost or put elsewhere."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.core.deltas import Delta, ReplyOpened, Stopped, UsageReported
from linnet.core.loop.draft import Draft
from linnet.core.messages import AssistantMessage, Text, Thinking, ToolCall, Usage
from linnet.core.models import Model
from linnet.errors import ModelRefused, ProviderError, ProviderRejected, ProviderUnavailable
from linnet.providers.google.response import Reader

MODEL = Model("gemini-3.8-flash", "google", api="google-generative-ai")


def chunk(*parts: dict[str, Any], stop: str | None = None, **more: Any) -> bytes:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if stop is not None:
        candidate["finishReason"] = stop
    candidate |= more.pop("candidate", {})
    return json.dumps({"candidates": [candidate], **more}).encode()


def text(words: str, signature: str = "", **more: Any) -> dict[str, Any]:
    return {"text": words, **({"thoughtSignature": signature} if signature else {}), **more}


def thought(words: str, signature: str = "") -> dict[str, Any]:
    return text(words, signature, thought=True)


def call(name: str, args: Any, id: str = "", signature: str = "") -> dict[str, Any]:
    function = {"name": name, "args": args, **({"id": id} if id else {})}
    return {"functionCall": function, **({"thoughtSignature": signature} if signature else {})}


def read(*payloads: bytes, reader: Reader | None = None) -> tuple[list[Delta], ProviderError | None]:
    reader = reader or Reader()
    deltas = [delta for payload in payloads for delta in reader.feed([payload])]
    return deltas + reader.end(), reader.failure


def reply(*payloads: bytes) -> AssistantMessage:
    deltas, failure = read(*payloads)
    assert failure is None
    draft = Draft()
    draft.add(deltas)
    return draft.message(0, MODEL, draft.usage)


STOP = chunk(stop="STOP")


def test_thoughts_text_and_calls_come_in_their_order() -> None:
    said = reply(
        chunk(thought("Let me ")),
        chunk(thought("see.", "c2ln")),
        chunk(text("Now.")),
        chunk(call("read", {"path": "a"}, "fc_1", "Y2FsbA=="), call("ls", {}, "fc_2")),
        STOP,
    )
    assert said.content == (
        Thinking("Let me see.", "c2ln"),
        Text("Now."),
        ToolCall("fc_1", "read", {"path": "a"}, signature="Y2FsbA=="),
        ToolCall("fc_2", "ls", {}),
    )
    assert said.stop == "tool_use"


def test_the_last_signature_of_a_text_in_pieces_counts() -> None:
    assert reply(chunk(text("a", "b25l")), chunk(text("b")), STOP).content == (Text("ab", "b25l"),)
    assert reply(chunk(text("a", "b25l")), chunk(text("b", "dHdv")), STOP).content == (Text("ab", "dHdv"),)
    assert reply(chunk(thought("a", "b25l")), chunk(thought("b", "dHdv")), STOP).content == (Thinking("ab", "dHdv"),)


def test_parts_that_come_together_are_not_merged_over_a_signature() -> None:
    assert reply(chunk(text("a", "b25l"), text("b")), STOP).content == (Text("a", "b25l"), Text("b"))
    assert reply(chunk(thought("a"), thought("b", "dHdv")), STOP).content == (Thinking("a"), Thinking("b", "dHdv"))


def test_a_signature_on_an_empty_text_is_kept() -> None:
    assert reply(chunk(thought("hm")), chunk(text("", "c2ln"), stop="STOP")).content == (
        Thinking("hm"),
        Text("", "c2ln"),
    )
    assert reply(chunk(text("Hi.")), chunk(text("", "c2ln"), stop="STOP")).content == (Text("Hi.", "c2ln"),)
    after_a_call = reply(chunk(call("ls", {}, "fc_1", "Y2FsbA==")), chunk(text("", "c2ln"), stop="STOP"))
    assert after_a_call.content == (ToolCall("fc_1", "ls", {}, signature="Y2FsbA=="), Text("", "c2ln"))


def test_a_call_with_words_in_its_part_is_not_lost_after_a_text() -> None:
    both = {**call("read", {"path": "a"}, "fc_1"), "text": "Reading."}
    said = reply(chunk(text("Now.")), chunk(both), STOP)
    assert said.content == (Text("Now."), ToolCall("fc_1", "read", {"path": "a"}))


def test_calls_without_ids_get_some_of_their_own() -> None:
    reader = Reader(turn=7)
    deltas, _ = read(chunk(call("ls", None), call("ls", {}, "x"), call("ls", {}, "x")), STOP, reader=reader)
    draft = Draft()
    draft.add(deltas)
    ids = [each.id for each in draft.message(0, MODEL, Usage()).calls]
    assert ids == ["call_7_0", "x", "call_7_2"]


def test_a_tool_whose_name_had_to_change_is_called_by_its_own() -> None:
    deltas, _ = read(chunk(call("_3d", {})), STOP, reader=Reader(names={"_3d": "3d"}))
    draft = Draft()
    draft.add(deltas)
    assert draft.message(0, MODEL, Usage()).calls[0].name == "3d"


def test_usage_is_the_last_count_with_thoughts_as_output_and_without_what_was_cached() -> None:
    first = {"promptTokenCount": 100, "cachedContentTokenCount": 60, "totalTokenCount": 100}
    last = {**first, "candidatesTokenCount": 7, "thoughtsTokenCount": 5, "toolUsePromptTokenCount": 3}
    deltas, _ = read(chunk(text("a"), usageMetadata=first), chunk(text("b"), stop="STOP", usageMetadata=last))
    assert [delta.usage for delta in deltas if isinstance(delta, UsageReported)] == [
        Usage(40, 0, 60),
        Usage(43, 12, 60),
    ]


def test_the_last_reason_to_stop_counts_where_each_piece_has_one() -> None:
    said = reply(chunk(text("a"), stop="STOP"), chunk(text("b"), stop="MAX_TOKENS"))
    assert said.content == (Text("ab"),)
    assert said.stop == "length"


@pytest.mark.parametrize(
    ("stop", "kind", "words"),
    [
        ("SAFETY", ModelRefused, "the model refused to answer (SAFETY: too hot)"),
        ("RECITATION", ModelRefused, "the model refused to answer (RECITATION: too hot)"),
        ("OTHER", ModelRefused, "the model refused to answer (OTHER: too hot)"),
        ("MALFORMED_FUNCTION_CALL", ProviderUnavailable, "cannot be used (MALFORMED_FUNCTION_CALL: too hot)"),
        ("UNEXPECTED_TOOL_CALL", ProviderUnavailable, "cannot be used (UNEXPECTED_TOOL_CALL: too hot)"),
        ("TOO_MANY_TOOL_CALLS", ProviderRejected, 'not known here: "TOO_MANY_TOOL_CALLS": too hot'),
        ("MISSING_THOUGHT_SIGNATURE", ProviderRejected, "MISSING_THOUGHT_SIGNATURE"),
        ("SOMETHING_NEW", ProviderRejected, 'not known here: "SOMETHING_NEW"'),
    ],
)
def test_a_reason_that_is_no_good_end_is_an_error(stop: str, kind: type[ProviderError], words: str) -> None:
    deltas, failure = read(chunk(text("I can"), stop=stop, candidate={"finishMessage": "too hot"}))
    assert deltas[0] == ReplyOpened()
    assert type(failure) is kind
    assert words in str(failure)


def test_a_prompt_that_is_blocked_says_why() -> None:
    deltas, failure = read(b'{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":3}}')
    assert deltas == []
    assert isinstance(failure, ModelRefused)
    assert str(failure) == "google: the prompt was blocked (SAFETY)"


def test_an_empty_reply_may_be_asked_for_again() -> None:
    deltas, failure = read(chunk(stop="STOP", usageMetadata={"promptTokenCount": 3}))
    assert deltas == []  # Whoever has begun to show a reply cannot ask again.
    assert isinstance(failure, ProviderUnavailable)
    assert str(failure) == "google: the model answered with nothing"


def test_a_reply_that_ran_out_of_tokens_before_its_first_word_says_so() -> None:
    deltas, failure = read(chunk(stop="MAX_TOKENS"))
    assert failure is None
    assert deltas[-1] == Stopped("length")


def test_an_error_in_the_stream_is_judged_by_its_code() -> None:
    for code, kind in ((503, ProviderUnavailable), (400, ProviderRejected)):
        fault = json.dumps({"error": {"code": code, "message": "no", "status": "X"}}).encode()
        deltas, failure = read(chunk(thought("hm", "c2ln")), fault)
        assert type(failure) is kind
        draft = Draft()
        draft.add(deltas)
        assert draft.message(0, MODEL, Usage(), "error").content == (Thinking("hm", "c2ln"),)


def test_a_stream_without_a_reason_to_stop_was_cut() -> None:
    for payloads in ([], [chunk(text("half"))], [chunk(call("ls", {}))]):
        _, failure = read(*payloads)
        assert isinstance(failure, ProviderUnavailable)
        assert "cut short" in str(failure)


def test_a_connection_that_is_lost_after_the_reason_to_stop_costs_nothing() -> None:
    reader = Reader()
    reader.feed([chunk(text("all"), stop="STOP")])
    assert reader.end(ProviderUnavailable("google", "lost")) == [Stopped("end")]
    assert reader.failure is None


def test_a_reply_goes_on_in_another_answer() -> None:
    reader = Reader()
    token = {"continuationToken": "dG9r"}
    counts = {"promptTokenCount": 10, "candidatesTokenCount": 4}
    deltas, failure = read(
        chunk(text("one "), stop="CONTINUATION", candidate=token, usageMetadata=counts), reader=reader
    )
    assert failure is None
    assert not any(isinstance(delta, Stopped) for delta in deltas)
    assert reader.go_on() == "dG9r"
    more, failure = read(chunk(text("two"), stop="STOP", usageMetadata=counts), reader=reader)
    assert failure is None
    assert reader.go_on() == ""
    draft = Draft()
    draft.add(deltas + more)
    assert draft.message(0, MODEL, draft.usage) == AssistantMessage(
        (Text("one two"),), 0, "google", MODEL.id, Usage(20, 8), api=MODEL.api
    )


def test_a_reply_that_never_goes_on_fails() -> None:
    _, failure = read(chunk(stop="CONTINUATION", candidate={"continuationToken": "dG9r"}))
    assert str(failure) == "google: the model does not go on with its reply"
    deltas, failure = read(chunk(text("a"), stop="CONTINUATION"))
    assert failure is None
    assert deltas[-1] == Stopped("length")


parts = st.one_of(
    st.builds(text, st.text(max_size=3), st.sampled_from(["", "b25l", "dHdv"])),
    st.builds(thought, st.text(max_size=3), st.sampled_from(["", "b25l", "dHdv"])),
    st.builds(call, st.just("ls"), st.just({"a": 1}), st.sampled_from(["", "x"]), st.sampled_from(["", "c2ln"])),
)


@given(st.lists(st.lists(parts, max_size=3), max_size=5), st.booleans())
def test_no_word_call_or_signature_changes_its_kind(chunks: list[list[dict[str, Any]]], at_once: bool) -> None:
    payloads = [*(chunk(*each) for each in chunks), chunk(text("."), stop="STOP")]
    reader = Reader()
    deltas = reader.feed(payloads) if at_once else [d for each in payloads for d in reader.feed([each])]
    deltas += reader.end()
    assert reader.failure is None
    assert isinstance(deltas[0], ReplyOpened)
    draft = Draft()
    draft.add(deltas)
    said = draft.message(0, MODEL, Usage())
    sent = [part for each in chunks for part in each] + [text(".")]
    assert said.text == "".join(part["text"] for part in sent if "text" in part and not part.get("thought"))
    thoughts = "".join(part.text for part in said.content if isinstance(part, Thinking))
    assert thoughts == "".join(part["text"] for part in sent if part.get("thought"))
    signed = [part.get("thoughtSignature", "") for part in sent if "functionCall" in part]
    assert [each.signature for each in said.calls] == signed
    for kind, thinking in ((Text, None), (Thinking, True)):
        came = {
            part["thoughtSignature"]
            for part in sent
            if "text" in part and part.get("thought") is thinking and "thoughtSignature" in part
        }
        kept = {part.signature for part in said.content if isinstance(part, kind) and part.signature}
        assert kept <= came
        assert bool(kept) == bool(came)


@given(st.lists(st.binary(max_size=20) | st.sampled_from([b"{}", b"[]", b'{"candidates":[{}]}', b'{"candidates":[]}'])))
def test_garbage_is_skipped(payloads: list[bytes]) -> None:
    reader = Reader()
    assert reader.feed(payloads) == []
    reader.end()
    assert reader.failure is not None
