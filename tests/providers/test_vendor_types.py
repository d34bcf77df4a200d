"""What judges our requests is strict itself: it takes what the vendors' own packages send, and nothing besides."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from tests.providers import vendor_types

pytestmark = [pytest.mark.foreign, pytest.mark.xdist_group("vendors")]  # Their packages take long to import.

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
PNG = "iVBORw0KGgo+/w=="  # Base64 with the two characters that differ between its alphabets.

# As the vendors' packages send them, with what an agent adds: calls, their results, thoughts and images.
ACCEPTED: dict[str, dict[str, Any]] = {
    "anthropic-messages": {
        "model": "claude-opus-5",
        "stream": True,
        "max_tokens": 100,
        "output_config": {"effort": "high"},
        "thinking": {"type": "adaptive", "display": "summarized"},
        "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
        "tools": [{"name": "read", "description": "d", "input_schema": SCHEMA}],
        "messages": [
            {
                "role": "user",
                "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                    {"type": "tool_use", "id": "a1", "name": "read", "input": {"path": "a"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "a1",
                        "is_error": True,
                        "content": [{"type": "text", "text": "no file"}],
                    }
                ],
            },
        ],
    },
    "openai-completions": {
        "model": "gpt-6-sol",
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_completion_tokens": 100,
        "reasoning_effort": "high",
        "tools": [{"type": "function", "function": {"name": "read", "description": "d", "parameters": SCHEMA}}],
        "messages": [
            {"role": "system", "content": "s"},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "x"},
                    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
                ],
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "a1", "type": "function", "function": {"name": "read", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "a1", "content": "hello"},
        ],
    },
    "openai-responses": {
        "model": "gpt-6-sol",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "session",
        "instructions": "s",
        "reasoning": {"effort": "high", "summary": "auto"},
        "max_output_tokens": 100,
        "tools": [{"type": "function", "name": "read", "description": "d", "parameters": SCHEMA, "strict": False}],
        "input": [
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "x"},
                    {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{PNG}"},
                ],
            },
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2ln"},
            {
                "type": "message",
                "role": "assistant",
                "id": "msg_1",
                "status": "completed",
                "content": [{"type": "output_text", "text": "y", "annotations": []}],
            },
            {"type": "function_call", "id": "fc_1", "call_id": "a1", "name": "read", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a1", "output": [{"type": "input_text", "text": "hello"}]},
        ],
    },
    "google-generative-ai": {
        "systemInstruction": {"parts": [{"text": "s"}]},
        "contents": [
            {"role": "user", "parts": [{"text": "x"}, {"inlineData": {"mimeType": "image/png", "data": PNG}}]},
            {
                "role": "model",
                "parts": [
                    {"text": "hm", "thought": True},
                    {"functionCall": {"id": "a1", "name": "read", "args": {"path": "a"}}, "thoughtSignature": PNG},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {
                        "functionResponse": {
                            "id": "a1",
                            "name": "read",
                            "response": {"output": "hello"},
                            "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}],
                        }
                    }
                ],
            },
        ],
        "tools": [{"functionDeclarations": [{"name": "read", "description": "d", "parametersJsonSchema": SCHEMA}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
        "generationConfig": {
            "maxOutputTokens": 100,
            "thinkingConfig": {"includeThoughts": True, "thinkingLevel": "LOW"},
        },
    },
    "bedrock-converse-stream": {
        "system": [{"text": "s"}, {"cachePoint": {"type": "default"}}],
        "messages": [
            {"role": "user", "content": [{"text": "x"}, {"image": {"format": "png", "source": {"bytes": PNG}}}]},
            {
                "role": "assistant",
                "content": [
                    {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}},
                    {"reasoningContent": {"redactedContent": PNG}},
                    {"toolUse": {"toolUseId": "a1", "name": "read", "input": {"path": "a"}}},
                ],
            },
            {
                "role": "user",
                "content": [{"toolResult": {"toolUseId": "a1", "status": "error", "content": [{"text": "no file"}]}}],
            },
        ],
        "toolConfig": {
            "tools": [{"toolSpec": {"name": "read", "description": "d", "inputSchema": {"json": SCHEMA}}}],
            "toolChoice": {"auto": {}},
        },
        "inferenceConfig": {"maxTokens": 100},
        "additionalModelRequestFields": {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}},
    },
}

_BODY = ACCEPTED["anthropic-messages"]
ACCEPTED["anthropic-vertex"] = {"anthropic_version": "v", **{key: _BODY[key] for key in _BODY if key != "model"}}
ACCEPTED["google-vertex"] = ACCEPTED["google-generative-ai"]


def refusal(api: str, body: dict[str, Any]) -> str | None:
    return vendor_types.REFUSALS[api](body)


def test_there_is_an_example_for_each_api() -> None:
    assert ACCEPTED.keys() == vendor_types.REFUSALS.keys()


@pytest.mark.parametrize("api", ACCEPTED)
def test_a_request_as_the_vendors_package_sends_it_is_accepted(api: str) -> None:
    assert refusal(api, ACCEPTED[api]) is None


def test_anthropics_types_for_betas_accept_the_same() -> None:
    body = ACCEPTED["anthropic-messages"]
    assert vendor_types.anthropic_beta_messages(body) is None
    bound = {"type": "adaptive", "display": "summarized", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    assert vendor_types.anthropic_beta_messages({**body, "thinking": bound}) is None
    assert refusal("anthropic-messages", {**body, "thinking": bound}) is not None


# Where a key means anything that its author likes: a tool's schema and arguments, and what is passed on unread.
FREE = {"input_schema", "parameters", "parametersJsonSchema", "json", "input", "args", "response"}
FREE_OF_ALL = {"additionalModelRequestFields"}


def objects(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all objects in a body whose keys the vendor names."""
    if isinstance(value, list):
        return [found for at, item in enumerate(value) for found in objects(item, (*path, at))]
    if not isinstance(value, dict) or (path and path[-1] in FREE_OF_ALL):
        return []
    if path and path[-1] in FREE and path != ("input",):
        return []
    return [path, *(found for key, item in value.items() for found in objects(item, (*path, key)))]


@pytest.mark.parametrize(("api", "path"), [(api, path) for api, body in ACCEPTED.items() for path in objects(body)])
def test_an_extra_key_is_refused_at_any_depth(api: str, path: tuple[Any, ...]) -> None:
    body = deepcopy(ACCEPTED[api])
    place: Any = body
    for step in path:
        place = place[step]
    place["surprise"] = 1
    assert "surprise" in (refusal(api, body) or "")


def changed(change: Callable[[dict[str, Any]], None], api: str) -> dict[str, Any]:
    body = deepcopy(ACCEPTED[api])
    change(body)
    return body


@pytest.mark.parametrize(
    ("api", "change"),
    [
        ("anthropic-messages", lambda body: body.pop("max_tokens")),
        ("anthropic-messages", lambda body: body["messages"][1]["content"][0].pop("signature")),
        ("anthropic-messages", lambda body: body["output_config"].update(effort="most")),
        ("anthropic-vertex", lambda body: body.update(model="m")),
        ("anthropic-vertex", lambda body: body.pop("anthropic_version")),
        ("openai-completions", lambda body: body["messages"][3].pop("tool_call_id")),
        ("openai-completions", lambda body: body.update(reasoning_effort="most")),
        ("openai-responses", lambda body: body["input"][1].pop("summary")),
        ("openai-responses", lambda body: body["tools"][0].pop("strict")),
        ("google-generative-ai", lambda body: body.pop("contents")),
        ("google-generative-ai", lambda body: body["contents"][1]["parts"][1].update(thoughtSignature="%")),
        (
            "google-generative-ai",
            lambda body: body["generationConfig"]["thinkingConfig"].update(thinkingLevel="MOST"),
        ),
        ("google-generative-ai", lambda body: body["generationConfig"].update(maxOutputTokens="100")),
        (
            "google-generative-ai",
            lambda body: body.update(system_instruction=body.pop("systemInstruction")),
        ),
        (
            "google-generative-ai",
            lambda body: body["contents"][1]["parts"][0].update(thought_signature="c2ln"),
        ),
        ("bedrock-converse-stream", lambda body: body["messages"][1]["content"][2]["toolUse"].pop("input")),
        ("bedrock-converse-stream", lambda body: body["messages"][1]["content"][2]["toolUse"].update(toolUseId="a b")),
        ("bedrock-converse-stream", lambda body: body["messages"][1]["content"][2].update(text="both")),
        ("bedrock-converse-stream", lambda body: body["messages"][1]["content"][1].update(reasoningContent={})),
        ("bedrock-converse-stream", lambda body: body["messages"][0].update(role="model")),
        (
            "bedrock-converse-stream",
            lambda body: body["messages"][0]["content"][1]["image"]["source"].update(bytes="%"),
        ),
        ("bedrock-converse-stream", lambda body: body["system"][0].update(text="")),
    ],
)
def test_what_is_missing_or_of_another_kind_is_refused(api: str, change: Callable[[dict[str, Any]], None]) -> None:
    assert refusal(api, changed(change, api))
