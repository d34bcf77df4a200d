"""What is sent to Bedrock: nothing that it refuses, and no thought to a model that would not know it."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from linnet.core.context.history import Sendable, repaired
from linnet.core.messages import AssistantMessage, Image, ReplyPart, Text, Thinking, ToolCall, ToolResult, UserMessage
from linnet.core.models import Model
from linnet.core.toolspec import ToolSpec
from linnet.providers import catalog
from linnet.providers.base import Request
from linnet.providers.bedrock.request import Writer
from linnet.testing.bedrock.rules import check_bedrock

READ = ToolSpec("read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
PNG = Image("image/png", "aGVsbG8=")
CALL = ToolCall("t1", "read", {"path": "a"})
INFO = catalog.PROVIDERS["bedrock"]


def model(name: str = "anthropic.claude-sonnet-4-6") -> Model:
    return catalog.completed(catalog.unlisted(f"us.{name}", INFO), INFO, INFO.base_url)


CLAUDE, BUDGET, BOUND = model(), model("anthropic.claude-haiku-4-5"), model("anthropic.claude-opus-5-5")
GPT = model("openai.gpt-6-sol")


def user(*parts: str | Image) -> UserMessage:
    return UserMessage(tuple(Text(part) if isinstance(part, str) else part for part in parts), 0)


def said(*parts: ReplyPart | str, by: Model = CLAUDE) -> AssistantMessage:
    content = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    return AssistantMessage(content, 0, by.provider, by.id, api=by.api)


def result(*parts: str | Image, failed: bool = False) -> ToolResult:
    return ToolResult("t1", "read", tuple(Text(p) if isinstance(p, str) else p for p in parts), 0, failed)


def sent(*messages: Sendable, by: Model = CLAUDE, **more: Any) -> dict[str, Any]:
    request = Request(by, more.pop("system", "Be brief."), messages, **{"tools": (READ,), **more})
    body: dict[str, Any] = json.loads(b"".join(Writer().write(request).body))
    assert check_bedrock(body, claude="claude" in by.id) is None
    return body


def thoughts(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [b["reasoningContent"] for m in body["messages"] for b in m["content"] if "reasoningContent" in b]


def test_what_will_be_sent_again_is_cached() -> None:
    body = sent(user("one"), said("yes"), user("two"), said("yes"), user("three", PNG))
    point = {"cachePoint": {"type": "default"}}
    assert body["system"] == [{"text": "Be brief."}, point]
    assert body["toolConfig"]["tools"][-1] == point
    assert [message["content"][-1] == point for message in body["messages"]] == [False, False, True, False, True]


def test_the_cache_lasts_as_long_as_was_asked_for() -> None:
    assert sent(user("hi"), cache="long")["system"][1] == {"cachePoint": {"type": "default", "ttl": "1h"}}
    assert "cachePoint" not in str(sent(user("hi"), cache="off"))


def test_only_claude_gets_marks_for_its_cache() -> None:
    assert "cachePoint" not in str(sent(user("hi"), by=GPT))


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_blank_text_is_said_otherwise(text: str) -> None:
    body = sent(*repaired([user(text), said("ok"), user(text)]), system="")
    assert body["messages"][0]["content"][0] == {"text": "(nothing)"}
    assert "system" not in body


def test_a_conversation_always_starts_and_ends_with_the_user() -> None:
    for by in (CLAUDE, BOUND):
        assert [m["role"] for m in sent(said("hi", by=by), by=by)["messages"]] == ["user", "assistant", "user"]


def test_all_results_come_in_one_message_before_anything_else() -> None:
    other = replace(CALL, id="t2")
    answers = (result("one", PNG), replace(result(PNG, "no", failed=True), call_id="t2"))
    content = sent(user("go"), said(CALL, other), answers[0], user("and?"), answers[1], cache="off")["messages"][2][
        "content"
    ]
    assert content == [
        {
            "toolResult": {
                "toolUseId": "t1",
                "content": [{"text": "one"}, {"image": {"format": "png", "source": {"bytes": "aGVsbG8="}}}],
            }
        },
        {"toolResult": {"toolUseId": "t2", "content": [{"text": "no"}], "status": "error"}},
        {"text": "and?"},
    ]


def test_images_that_cannot_be_sent_are_told_of() -> None:
    body = sent(user(Image("image/tiff", "aGk="), Image("image/png", "", "https://a/b.png")), cache="off")
    assert body["messages"][0]["content"] == [
        {"text": "(an image that this model cannot see)"},
        {"text": "(an image that was not fetched: https://a/b.png)"},
    ]


def test_a_model_gets_its_own_thoughts_back_and_nobody_elses() -> None:
    parts = (Thinking("hm", "sig"), Thinking("", "ZGF0YQ==", redacted=True), Thinking("unsigned"), CALL)
    assert thoughts(sent(user("go"), said(*parts), result("x"))) == [
        {"reasoningText": {"text": "hm", "signature": "sig"}},
        {"redactedContent": "ZGF0YQ=="},
    ]
    assert thoughts(sent(user("go"), said(*parts, by=GPT), result("x"))) == []


def test_signatures_go_only_to_claude() -> None:
    parts = (Thinking("hm", "sig"), Thinking("", "ZGF0YQ==", redacted=True), CALL)
    assert thoughts(sent(user("go"), said(*parts, by=GPT), result("x"), by=GPT)) == [{"redactedContent": "ZGF0YQ=="}]


def test_a_bound_thought_goes_back_only_after_what_it_was_thought_on() -> None:
    writer = Writer()
    first = Request(BOUND, "Be brief.", [user("go")], (READ,))
    thought = Thinking("hm", "sig", bound=writer.write(first).bound)
    assert thought.bound
    reply = said(thought, CALL, by=BOUND)
    assert thoughts(sent(user("go"), reply, result("x"), by=BOUND)) != []
    assert thoughts(sent(user("changed"), reply, result("x"), by=BOUND)) == []
    assert thoughts(sent(user("go"), reply, result("x"), by=BOUND, tools=(READ, replace(READ, name="ls")))) == []


@pytest.mark.parametrize(
    ("by", "level", "expected"),
    [
        (
            CLAUDE,
            "high",
            {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "high"}},
        ),
        (CLAUDE, "off", None),
        (
            BUDGET,
            "low",
            {
                "thinking": {"type": "enabled", "budget_tokens": 2048},
                "anthropic_beta": ["interleaved-thinking-2025-05-14"],
            },
        ),
        (model("anthropic.claude-sonnet-5"), "off", {"thinking": {"type": "disabled"}}),
        (GPT, "max", {"reasoning": {"effort": "max"}}),
        (GPT, "off", {"reasoning": {"effort": "none"}}),
        (catalog.unlisted("openai.gpt-oss-20b-1:0", INFO), "off", {"reasoning_effort": "low"}),
    ],
)
def test_each_model_is_asked_to_think_in_its_own_words(by: Model, level: Any, expected: Any) -> None:
    assert sent(user("hi"), by=by, reasoning=level).get("additionalModelRequestFields") == expected


def test_a_model_of_which_nothing_is_known_is_asked_by_the_apis_own_field() -> None:
    unknown = catalog.completed(Model("acme.thinker", "bedrock", reasoning=True), INFO, INFO.base_url)
    assert sent(user("hi"), by=unknown, reasoning="low")["outputConfig"] == {"effort": "low"}


def test_government_regions_are_not_asked_for_summaries() -> None:
    by = replace(CLAUDE, id="us-gov.anthropic.claude-sonnet-4-6")
    assert sent(user("hi"), by=by, reasoning="low")["additionalModelRequestFields"]["thinking"] == {"type": "adaptive"}


def test_a_budget_waits_until_a_reply_has_begun_with_a_thought() -> None:
    told = said(CALL, by=BUDGET)
    assert "additionalModelRequestFields" not in sent(user("go"), told, result("x"), by=BUDGET, reasoning="low")
    thought = said(Thinking("hm", "sig"), CALL, by=BUDGET)
    assert "additionalModelRequestFields" in sent(user("go"), thought, result("x"), by=BUDGET, reasoning="low")


def test_a_model_learns_what_the_tools_were_when_none_is_offered() -> None:
    body = sent(user("go"), said(CALL), result("x"), tools=(), cache="off")
    assert [tool["toolSpec"]["name"] for tool in body["toolConfig"]["tools"]] == ["read"]
    assert "toolConfig" not in sent(user("go"), tools=())


def test_names_and_ids_are_made_to_fit() -> None:
    odd = ToolCall("a b" + "x" * 80, "no such.tool", {})
    answer = ToolResult(odd.id, odd.name, (Text("x"),), 0)
    blocks = [
        block
        for message in sent(user("go"), said(odd), answer, cache="off")["messages"]
        for block in message["content"]
    ]
    call, told = blocks[1]["toolUse"], blocks[2]["toolResult"]
    assert call["name"] == "no_such_tool"
    assert call["toolUseId"] == told["toolUseId"]
    assert len(call["toolUseId"]) <= 64


def test_a_step_adds_to_what_was_written_before() -> None:
    writer = Writer()
    history: list[Sendable] = [user("go")]
    for number in range(12):
        call = replace(CALL, id=f"t{number}")
        history += [said(f"step {number}", call), replace(result("x"), call_id=call.id)]
        request = Request(CLAUDE, "Be brief.", history, (READ,))
        assert b"".join(writer.write(request).body) == b"".join(Writer().write(request).body)
