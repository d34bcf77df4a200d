"""How servers of the Chat Completions API differ from each other, as they are sent to and read."""

import json
from typing import Any

import pytest

from linnet.core.context.history import Sendable
from linnet.core.deltas import Delta, Stopped, TextDelta, ThinkingDelta, ThinkingSigned, UsageReported
from linnet.core.loop.draft import Draft
from linnet.core.messages import AssistantMessage, Image, Text, Thinking, ToolCall, ToolResult, Usage, UserMessage
from linnet.core.models import LEVELS, Model, PromptCache, Reasoning
from linnet.core.toolspec import ToolSpec
from linnet.errors import ProviderUnavailable
from linnet.providers import catalog
from linnet.providers.base import Request
from linnet.providers.http.sse import EventSplitter
from linnet.providers.openai_chat.api import _Chat
from linnet.providers.openai_chat.request import Writer, quirks_of
from linnet.providers.openai_chat.response import Reader

READ = ToolSpec("read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
LONG_ID = "call_" + "x" * 60


def model(provider: str, id: str = "", **quirks: Any) -> Model:
    info = catalog.PROVIDERS[provider]
    id = id or info.default_model
    known = catalog.find(provider, id) or Model(id, provider, reasoning=True)
    if quirks:
        known = Model(id, provider, reasoning=True, quirks=quirks)
    return catalog.completed(known, info, info.base_url, "openai-completions")


def user(text: str) -> UserMessage:
    return UserMessage((Text(text),), 0)


def reply(by: Model, *parts: Any) -> AssistantMessage:
    return AssistantMessage(tuple(parts), 0, by.provider, by.id, api=by.api)


def called(by: Model, id: str = LONG_ID) -> list[Sendable]:
    return [user("go"), reply(by, ToolCall(id, "read", {})), ToolResult(id, "read", (Text("ok"),), 0), user("on")]


def body(
    by: Model,
    *messages: Sendable,
    level: Reasoning = "off",
    cache: PromptCache = "short",
    session: str = "",
    **more: Any,
) -> Any:
    asked = Request(by, "Be brief.", messages or (user("hi"),), reasoning=level, cache=cache, session=session, **more)
    return json.loads(b"".join(Writer().write(asked)))


THOUGHTS = [
    ("openai", "gpt-5", "low", {"reasoning_effort": "low"}),
    ("deepseek", "deepseek-v4-pro", "off", {"thinking": {"type": "disabled"}}),
    ("deepseek", "deepseek-v4-pro", "max", {"thinking": {"type": "enabled"}, "reasoning_effort": "max"}),
    ("openrouter", "openai/gpt-6-sol", "high", {"reasoning": {"effort": "high"}}),
    ("openrouter", "openai/gpt-6-sol", "off", {"reasoning": {"effort": "none"}}),
    ("openrouter", "some/other", "off", {"reasoning": {"enabled": False}}),
    ("groq", "openai/gpt-oss-120b", "medium", {"reasoning_effort": "medium"}),
    ("cerebras", "qwen-3.8-27b", "off", {"reasoning_effort": "none"}),
    ("moonshot", "kimi-k3", "off", {"reasoning_effort": "low"}),
    ("moonshot", "kimi-k2.6", "high", {"thinking": {"type": "enabled"}}),
    ("moonshot", "kimi-k2.6", "off", {"thinking": {"type": "disabled"}}),
    (
        "zai",
        "glm-5.3",
        "max",
        {"thinking": {"type": "enabled", "clear_thinking": False}, "reasoning_effort": "max"},
    ),
    ("zai", "glm-4.7", "high", {"thinking": {"type": "enabled", "clear_thinking": False}}),
    ("zai", "glm-4.7", "off", {"thinking": {"type": "disabled"}}),
    ("together", "MiniMaxAI/MiniMax-M3", "off", {"reasoning": {"enabled": False}}),
    ("together", "deepseek-ai/DeepSeek-V4-Pro", "high", {"reasoning": {"enabled": True}, "reasoning_effort": "high"}),
    ("mistral", "mistral-medium-latest", "high", {}),
    ("vllm", "qwen3", "low", {"chat_template_kwargs": {"enable_thinking": True, "preserve_thinking": True}}),
]
FIELDS = ("thinking", "reasoning", "reasoning_effort", "chat_template_kwargs", "chat_template_args", "enable_thinking")


@pytest.mark.parametrize(("provider", "id", "level", "fields"), THOUGHTS)
def test_each_vendor_is_told_how_much_to_think_in_its_own_fields(
    provider: str, id: str, level: Reasoning, fields: dict[str, Any]
) -> None:
    sent = body(model(provider, id), level=level)
    assert {name: sent[name] for name in FIELDS if name in sent} == fields


KWARGS = {
    "on": {"$var": "thinking.enabled"},
    "effort": {"$var": "thinking.effort"},
    "budget": {"$var": "thinking.budget", "omitWhenOff": True},
    "fixed": 1,
}
FORMATS = [
    ({"thinkingFormat": "qwen"}, "low", {"enable_thinking": True}),
    ({"thinkingFormat": "qwen"}, "off", {"enable_thinking": False}),
    ({"thinkingFormat": "ant-ling"}, "low", {"reasoning": {"effort": "low"}}),
    ({"thinkingFormat": "ant-ling"}, "off", {}),
    ({"thinkingFormat": "string-thinking"}, "high", {"thinking": "high"}),
    (
        {"thinkingFormat": "chat-template", "chatTemplateKwargs": KWARGS},
        "low",
        {"chat_template_kwargs": {"on": True, "effort": "low", "budget": 2048, "fixed": 1}},
    ),
    (
        {"thinkingFormat": "chat-template", "chatTemplateKwargs": KWARGS},
        "off",
        {"chat_template_kwargs": {"on": False, "fixed": 1}},
    ),
    (
        {"thinkingFormat": "baseten", "chatTemplateArgs": {"on": {"$var": "thinking.enabled"}}},
        "high",
        {"chat_template_args": {"on": True}, "reasoning_effort": "high"},
    ),
    ({"supportsReasoningEffort": False}, "high", {}),
]


@pytest.mark.parametrize(("quirks", "level", "fields"), FORMATS)
def test_a_server_of_ones_own_may_want_other_fields(
    quirks: dict[str, Any], level: Reasoning, fields: dict[str, Any]
) -> None:
    sent = body(model("ollama", "m", **quirks), level=level)
    assert {name: sent[name] for name in FIELDS if name in sent} == fields


@pytest.mark.parametrize(
    ("quirks", "field"),
    [
        ({"thinkingTokenBudgetField": "thinking_budget"}, "thinking_budget"),
        ({"supportsThinkingTokenBudget": True}, "thinking_token_budget"),
    ],
)
def test_thoughts_may_have_a_limit_of_their_own(quirks: dict[str, Any], field: str) -> None:
    by = model("ollama", "m", **quirks)
    assert body(by, level="medium")[field] == 8192
    assert field not in body(by)


@pytest.mark.parametrize(
    ("provider", "field"),
    [("openai", "max_completion_tokens"), ("groq", "max_completion_tokens"), ("openrouter", "max_completion_tokens")]
    + [(name, "max_tokens") for name in ("deepseek", "mistral", "moonshot", "zai", "together", "fireworks")],
)
def test_the_limit_of_a_reply_has_the_name_that_the_vendor_gave_it(provider: str, field: str) -> None:
    sent = body(model(provider))
    assert {name for name in sent if name.startswith("max_")} == {field}


def test_only_who_knows_the_developer_role_gets_it() -> None:
    assert body(model("ollama", "m"))["messages"][0]["role"] == "system"
    assert body(model("ollama", "m", supportsDeveloperRole=True))["messages"][0]["role"] == "developer"


def test_a_server_without_stream_options_gets_none() -> None:
    assert "stream_options" not in body(model("mistral"))
    assert body(model("groq"))["stream_options"] == {"include_usage": True}


def test_ids_of_calls_are_as_long_as_the_vendor_takes_them() -> None:
    for provider, longest in (("openai", 40), ("deepseek", 64)):
        by = model(provider, "gpt-5" if provider == "openai" else "")
        _, _, said, result, _ = body(by, *called(by, LONG_ID + "y" * 20))["messages"]
        assert said["tool_calls"][0]["id"] == result["tool_call_id"]
        assert len(result["tool_call_id"]) == longest


@pytest.mark.parametrize("id", [LONG_ID, "call_1", "a", "abc-def_9"])
def test_mistral_gets_ids_of_nine_letters_and_digits(id: str) -> None:
    by = model("mistral")
    _, _, said, result, _ = body(by, *called(by, id))["messages"]
    assert said["tool_calls"][0]["id"] == result["tool_call_id"]
    assert len(result["tool_call_id"]) == 9
    assert result["tool_call_id"].isalnum()
    own = body(by, *called(by, "aB3dE6gH9"))["messages"]
    assert own[3]["tool_call_id"] == "aB3dE6gH9"


def test_zai_is_asked_to_stream_arguments_if_there_are_tools() -> None:
    assert body(model("zai"), tools=(READ,))["tool_stream"] is True
    assert "tool_stream" not in body(model("zai"))
    assert "tool_stream" not in body(model("groq"), tools=(READ,))


def test_what_a_server_wants_between_and_beside_results_is_there() -> None:
    by = model("ollama", "m", requiresToolResultName=True, requiresAssistantAfterToolResult=True)
    messages = body(by, *called(by))["messages"]
    assert [each["role"] for each in messages] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert messages[3]["name"] == "read"


@pytest.mark.parametrize("provider", ["deepseek", "kimi"])
def test_every_reply_has_its_thoughts_where_the_vendor_wants_them(provider: str) -> None:
    by = model(provider)
    sent = body(
        by, user("go"), reply(by, Thinking("hm", "reasoning_content"), Text("a")), user("b"), reply(by, Text("c"))
    )
    assert [each.get("reasoning_content") for each in sent["messages"]] == [None, None, "hm", None, ""]


def test_routing_and_priority_are_passed_on() -> None:
    by = model(
        "ollama",
        "m",
        openRouterRouting={"only": ["x"]},
        vercelGatewayRouting={"order": ["y"]},
        vllmPriority=3,
        supportsStore=True,
    )
    sent = body(by)
    assert sent["provider"] == {"only": ["x"]}
    assert sent["providerOptions"] == {"gateway": {"order": ["y"]}}
    assert (sent["priority"], sent["store"]) == (3, False)


def headers(by: Model, session: str = "s1") -> dict[str, str]:
    chat = _Chat(by.provider, "/v1/chat/completions", Writer(), {})
    return dict(chat.exchange(Request(by, "", (user("hi"),), session=session))[0].headers)


def test_requests_of_a_session_find_each_other_by_the_headers_of_their_vendor() -> None:
    assert headers(model("openrouter")) == {"x-session-id": "s1"}
    assert headers(model("fireworks")) == {"x-client-request-id": "s1", "x-session-affinity": "s1"}
    assert set(headers(model("ollama", "m", sendSessionAffinityHeaders=True))) == {
        "session_id",
        "x-client-request-id",
        "x-session-affinity",
    }
    assert headers(model("openrouter"), session="") == {}
    assert headers(model("groq")) == {}


MARK = {"type": "ephemeral"}


def marks(sent: Any) -> list[str]:
    """Where the marks for the cache are."""
    found = ["tool" for tool in sent.get("tools", ()) if "cache_control" in tool]
    for message in sent["messages"]:
        if isinstance(message["content"], list):
            found += [message["role"] for part in message["content"] if "cache_control" in part]
    return found


def test_claude_at_openrouter_is_marked_for_the_cache_and_others_are_not() -> None:
    claude = model("openrouter", "anthropic/claude-sonnet-5")
    long = [each for n in range(3) for each in called(claude, f"c{n}")]
    sent = body(claude, *long, tools=(READ, READ))
    assert marks(sent) == ["tool", "system", "user", "user"]
    assert "cache_control" not in sent["tools"][0]
    assert sent["messages"][-1]["content"] == [{"type": "text", "text": "on", "cache_control": MARK}]
    assert marks(body(claude, *long, tools=(READ,), cache="off")) == []
    assert body(claude, cache="long")["messages"][1]["content"][0]["cache_control"] == {**MARK, "ttl": "1h"}
    assert marks(body(model("openrouter", "openai/gpt-6-sol"), *long, tools=(READ,))) == []


def test_marks_move_on_and_what_was_marked_is_sent_as_before() -> None:
    claude = model("openrouter", "anthropic/claude-sonnet-5")
    writer = Writer()
    messages: list[Sendable] = []
    for n in range(6):
        messages += [user(f"say {n}"), reply(claude, Text(f"said {n}"))]
        asked = Request(claude, "s", [*messages, user("now")])
        kept = json.loads(b"".join(writer.write(asked)))
        assert kept == json.loads(b"".join(Writer().write(asked)))
        assert marks(kept)[1:] == ["user", "user"]


def test_an_image_alone_takes_no_mark() -> None:
    claude = model("openrouter", "anthropic/claude-sonnet-5")
    shown = UserMessage((Image("image/png", "aGk="),), 0)
    assert marks(body(claude, shown)) == ["system"]
    both = UserMessage((Text("see"), Image("image/png", "aGk=")), 0)
    assert "cache_control" in body(claude, both)["messages"][1]["content"][0]


def chunk(finish: str | None = None, usage: Any = None, counted: Any = None, **delta: Any) -> bytes:
    choice: dict[str, Any] = {"index": 0, "delta": delta, "finish_reason": finish}
    if usage:
        choice["usage"] = usage
    return json.dumps({"choices": [choice], "usage": counted}).encode()


def read(*payloads: bytes, says_why: bool = True) -> list[Delta]:
    reader = Reader("x", says_why=says_why)
    deltas = reader.feed(payloads) + reader.end()
    if reader.failure:
        raise reader.failure
    return deltas


def details(*pieces: dict[str, Any], reasoning: str | None = None, **more: Any) -> bytes:
    return chunk(reasoning=reasoning, reasoning_details=list(pieces), **more)


TEXT = {"type": "reasoning.text", "index": 0, "format": "anthropic-claude-v1"}
STREAM = [
    details({**TEXT, "text": "Let"}, reasoning="Let"),
    details({**TEXT, "text": " me"}, reasoning=" me"),
    details({**TEXT, "signature": "sig"}),
    details({"type": "reasoning.encrypted", "index": 1, "data": "QUJD", "id": "rs_1"}),
    chunk(content="Hi"),
    chunk("stop"),
    b"[DONE]",
]
WHOLE = [
    {**TEXT, "text": "Let me", "signature": "sig"},
    {"type": "reasoning.encrypted", "index": 1, "data": "QUJD", "id": "rs_1"},
]


def folded(deltas: list[Delta], by: Model) -> AssistantMessage:
    draft = Draft()
    draft.add(deltas)
    return draft.message(0, by, Usage(), "end")


def test_openrouters_details_of_thoughts_go_back_whole() -> None:
    deltas = read(*STREAM)
    signed = [each for each in deltas if isinstance(each, ThinkingSigned)]
    assert len(signed) == 1
    assert json.loads(signed[0].signature) == WHOLE
    by = model("openrouter")
    sent = body(by, user("go"), folded(deltas, by), user("more"))
    assert sent["messages"][2] == {"role": "assistant", "content": "Hi", "reasoning_details": WHOLE}
    other = body(model("openrouter", "openai/gpt-6-sol"), user("go"), folded(deltas, by), user("more"))
    assert other["messages"][2] == {"role": "assistant", "content": "Hi"}


def test_details_that_come_after_the_words_or_not_at_once_are_kept_too() -> None:
    late = [chunk(reasoning="Hm"), chunk(content="Hi"), *STREAM[3:4], chunk("stop"), b"[DONE]"]
    by = model("openrouter")
    sent = body(by, user("go"), folded(read(*late), by), user("more"))
    assert sent["messages"][2]["reasoning_details"] == WHOLE[1:]
    mixed = [chunk(reasoning="Hm"), details({**TEXT, "text": "Hm"}), chunk(content="Hi"), chunk("stop"), b"[DONE]"]
    sent = body(by, user("go"), folded(read(*mixed), by), user("more"))
    assert sent["messages"][2]["reasoning_details"] == [{**TEXT, "text": "Hm"}]


@pytest.mark.parametrize("junk", ["[", "[not json", "reasoning[{]"])
def test_details_that_cannot_be_read_are_left_out(junk: str) -> None:
    by = model("openrouter")
    sent = body(by, user("go"), reply(by, Thinking("hm", junk), Text("Hi")), user("more"))
    assert "reasoning_details" not in sent["messages"][2]


@pytest.mark.parametrize(
    "chunks",
    [
        [chunk("stop", counted={"prompt_tokens": 10, "completion_tokens": 2, "cached_tokens": 4})],
        [chunk("stop", usage={"prompt_tokens": 10, "completion_tokens": 2, "cached_tokens": 4})],
        [chunk("stop", counted={"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": 4})],
        [
            chunk(
                "stop",
                counted={"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}},
            )
        ],
    ],
)
def test_tokens_from_the_cache_are_counted_wherever_the_vendor_says_them(chunks: list[bytes]) -> None:
    assert UsageReported(Usage(6, 2, 4)) in read(chunk(content="x"), *chunks, b"[DONE]")


def test_a_server_that_never_says_why_it_ends_is_believed_only_if_that_is_known() -> None:
    said = [chunk(content="Hi"), b"[DONE]"]
    assert read(*said, says_why=False)[-1] == Stopped("end")
    with pytest.raises(ProviderUnavailable, match="cut short"):
        read(*said)
    call = {"index": 0, "id": "a", "function": {"name": "read", "arguments": "{}"}}
    assert read(chunk(tool_calls=[call]), says_why=False)[-1] == Stopped("tool_use")
    with pytest.raises(ProviderUnavailable, match="cut short"):
        read(says_why=False)


def test_comments_that_keep_a_connection_alive_are_no_events() -> None:
    splitter = EventSplitter(1 << 20)
    stream = b": OPENROUTER PROCESSING\n\n" + b"data: " + chunk(content="Hi") + b"\n\n: ping\n\ndata: [DONE]\n\n"
    assert splitter.feed(stream) == [chunk(content="Hi"), b"[DONE]"]


def test_words_after_a_thought_cost_no_signature_where_there_is_none() -> None:
    assert read(chunk(reasoning_content="Hm"), chunk(content="a"), chunk(content="b"), chunk("stop"))[1:-1] == [
        ThinkingDelta("Hm"),
        ThinkingSigned("reasoning_content"),
        TextDelta("a"),
        TextDelta("b"),
    ]


@pytest.mark.parametrize(
    "provider", [name for name, info in catalog.PROVIDERS.items() if info.api == "openai-completions"]
)
def test_every_level_of_every_listed_model_can_be_asked_for(provider: str) -> None:
    for known in catalog.models(provider):
        by = model(provider, known.id)
        quirks_of(by)
        for level in LEVELS:
            assert body(by, level=level)["model"] == known.id
