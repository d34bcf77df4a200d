"""What Google is sent is what its own types and rules accept, for any history that the core may hand us."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
from linnet.providers.base import Request
from linnet.providers.google.request import UNSIGNED, Writer, renamed, tool_name
from linnet.providers.google.response import Reader
from linnet.testing.vendors.gemini_rules import check_gemini

READ = ToolSpec("read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
LS = ToolSpec("ls", "List.", {"type": "object", "properties": {}})
PNG = Image("image/png", "aGVsbG8=")
CALL = ToolCall("t1", "read", {"path": "a"}, signature="c2ln")
OTHER = ToolCall("t2", "ls", {})


def model(id: str = "gemini-3.8-flash", provider: str = "google") -> Model:
    found = catalog.find(provider, id)
    assert found
    info = catalog.PROVIDERS[provider]
    return catalog.completed(found, info, info.base_url)


NEW, OLD = model(), model("gemini-2.5-flash")
FOREIGN = model("claude-sonnet-5", "anthropic")
GEMINIS = [model(each.id) for each in catalog.models("google")]


def user(*parts: str | Image) -> UserMessage:
    return UserMessage(tuple(Text(p) if isinstance(p, str) else p for p in parts), 0)


def said(*parts: ReplyPart | str, by: Model = NEW) -> AssistantMessage:
    content = tuple(Text(p) if isinstance(p, str) else p for p in parts)
    return AssistantMessage(content, 0, by.provider, by.id, api=by.api)


def result(id: str, *parts: str | Image, name: str = "read", failed: bool = False) -> ToolResult:
    return ToolResult(id, name, tuple(Text(p) if isinstance(p, str) else p for p in parts), 0, failed)


def written(*messages: Sendable, by: Model = NEW, **more: Any) -> dict[str, Any]:
    request = Request(by, "Be brief.", messages, **{"tools": (READ, LS), **more})
    body: dict[str, Any] = json.loads(b"".join(Writer().write(request)))
    assert check_gemini(body, by.id) is None
    return body


def test_a_conversation_with_everything_in_it() -> None:
    body = written(
        user("look", PNG),
        said(Thinking("hm", "dGg="), Text("So.", "dHg="), CALL, OTHER),
        result("t1", "one", PNG),
        result("t2", "", name="ls", failed=True),
        user("and hurry"),
        reasoning="high",
    )
    assert body == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "read", "description": "Read a file.", "parametersJsonSchema": READ.schema},
                    {"name": "ls", "description": "List.", "parametersJsonSchema": LS.schema},
                ]
            }
        ],
        "contents": [
            {
                "role": "user",
                "parts": [{"text": "look"}, {"inlineData": {"mimeType": "image/png", "data": "aGVsbG8="}}],
            },
            {
                "role": "model",
                "parts": [
                    {"text": "hm", "thought": True, "thoughtSignature": "dGg="},
                    {"text": "So.", "thoughtSignature": "dHg="},
                    {
                        "functionCall": {"id": "t1", "name": "read", "args": {"path": "a"}},
                        "thoughtSignature": "c2ln",
                    },
                    {"functionCall": {"id": "t2", "name": "ls", "args": {}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {
                        "functionResponse": {
                            "id": "t1",
                            "name": "read",
                            "response": {"output": "one"},
                            "parts": [{"inlineData": {"mimeType": "image/png", "data": "aGVsbG8="}}],
                        }
                    },
                    {"functionResponse": {"id": "t2", "name": "ls", "response": {"error": ""}}},
                ],
            },
            {"role": "user", "parts": [{"text": "and hurry"}]},
        ],
        "generationConfig": {
            "maxOutputTokens": 48384,
            "thinkingConfig": {"includeThoughts": True, "thinkingLevel": "HIGH"},
        },
    }


def test_older_models_get_no_ids_and_a_tools_images_from_the_user() -> None:
    body = written(user("go"), said(CALL, by=OLD), result("t1", PNG), said("Ok.", by=OLD), user("on"), by=OLD)
    _, reply, answer, shown, _, _ = body["contents"]
    assert reply["parts"] == [
        {"functionCall": {"name": "read", "args": {"path": "a"}}, "thoughtSignature": "c2ln"},
    ]
    assert answer["parts"] == [
        {"functionResponse": {"name": "read", "response": {"output": "(see the image in the next message)"}}}
    ]
    assert [list(part) for part in shown["parts"]] == [["text"], ["inlineData"]]


def test_calls_of_others_get_a_stand_in_for_their_signature_where_one_is_demanded() -> None:
    turn = (user("go"), said(CALL, OTHER, by=FOREIGN), result("t1", "x"), result("t2", "y", name="ls"))
    signatures = [part.get("thoughtSignature") for part in written(*turn)["contents"][1]["parts"]]
    assert signatures == [UNSIGNED, None]
    assert "thoughtSignature" not in json.dumps(written(*turn, by=OLD))
    lost = written(user("go"), said(ToolCall("t1", "read", {})), result("t1", "x"))
    assert lost["contents"][1]["parts"][0]["thoughtSignature"] == UNSIGNED


def test_thoughts_and_signatures_go_back_to_their_author_only() -> None:
    parts = (Thinking("hm", "dGg="), Thinking("unsigned"), Text("Hi.", "dHg="), Text("", "ZW1wdHk="))
    own = written(user("go"), said(*parts), user("more"))["contents"][1]["parts"]
    assert own == [
        {"text": "hm", "thought": True, "thoughtSignature": "dGg="},
        {"text": "Hi.", "thoughtSignature": "dHg="},
        {"text": "", "thoughtSignature": "ZW1wdHk="},
    ]
    for other in (FOREIGN, OLD, model("gemini-4-argon")):
        foreign = written(user("go"), said(*parts, by=other), user("more"))["contents"][1]["parts"]
        assert foreign == [{"text": "Hi."}]


def test_a_signed_end_of_a_reply_survives_the_repair_of_a_history() -> None:
    history = repaired([user("go"), said(Thinking("hm"), Text("", "c2ln")), user("more")])
    assert written(*history)["contents"][1]["parts"] == [{"text": "", "thoughtSignature": "c2ln"}]


def test_a_conversation_begins_and_ends_with_the_user_and_says_something() -> None:
    assert written()["contents"] == [{"role": "user", "parts": [{"text": "(nothing)"}]}]
    odd = written(said("Hi."), user(" "), said(" \n"))
    assert [content["role"] for content in odd["contents"]] == ["user", "model", "user", "model", "user"]


def test_names_that_google_does_not_allow_are_spelled_otherwise() -> None:
    odd = ToolSpec("3d-render", "Render.", {"type": "object"})
    assert renamed((odd, READ)) == {"_3d-render": "3d-render"}
    call = ToolCall("t1", "3d-render", {}, signature="c2ln")
    body = written(user("go"), said(call), result("t1", "x", name="3d-render"), tools=(odd,))
    assert json.dumps(body).count('"_3d-render"') == 3
    assert tool_name("") == "_"
    assert tool_name("a b") == "a_b"


def test_an_image_by_its_address_and_one_that_is_not_seen() -> None:
    there = Image("image/png", "", "https://example.org/a.png")
    parts = written(user(there))["contents"][0]["parts"]
    assert parts == [{"fileData": {"mimeType": "image/png", "fileUri": "https://example.org/a.png"}}]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("chosen", GEMINIS, ids=lambda each: each.id)
def test_thinking_is_said_in_the_words_of_the_model(chosen: Model, level: Reasoning) -> None:
    limits = written(user("go"), by=chosen, reasoning=level)["generationConfig"]
    told = chosen.levels[possible(level, chosen, with_tools=True)]
    thinking = limits["thinkingConfig"]
    assert limits["maxOutputTokens"] <= chosen.max_output
    if isinstance(told, int):
        assert thinking == ({"includeThoughts": True, "thinkingBudget": told} if told else {"thinkingBudget": 0})
        assert told <= limits["maxOutputTokens"] - 4096
    else:
        assert thinking == {"includeThoughts": True, "thinkingLevel": told}


def test_what_each_kind_of_model_is_told() -> None:
    def sent(id: str, level: Reasoning) -> Any:
        thinking = written(user("go"), by=model(id), reasoning=level)["generationConfig"]["thinkingConfig"]
        return thinking.get("thinkingLevel", thinking.get("thinkingBudget"))

    assert [sent("gemini-2.5-flash", level) for level in LEVELS[:5]] == [0, 128, 2048, 8192, 24576]
    assert [sent("gemini-2.5-pro", level) for level in LEVELS[:5]] == [128, 128, 2048, 8192, 32768]
    assert [sent("gemini-3.6-flash", level) for level in LEVELS[:3]] == ["MINIMAL", "MINIMAL", "LOW"]
    assert [sent("gemini-4-argon", level) for level in LEVELS] == [
        "LOW",
        "LOW",
        "LOW",
        "MEDIUM",
        "HIGH",
        "HIGH",
        "HIGH",
    ]


def test_a_token_asks_for_the_rest_of_a_reply() -> None:
    request = Request(NEW, "Be brief.", [user("go")], (READ,))
    whole, rest = (json.loads(b"".join(Writer().write(request, token))) for token in ("", "dG9r"))
    assert rest == {**whole, "continuationToken": "dG9r"}


def test_half_a_character_does_not_stop_a_request() -> None:
    assert "a😀b\ufffdc" in json.dumps(written(user("a\ud83d\ude00b\udcffc")), ensure_ascii=False)


words = st.text(max_size=5)
signatures = st.sampled_from(["", "c2ln", "b3RoZXI="])
user_parts = st.lists(words.map(Text) | st.just(PNG), max_size=3).map(tuple)
arguments = st.dictionaries(words, words | st.integers() | st.none(), max_size=2)


@st.composite
def histories(draw: st.DrawFn) -> list[Sendable]:
    """Any history, repaired: replies of any model, cut anywhere, with signatures anywhere."""
    messages: list[Sendable] = [UserMessage(draw(user_parts), 0)]
    for turn in range(draw(st.integers(0, 4))):
        by = draw(st.sampled_from([NEW, OLD, model("gemini-4-argon"), FOREIGN, model("gpt-6-sol", "openai")]))
        calls = [
            ToolCall(
                f"c.{turn}_{n}",
                draw(st.sampled_from(["read", "3d", "odd name"])),
                draw(arguments),
                signature=draw(signatures),
            )
            for n in range(draw(st.integers(0, 2)))
        ]
        rest = draw(st.lists(st.builds(Text, words, signatures) | st.builds(Thinking, words, signatures), max_size=3))
        messages.append(AssistantMessage((*rest, *calls), 0, by.provider, by.id, api=by.api))
        messages += [ToolResult(call.id, call.name, draw(user_parts), 0, draw(st.booleans())) for call in calls]
        if draw(st.booleans()):
            messages.append(UserMessage(draw(user_parts), 0))
    return repaired(messages) or [user("hi")]


once = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)


@pytest.mark.foreign
@pytest.mark.xdist_group("vendors")  # Their packages take long to import.
@once
@given(histories(), st.sampled_from(GEMINIS), st.sampled_from(LEVELS), st.sampled_from([(READ, LS), ()]))
def test_any_history_is_a_request_that_googles_types_and_rules_accept(
    history: list[Sendable], by: Model, level: Reasoning, tools: Any
) -> None:
    from tests.providers.vendor_types import google_generative_ai

    assert google_generative_ai(written(*history, by=by, reasoning=level, tools=tools)) is None


@once
@given(histories(), st.sampled_from([NEW, OLD]))
def test_a_request_after_many_is_the_same_as_one_alone(history: list[Sendable], by: Model) -> None:
    writer = Writer()
    for end in range(len(history) + 1):
        request = Request(by, "Be brief.", history[:end], (READ,), "high")
        assert b"".join(writer.write(request)) == b"".join(Writer().write(request))


@pytest.mark.parametrize("stop", ["aborted", "error", "length", None])
def test_a_stream_cut_anywhere_leaves_a_conversation_that_goes_on(stop: StopReason | None) -> None:
    parts: list[dict[str, Any]] = [
        {"text": "Let me ", "thought": True},
        {"text": "see.", "thought": True, "thoughtSignature": "dGg="},
        {"text": "Now "},
        {"text": "this.", "thoughtSignature": "dHg="},
        {"functionCall": {"name": "read", "args": {"path": "a"}, "id": "f1"}, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "ls", "args": {}, "id": "f2"}},
        {"text": "", "thoughtSignature": "ZW5k"},
    ]
    payloads = [json.dumps({"candidates": [{"content": {"parts": [part]}}]}).encode() for part in parts]
    for cut in range(len(payloads) + 1):
        reader, draft = Reader(), Draft()
        draft.add(reader.feed(payloads[:cut]))
        draft.add(reader.end())
        reply = draft.message(0, NEW, Usage(), stop)
        history = repaired([user("go"), reply, user("on"), reply, reply, user("and on")])
        for by in (NEW, OLD):
            written(*history, by=by, reasoning="high")
