"""Checks requests as the vendors do, so that a broken history fails in a test and not at a customer's. Pure.

Each check returns a sentence, or None for a request that the real API would take.
"""

import re
from typing import Any

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")


class Refused(Exception):
    pass


def check_anthropic(body: dict[str, Any]) -> str | None:
    """Return why the Messages API would refuse a request; None if it would not."""
    try:
        _common(body)
        _anthropic_limits(body)
        _anthropic_tools(body)
        _anthropic_messages(body)
    except Refused as refused:
        return str(refused)
    except (KeyError, TypeError, AttributeError) as broken:
        return f"malformed request: {broken!r}"
    return None


def check_openai(body: dict[str, Any]) -> str | None:
    """Return why the Chat Completions API would refuse a request; None if it would not."""
    try:
        _common(body)
        _openai_messages(body["messages"])
        for tool in body.get("tools", ()):
            demand(tool["type"] == "function", "tools: only functions are known")
            demand(TOOL_NAME.fullmatch(tool["function"]["name"]), "tools: bad name")
    except Refused as refused:
        return str(refused)
    except (KeyError, TypeError, AttributeError) as broken:
        return f"malformed request: {broken!r}"
    return None


def demand(condition: object, otherwise: str) -> None:
    if not condition:
        raise Refused(otherwise)


def _common(body: dict[str, Any]) -> None:
    demand(isinstance(body.get("model"), str) and body["model"], "model: required")
    demand(isinstance(body.get("messages"), list) and body["messages"], "messages: at least one is required")
    demand(body.get("stream") is True, "stream: the scripted model only streams")


def _anthropic_limits(body: dict[str, Any]) -> None:
    most = body.get("max_tokens")
    demand(isinstance(most, int) and most > 0, "max_tokens: required")
    thinking = body.get("thinking") or {"type": "disabled"}
    if thinking["type"] == "enabled":
        budget = thinking["budget_tokens"]
        demand(budget >= 1024, "thinking.budget_tokens: must be at least 1024")
        demand(budget < body["max_tokens"], "max_tokens: must be greater than thinking.budget_tokens")
    marks = str(body).count("'cache_control'")
    demand(marks <= 4, f"cache_control: at most 4 blocks may have it, found {marks}")
    if isinstance(body.get("system"), list):
        for block in body["system"]:
            demand(block["text"].strip(), "system: text blocks must not be empty")


def _anthropic_tools(body: dict[str, Any]) -> None:
    names = [tool["name"] for tool in body.get("tools", ())]
    demand(len(names) == len(set(names)), "tools: names must be unique")
    for tool in body.get("tools", ()):
        demand(TOOL_NAME.fullmatch(tool["name"]), f"tools: {tool['name']!r} is not a name")
        demand(tool["input_schema"].get("type") == "object", "tools: input_schema.type must be object")


def _anthropic_messages(body: dict[str, Any]) -> None:
    messages = body["messages"]
    demand(messages[0]["role"] == "user", "messages: the first must be the user's")
    demand(messages[-1]["role"] == "user", "messages: the last must be the user's")
    called: list[str] = []  # By the message before.
    used = False
    for at, message in enumerate(messages):
        role, content = message["role"], message["content"]
        demand(role in ("user", "assistant"), f"messages.{at}: unknown role {role!r}")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        demand(blocks, f"messages.{at}: content must not be empty")
        for block in blocks:
            _anthropic_block(block, role, at)
        demand(
            role == "user" or blocks[-1]["type"] not in ("thinking", "redacted_thinking"),
            f"messages.{at}: the final block in an assistant message cannot be thinking",
        )
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        demand(len(answered) == len(set(answered)), f"messages.{at}: one tool_result for each tool_use")
        missing = [id for id in called if id not in answered]
        demand(not missing, f"messages.{at}: tool_use without a tool_result right after it: {', '.join(missing)}")
        strays = [id for id in answered if id not in called]
        demand(not strays, f"messages.{at}: tool_result without a tool_use right before it: {', '.join(strays)}")
        leading = [block["type"] == "tool_result" for block in blocks]
        demand(leading == sorted(leading, reverse=True), f"messages.{at}: tool_result blocks must come first")
        called = [block["id"] for block in blocks if block["type"] == "tool_use"]
        used = used or bool(called)
        demand(len(called) == len(set(called)), f"messages.{at}: tool_use ids must be unique")
    demand(not used or body.get("tools"), "tools: required when the conversation uses tools")
    _anthropic_thoughts(body)


def _anthropic_thoughts(body: dict[str, Any]) -> None:
    """Check that, with a budget for thinking, a reply whose calls are being answered begins with a thought."""
    if (body.get("thinking") or {}).get("type") != "enabled" or len(body["messages"]) < 2:
        return
    last, answers = body["messages"][-2], body["messages"][-1]["content"]
    if isinstance(answers, str) or not any(block["type"] == "tool_result" for block in answers):
        return
    first = last["content"][0]["type"]
    demand(first in ("thinking", "redacted_thinking"), f"thinking: expected a thinking block before {first}")


def _anthropic_block(block: dict[str, Any], role: str, at: int) -> None:
    match block["type"]:
        case "text":
            demand(block["text"], f"messages.{at}: text blocks must not be empty")
            demand(block["text"].strip(), f"messages.{at}: text blocks must hold more than whitespace")
        case "image":
            source = block["source"]
            demand(source["type"] != "base64" or source["media_type"] in _IMAGES, f"messages.{at}: unknown media type")
        case "tool_result":
            demand(role == "user", f"messages.{at}: tool_result blocks are the user's")
            content = block.get("content", "")
            parts = [] if isinstance(content, str) else content
            for part in parts:
                _anthropic_block(part, role, at)
            if block.get("is_error"):
                demand(content, f"messages.{at}: an error needs content")
                demand(all(part["type"] == "text" for part in parts), f"messages.{at}: an error is told in text")
        case "tool_use":
            demand(role == "assistant", f"messages.{at}: tool_use blocks are the assistant's")
            demand(_CALL_ID.fullmatch(block["id"]), f"messages.{at}: bad tool_use id {block['id']!r}")
            demand(isinstance(block["input"], dict), f"messages.{at}: tool_use input must be an object")
        case "thinking":
            demand(role == "assistant" and block["signature"], f"messages.{at}: thinking needs its signature")
            demand("cache_control" not in block, f"messages.{at}: thinking cannot be cached")
        case "redacted_thinking":
            demand(role == "assistant" and block["data"], f"messages.{at}: redacted thinking needs its data")
        case kind:
            raise Refused(f"messages.{at}: unknown block {kind!r}")


def _openai_messages(messages: list[dict[str, Any]]) -> None:
    open_calls: list[str] = []
    for at, message in enumerate(messages):
        role, content = message["role"], message.get("content")
        if role == "tool":
            id = message["tool_call_id"]
            demand(id in open_calls, f"messages.{at}: a tool message must answer a call right before it, not {id!r}")
            demand(content is not None, f"messages.{at}: content is required")
            open_calls.remove(id)
            continue
        demand(not open_calls, f"messages.{at}: calls without an answer: {', '.join(open_calls)}")
        if role == "assistant":
            calls = message.get("tool_calls")
            demand(calls != [], f"messages.{at}: tool_calls must not be empty")
            demand(content is not None or calls, f"messages.{at}: content or tool_calls is required")
            for call in calls or ():
                demand(isinstance(call["function"]["arguments"], str), f"messages.{at}: arguments must be a string")
                open_calls.append(call["id"])
        elif role == "user":
            demand(content is not None and content != [], f"messages.{at}: content is required")
            for part in content if isinstance(content, list) else ():
                demand(part["type"] in ("text", "image_url"), f"messages.{at}: unknown part {part['type']!r}")
                if part["type"] == "image_url":
                    url = part["image_url"]["url"]
                    demand(url.startswith(("data:image/", "https://")), f"messages.{at}: bad image URL")
        else:
            demand(role in ("system", "developer"), f"messages.{at}: unknown role {role!r}")
            demand(isinstance(content, str | list), f"messages.{at}: content is required")
    demand(not open_calls, f"messages: calls without an answer: {', '.join(open_calls)}")
