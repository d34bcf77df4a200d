"""What we send is what the vendors' own types accept, for any history that the core may hand us."""

import json
from typing import Any

import pytest

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
from linnet.core.models import LEVELS, Model, Reasoning, possible
from linnet.core.toolspec import ToolSpec
from linnet.providers import catalog
from linnet.providers.anthropic import request as anthropic
from linnet.providers.anthropic.response import Reader
from linnet.providers.base import Request
from linnet.providers.openai_chat import request as openai_chat
from linnet.testing.model_rules import check_anthropic, check_openai

READ = ToolSpec("read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
LS = ToolSpec("ls", "List.", {"type": "object", "properties": {}})
PNG = Image("image/png", "aGVsbG8=")


THEN = {"anthropic": "claude-sonnet-4-5", "openai": "gpt-5", "deepseek": "deepseek-chat"}


def model(provider: str = "anthropic", id: str = "") -> Model:
    found = catalog.find(provider, id or THEN[provider])
    assert found
    info = catalog.PROVIDERS[provider]
    return catalog.completed(found, info, info.base_url, info.api)


def user(*parts: str | Image) -> UserMessage:
    return UserMessage(tuple(Text(p) if isinstance(p, str) else p for p in parts), 0)


def said(*parts: ReplyPart | str, by: Model | None = None) -> AssistantMessage:
    by = by or model()
    return AssistantMessage(
        tuple(Text(p) if isinstance(p, str) else p for p in parts), 0, by.provider, by.id, api=by.api
    )


def result(id: str, *parts: str | Image, failed: bool = False) -> ToolResult:
    return ToolResult(id, "read", tuple(Text(p) if isinstance(p, str) else p for p in parts), 0, failed)


def written(request: Request) -> bytes:
    """The body of a request, as the API of its model spells it."""
    if request.model.api == "anthropic-messages":
        return b"".join(anthropic.Writer().write(request).body)
    return b"".join(openai_chat.Writer().write(request))


def to_anthropic(*messages: Sendable, by: Model | None = None, **more: Any) -> dict[str, Any]:
    more = {"tools": (READ, LS), **more}
    body: dict[str, Any] = json.loads(written(Request(by or model(), "Be brief.", messages, **more)))
    assert check_anthropic(body) is None
    return body


def to_openai(*messages: Sendable, by: Model | None = None, **more: Any) -> dict[str, Any]:
    more = {"tools": (READ, LS), **more}
    chosen = by or model("openai")
    body: dict[str, Any] = json.loads(written(Request(chosen, "Be brief.", messages, **more)))
    assert check_openai(body) is None
    return body


CALL = ToolCall("t1", "read", {"path": "a"})


def test_anthropic_caches_what_will_be_sent_again() -> None:
    body = to_anthropic(user("first"), said("yes"), user("hi"), said("yes"), user("look", PNG))
    assert body["system"] == [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    assert ["cache_control" in tool for tool in body["tools"]] == [False, True]
    marks = [["cache_control" in block for block in message["content"]] for message in body["messages"]]
    assert marks == [[False], [False], [True], [False], [False, True]]


def test_anthropic_gets_all_results_in_one_message_before_anything_else() -> None:
    other = ToolCall("t2", "ls", {})
    body = to_anthropic(
        user("go"), said(CALL, other), result("t1", "one", PNG), result("t2", "", failed=True), user("and hurry")
    )
    blocks = body["messages"][2]["content"]
    assert [block["type"] for block in blocks] == ["tool_result", "tool_result", "text"]
    assert blocks[0]["content"][1]["source"] == {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}
    assert blocks[1]["is_error"] is True
    assert blocks[1]["content"]


def test_anthropic_is_told_of_errors_in_words_only() -> None:
    body = to_anthropic(user("go"), said(CALL), result("t1", PNG, "broken", failed=True))
    assert body["messages"][2]["content"][0]["content"] == [{"type": "text", "text": "broken"}]


def test_anthropic_gets_its_own_thoughts_back_and_nobody_elses() -> None:
    thoughts = (Thinking("hm", "sig"), Thinking("", "data", redacted=True), Thinking("unsigned"), Thinking("", "only"))
    own = to_anthropic(user("go"), said(*thoughts, CALL), result("t1", "x"))
    assert own["messages"][1]["content"][:3] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "data"},
        {"type": "thinking", "thinking": "", "signature": "only"},
    ]
    for other in (model("openai"), model(id="claude-opus-4-5")):
        body = to_anthropic(user("go"), said(*thoughts, CALL, by=other), result("t1", "x"))
        assert [block["type"] for block in body["messages"][1]["content"]] == ["tool_use"]


def test_anthropic_never_sees_empty_text_or_an_empty_message() -> None:
    body = to_anthropic(*repaired([user(""), said(" \n"), user("hi", ""), said(), user("  ")]))
    assert [message["role"] for message in body["messages"]] == ["user"]
    assert all(block["text"].strip() for block in body["messages"][0]["content"])


def test_anthropic_gets_ids_that_it_allows() -> None:
    body = to_anthropic(user("go"), said(ToolCall("functions.read:0", "read", {})), result("functions.read:0", "x"))
    assert body["messages"][1]["content"][0]["id"] == "functions_read_0"
    assert body["messages"][2]["content"][0]["tool_use_id"] == "functions_read_0"


def test_anthropic_learns_what_the_tools_were_when_none_is_offered() -> None:
    body = to_anthropic(user("go"), said(CALL), result("t1", "x"), tools=())
    assert [tool["name"] for tool in body["tools"]] == ["read"]
    assert body["tool_choice"] == {"type": "none"}
    assert "tools" not in to_anthropic(user("go"), tools=())


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("id", [m.id for m in catalog.models("anthropic")])
def test_anthropic_thinks_within_what_the_model_can_say(level: Reasoning, id: str) -> None:
    chosen = model(id=id)
    body = to_anthropic(user("go"), by=chosen, reasoning=level)
    assert body["max_tokens"] <= chosen.max_output
    if not chosen.reasoning:
        assert "thinking" not in body
    else:
        told = chosen.levels[possible(level, chosen, with_tools=True)]
        if isinstance(told, int):
            assert body["thinking"] == {"type": "enabled", "budget_tokens": told}
            assert 1024 <= told <= body["max_tokens"] - 4096
        elif told in ("", "disabled", "between_tools"):
            assert body.get("thinking") == ({"type": told} if told else None)
            assert "output_config" not in body
        else:
            assert body["thinking"]["type"] == "adaptive"
            assert body["output_config"] == {"effort": told}


def test_anthropic_does_not_think_about_calls_that_were_made_without_a_thought() -> None:
    thoughtless = (user("go"), said(CALL), result("t1", "x"))
    assert "thinking" not in to_anthropic(*thoughtless, reasoning="high")
    assert "thinking" in to_anthropic(*thoughtless, said("done"), user("more"), reasoning="high")
    thoughtful = (user("go"), said(Thinking("hm", "sig"), CALL), result("t1", "x"))
    assert "thinking" in to_anthropic(*thoughtful, reasoning="high")


def test_a_long_prompt_lowers_the_answer_instead_of_failing() -> None:
    long = user("x" * 540_000)
    assert to_anthropic(user("go"))["max_tokens"] == 32_000
    assert 4_096 < to_anthropic(long)["max_tokens"] < 21_000
    assert to_anthropic(user("x" * 900_000))["max_tokens"] == 4_096


def test_an_image_does_not_count_by_its_length() -> None:
    assert to_anthropic(user(Image("image/png", "a" * 4_000_000)))["max_tokens"] == 32_000


def test_half_a_character_does_not_stop_a_request() -> None:
    for write in (to_anthropic, to_openai):
        body = json.dumps(write(user("a\ud83d\ude00b\udcffc")), ensure_ascii=False)
        assert "a😀b\ufffdc" in body


def test_openai_gets_a_system_message_usage_and_functions() -> None:
    body = to_openai(user("hi"))
    assert body["messages"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]
    assert body["stream_options"] == {"include_usage": True}
    assert body["tools"][0] == {
        "type": "function",
        "function": {"name": "read", "description": "Read a file.", "parameters": READ.schema},
    }


def test_openai_gets_calls_as_text_and_a_tools_images_from_the_user() -> None:
    body = to_openai(
        user("go", PNG),
        said(Thinking("hm"), CALL, ToolCall("t2", "ls", {}, unparsed="{oops")),
        result("t1", PNG),
        result("t2", "fine"),
        said("Done."),
        user("thanks"),
    )
    _, first, reply, one, two, images, _, _ = body["messages"]
    assert first["content"][1] == {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}}
    assert reply["content"] is None
    assert [json.loads(call["function"]["arguments"]) for call in reply["tool_calls"]] == [{"path": "a"}, {}]
    assert [m["tool_call_id"] for m in (one, two)] == ["t1", "t2"]
    assert images["role"] == "user"
    assert images["content"][1]["type"] == "image_url"


def test_a_model_that_cannot_see_is_told_that_there_was_an_image() -> None:
    blind = model("deepseek")
    body = to_openai(user("look", PNG), said(CALL, by=blind), result("t1", PNG), by=blind)
    assert "image_url" not in json.dumps(body)
    assert json.dumps(body).count("cannot see") == 2


@pytest.mark.parametrize(
    ("provider", "id", "level", "tools", "effort"),
    [
        ("openai", "gpt-5", "off", True, "minimal"),
        ("openai", "gpt-5.1", "off", True, "none"),
        ("openai", "o3", "off", True, "low"),
        ("openai", "gpt-4.1", "off", True, None),
        ("openai", "gpt-6-sol", "xhigh", False, "xhigh"),
        ("openai", "gpt-5.1", "xhigh", True, "high"),
        ("openai", "gpt-5", "minimal", True, "minimal"),
        ("openai", "gpt-5", "xhigh", True, "high"),
        ("openai", "gpt-5.1", "minimal", True, "low"),
        ("openai", "gpt-5.2", "xhigh", True, "xhigh"),
        ("openai", "o3", "minimal", True, "low"),
        ("openai", "gpt-6-sol", "high", True, "none"),
        ("openai", "gpt-6-sol", "off", True, "none"),
        ("openai", "gpt-6-sol", "high", False, "high"),
        ("openai", "gpt-4.1", "high", True, None),
        ("deepseek", "deepseek-reasoner", "high", True, None),
        ("deepseek", "deepseek-v4-pro", "medium", True, "high"),
        ("deepseek", "deepseek-v4-pro", "xhigh", True, "max"),
        ("deepseek", "deepseek-v4-pro", "off", True, None),
    ],
)
def test_the_effort_is_one_that_the_model_knows(
    provider: str, id: str, level: Reasoning, tools: bool, effort: str | None
) -> None:
    body = to_openai(user("go"), by=model(provider, id), reasoning=level, tools=(READ,) if tools else ())
    assert body.get("reasoning_effort") == effort


def test_the_limit_has_the_name_that_the_vendor_gave_it() -> None:
    assert to_openai(user("go"), by=model("openai", "gpt-4.1"))["max_completion_tokens"] == 32_000
    assert to_openai(user("go"), by=model("deepseek"))["max_tokens"] == 8_192


def test_deepseek_is_told_whether_to_think() -> None:
    thinker = model("deepseek", "deepseek-v4-pro")
    assert to_openai(user("go"), by=thinker)["thinking"] == {"type": "disabled"}
    assert to_openai(user("go"), by=thinker, reasoning="high")["thinking"] == {"type": "enabled"}
    assert "thinking" not in to_openai(user("go"), by=model("deepseek"), reasoning="high")


def test_deepseek_gets_its_thoughts_back_with_every_reply() -> None:
    thinker = model("deepseek", "deepseek-v4-pro")
    thought = Thinking("hm", "reasoning_content")
    turn = (user("go"), said(thought, CALL, by=thinker), result("t1", "x"), said("Done.", by=thinker), user("more"))
    replies = [each for each in to_openai(*turn, by=thinker)["messages"] if each["role"] == "assistant"]
    assert [reply["reasoning_content"] for reply in replies] == ["hm", ""]
    foreign = to_openai(user("go"), said(thought, CALL), result("t1", "x"), by=thinker)
    assert foreign["messages"][2]["reasoning_content"] == ""


def test_thoughts_go_back_in_the_field_that_they_came_in() -> None:
    for name in ("reasoning_content", "reasoning", "reasoning_text"):
        own = to_openai(user("go"), said(Thinking("hm", name), "Hi.", by=model("openai")), user("more"))
        assert own["messages"][2][name] == "hm"
    other = to_openai(user("go"), said(Thinking("hm", "sig"), "Hi.", by=model("openai")), user("more"))
    assert other["messages"][2] == {"role": "assistant", "content": "Hi."}


def stream() -> list[bytes]:
    """A reply of everything that may follow and precede a thought, as the payloads of Anthropic's events."""
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {"usage": {"input_tokens": 1}}}]
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
        ({"type": "redacted_thinking", "data": "hidden"}, []),
        ({"type": "thinking", "thinking": "", "signature": ""}, [*thought("Let me "), *signed("c2", "ln")]),
        ({"type": "text", "text": ""}, [{"type": "text_delta", "text": part} for part in (" ", "Now", " ")]),
        ({"type": "thinking", "thinking": "", "signature": ""}, [*thought("see."), *signed("c2ln")]),
        (
            {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}},
            [{"type": "input_json_delta", "partial_json": part} for part in ('{"path":', '"a"}')],
        ),
        ({"type": "thinking", "thinking": "", "signature": ""}, [*thought("Done?"), *signed("c2ln")]),
    ]
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}})
    return [json.dumps(event).encode() for event in [*events, {"type": "message_stop"}]]


def thought(*parts: str) -> list[dict[str, Any]]:
    return [{"type": "thinking_delta", "thinking": part} for part in parts]


def signed(*parts: str) -> list[dict[str, Any]]:
    return [{"type": "signature_delta", "signature": part} for part in parts]


@pytest.mark.parametrize("stop", ["aborted", "error", "length", None])
def test_a_stream_cut_anywhere_leaves_a_conversation_that_goes_on(stop: StopReason | None) -> None:
    payloads = stream()
    for cut in range(len(payloads) + 1):
        draft = Draft()
        draft.add(Reader().feed(payloads[:cut]))
        reply = draft.message(0, model(), Usage(), stop)
        history = repaired([user("go"), reply, user("on"), reply, reply, user("and on")])
        body = to_anthropic(*history, reasoning="high")
        roles = [message["role"] for message in body["messages"]]
        assert roles == [("user", "assistant")[at % 2] for at in range(len(roles))]
        to_openai(*history)
