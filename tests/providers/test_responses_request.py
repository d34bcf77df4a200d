"""What we send to the Responses API is what its types accept, and what the vendor would not refuse."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from linnet.core.context.history import Sendable, repaired
from linnet.core.loop.draft import Draft
from linnet.core.messages import (
    AssistantMessage,
    Image,
    ReplyPart,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from linnet.core.models import LEVELS, Model, PromptCache, Reasoning
from linnet.providers import catalog
from linnet.providers.base import Request
from linnet.providers.http.sse import EventSplitter
from linnet.providers.openai_responses.request import Writer
from linnet.providers.openai_responses.response import Reader
from linnet.testing.model_script import Call, Say, Step, Stop, Think
from linnet.testing.vendors.model_responses import ResponsesWire, check_responses, encrypted
from tests.providers.test_requests import LS, PNG, READ, result, user
from tests.providers.vendor_types import openai_responses


def model(id: str = "gpt-6-sol", provider: str = "openai") -> Model:
    found = catalog.find(provider, id)
    assert found
    info = catalog.PROVIDERS[provider]
    return catalog.completed(found, info, info.base_url)


def said(*parts: ReplyPart | str, by: Model | None = None, stop: StopReason = "end") -> AssistantMessage:
    by = by or model()
    content = tuple([Text(part) if isinstance(part, str) else part for part in parts])
    return AssistantMessage(content, 0, by.provider, by.id, stop=stop, api=by.api)


def body_of(*messages: Sendable, by: Model | None = None, **more: Any) -> dict[str, Any]:
    more = {"tools": (READ, LS), **more}
    request = Request(by or model(), "Be brief.", messages, **more)
    body: dict[str, Any] = json.loads(b"".join(Writer().write(request)))
    assert check_responses(body) is None
    return body


def thought(id: str, by: str = "gpt-6-sol", **more: Any) -> Thinking:
    item = {"id": id, "type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}
    return Thinking("hm", json.dumps({**item, "encrypted_content": encrypted(id, by), **more}))


CALL = ToolCall("call_1", "read", {"path": "a"}, signature="fc_1")


def test_nothing_is_kept_at_the_vendor_and_thoughts_come_encrypted() -> None:
    body = body_of(user("hi"), reasoning="high")
    assert body["store"] is False
    assert body["include"] == ["reasoning.encrypted_content"]
    assert body["reasoning"] == {"effort": "high", "summary": "auto"}
    assert body["instructions"] == "Be brief."
    assert body["stream_options"] == {"include_obfuscation": False}
    assert body["parallel_tool_calls"] is True
    assert body["input"] == [{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}]
    assert body["tools"][0] == {
        "type": "function",
        "name": "read",
        "description": "Read a file.",
        "parameters": READ.schema,
        "strict": False,
    }


def test_a_models_own_reply_goes_back_as_it_came() -> None:
    first, second = thought("rs_1", status=None), thought("rs_2")
    comment = Text("On it.", '{"v":1,"id":"msg_1","phase":"commentary"}')
    body = body_of(user("go"), said(first, comment, second, CALL, stop="tool_use"), result("call_1", "x"))
    kept = {key: value for key, value in json.loads(first.signature).items() if key != "status"}
    assert body["input"][1:] == [
        kept,
        {
            "type": "message",
            "role": "assistant",
            "id": "msg_1",
            "status": "completed",
            "content": [{"type": "output_text", "text": "On it.", "annotations": []}],
            "phase": "commentary",
        },
        json.loads(second.signature),
        {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": '{"path":"a"}', "id": "fc_1"},
        {"type": "function_call_output", "call_id": "call_1", "output": "x"},
    ]


PLAIN = [
    {"role": "assistant", "content": "On it."},
    {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": '{"path":"a"}'},
]
OPEN = Thinking("hm", json.dumps({"id": "rs_3", "type": "reasoning", "summary": []}))


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        (said(thought("rs_1"), Text("On it.", "msg_1"), CALL, by=model("gpt-5.4")), PLAIN),
        (said(OPEN, Text("On it.", "msg_1"), CALL), PLAIN),
        (said(thought("rs_1"), OPEN, Text("On it.", "msg_1"), CALL), PLAIN),
        (said(thought("rs_1", encrypted_content=""), Text("On it.", "msg_1"), CALL), PLAIN),
        (said(Thinking("hm", "c2ln"), Text("On it.", "msg_1"), CALL), PLAIN),
        (said(thought("rs_1"), Text("On it.", "msg_1"), stop="aborted"), PLAIN[:1]),
        (said(thought("rs_1"), Text("On it.", "msg_1"), stop="length"), PLAIN[:1]),
        (said(thought("rs_1"), Text("On it.", "msg_1"), stop="error"), PLAIN[:1]),
    ],
)
def test_a_reply_of_others_or_one_that_is_not_whole_loses_thoughts_and_ids(
    reply: AssistantMessage, kept: list[Any]
) -> None:
    body = body_of(*repaired([user("go"), reply, user("on")]))
    assert body["input"][1 : 1 + len(kept)] == kept


def test_a_thought_alone_is_not_sent() -> None:
    assert len(body_of(*repaired([user("go"), said(thought("rs_1"), " "), user("on")]))["input"]) == 2
    assert len(body_of(user("go"), said(thought("rs_1")), user("on"))["input"]) == 2


def test_ids_as_pi_keeps_them_are_taken_apart() -> None:
    joined = ToolCall("call_1|fc_9", "read", {})
    for by, id in ((model(), "fc_9"), (model("gpt-5.4"), None)):
        body = body_of(user("go"), said(joined, by=by, stop="tool_use"), result("call_1|fc_9", "x"))
        assert (body["input"][1]["call_id"], body["input"][1].get("id")) == ("call_1", id)
        assert body["input"][2]["call_id"] == "call_1"


def test_a_bare_id_is_enough_and_one_that_cannot_be_sent_is_left_out() -> None:
    for signature, id in (("msg_7", "msg_7"), ("m" * 65, None), ('{"v":1}', None), ('{"v":', None), ("item_1", None)):
        body = body_of(user("go"), said(Text("Hi.", signature)), user("on"))
        assert body["input"][1].get("id") == id
    for signature in ("item_1", "fc_" + "x" * 62):
        body = body_of(user("go"), said(replace(CALL, signature=signature), stop="tool_use"), result("call_1", "x"))
        assert "id" not in body["input"][1]


def test_ids_of_calls_have_a_form_that_the_vendor_allows() -> None:
    calls = [ToolCall(id, "read", {}) for id in ("functions.read:0", "a|b", "a|c", "x" * 100)]
    body = body_of(user("go"), said(*calls, stop="tool_use"), *[result(call.id, "x") for call in calls])
    sent = [item["call_id"] for item in body["input"] if item.get("type") == "function_call"]
    assert sent[:3] == ["functions_read_0", "a_b", "a_c"]
    assert len(sent[3]) == 64


def test_images_go_where_they_belong() -> None:
    image = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,aGVsbG8="}
    linked = Image("image/png", "", "https://x.test/a.png")
    body = body_of(user("look", PNG, linked), said(CALL, stop="tool_use"), result("call_1", "seen", PNG))
    assert body["input"][0]["content"] == [
        {"type": "input_text", "text": "look"},
        image,
        {**image, "image_url": "https://x.test/a.png"},
    ]
    assert body["input"][2]["output"] == [{"type": "input_text", "text": "seen"}, image]
    blind = replace(model(), images=False)
    assert "input_image" not in json.dumps(body_of(user("look", PNG), by=blind))


def test_an_error_without_words_gets_some() -> None:
    body = body_of(user("go"), said(CALL, stop="tool_use"), result("call_1", failed=True))
    assert body["input"][2]["output"]


@pytest.mark.parametrize(
    ("id", "level", "sent"),
    [
        ("gpt-6-sol", "off", {"effort": "none"}),
        ("gpt-6-sol", "max", {"effort": "max", "summary": "auto"}),
        ("gpt-5.4", "high", {"effort": "high", "summary": "auto"}),
        ("gpt-5", "off", {"effort": "minimal", "summary": "auto"}),
        ("o3", "xhigh", {"effort": "high", "summary": "auto"}),
        ("gpt-4.1", "high", None),
    ],
)
def test_models_think_with_tools_at_the_level_that_was_asked_for(id: str, level: Reasoning, sent: Any) -> None:
    body = body_of(user("go"), by=model(id), reasoning=level)
    assert body.get("reasoning") == sent
    assert ("include" in body) == (sent is not None)


@pytest.mark.parametrize(
    ("id", "cache", "fields"),
    [
        ("gpt-6-sol", "long", {"prompt_cache_key": "s" * 64, "prompt_cache_options": {"ttl": "12h"}}),
        ("gpt-5.4", "long", {"prompt_cache_key": "s" * 64, "prompt_cache_retention": "24h"}),
        ("o3", "long", {"prompt_cache_key": "s" * 64}),
        ("gpt-6-sol", "short", {"prompt_cache_key": "s" * 64}),
        ("gpt-6-sol", "off", {}),
    ],
)
def test_the_cache_is_asked_for_in_the_field_that_the_model_knows(
    id: str, cache: PromptCache, fields: dict[str, Any]
) -> None:
    body = body_of(user("go"), by=model(id), cache=cache, session="s" * 80)
    assert {key: value for key, value in body.items() if "cache" in key} == fields


def test_the_limit_is_never_below_what_the_vendor_takes() -> None:
    assert body_of(user("go"), by=replace(model(), max_output=5))["max_output_tokens"] == 16
    assert body_of(user("go"), by=model("gpt-4.1"))["max_output_tokens"] == 32_000


def test_quirks_change_what_is_sent() -> None:
    odd = replace(
        model(),
        quirks={
            "reasoningSummary": "",
            "supportsPromptCacheKey": False,
            "supportsStreamOptions": False,
            "supportsDeveloperRole": True,
        },
    )
    body = body_of(user("go"), by=odd, reasoning="low", session="s")
    assert body["reasoning"] == {"effort": "low"}
    assert body["input"][0] == {"role": "developer", "content": "Be brief."}
    assert not {"prompt_cache_key", "stream_options", "instructions"} & body.keys()


def test_a_server_may_call_a_model_otherwise() -> None:
    request = Request(model(), "", [user("hi")])
    assert json.loads(b"".join(Writer({"gpt-6-sol": "mine"}).write(request)))["model"] == "mine"


@pytest.mark.foreign
@pytest.mark.xdist_group("vendors")  # Their packages take long to import.
@pytest.mark.parametrize("provider", ["openai", "azure-openai"])
def test_all_models_at_all_levels_are_asked_as_openais_types_say(provider: str) -> None:
    for each in catalog.models(provider):
        by = model(each.id, provider)
        assert by.api == "openai-responses"
        reply = said(thought("rs_1", by.id), Text("On it.", '{"v":1,"id":"msg_1"}'), CALL, by=by, stop="tool_use")
        conversation = (user("go", PNG), reply, result("call_1", "x", PNG), user("more"))
        for level in LEVELS:
            for cache in ("off", "short", "long"):
                body = body_of(*conversation, by=by, reasoning=level, cache=cache, session="s")
                assert openai_responses(body) is None


stops: st.SearchStrategy[StopReason | None] = st.sampled_from([None, None, "aborted", "error", "length"])
steps: st.SearchStrategy[list[Step]] = st.lists(
    st.sampled_from([Think("hm"), Say("Well."), Say(""), Call("read", '{"path":"a"}'), Call("ls", "{}")]), max_size=6
)


def streamed(turn: int, by: Model, planned: list[Step], cut: int, stop: StopReason | None) -> AssistantMessage:
    """The reply that comes of a plan which the vendor's side carries out, cut after some of its events."""
    wire = ResponsesWire({"model": by.id, "input": [turn]}, 100, cached=False)
    events = [*wire.opening(), *[event for step in [*planned, Stop()] for event in wire.events(step)]]
    whole = stop is None
    payloads = EventSplitter(1 << 20).feed(b"".join(events if whole else events[:cut]))
    draft = Draft()
    draft.add(Reader().feed(payloads))
    return draft.message(0, by, Usage(), stop)


@st.composite
def conversations(draw: st.DrawFn) -> list[Sendable]:
    """Replies of several models, whole and cut anywhere, with answers to some of their calls."""
    messages: list[Sendable] = [user("go")]
    for turn in range(draw(st.integers(1, 5))):
        by = model(draw(st.sampled_from(["gpt-6-sol", "gpt-5.4"])))
        stop = draw(stops)
        reply = streamed(turn, by, draw(steps), draw(st.integers(0, 40)), stop)
        messages.append(reply)
        answered = [call for call in reply.calls if draw(st.booleans())]
        messages += [ToolResult(call.id, call.name, (Text("x"),), 0) for call in answered]
        if draw(st.booleans()):
            messages.append(UserMessage((Text("on"),), 0))
    return repaired(messages)


@pytest.mark.foreign
@pytest.mark.xdist_group("vendors")  # Their packages take long to import.
@given(conversations(), st.sampled_from(["gpt-6-sol", "gpt-5.4", "gpt-4.1"]))
def test_what_was_streamed_and_cut_anywhere_goes_on_with_any_model(history: list[Sendable], id: str) -> None:
    body = body_of(*history, by=model(id))
    assert openai_responses(body) is None
    own = [m for m in history if isinstance(m, AssistantMessage) and m.model == id and m.stop in ("end", "tool_use")]
    sealed = sum(isinstance(part, Thinking) for reply in own for part in reply.content)
    assert sum(item.get("type") == "reasoning" for item in body["input"]) == sealed


@given(conversations())
def test_a_step_adds_to_what_was_written_before(history: list[Sendable]) -> None:
    writer, by = Writer(), model()
    for end in range(1, len(history) + 1):
        request = Request(by, "Be brief.", history[:end], (READ,))
        assert b"".join(writer.write(request)) == b"".join(Writer().write(request))
