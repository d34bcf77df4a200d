"""Checks requests as Bedrock's ConverseStream does, signatures included. Pure: the clock is given.

The signature is worked out from what AWS says of it, and from nothing that linnet signs with.
"""

import re
from hashlib import sha256
from hmac import new
from typing import Any
from urllib.parse import quote

from linnet.testing.model_script import Refusal

ACCESS_KEY = "AKIAIOSFODNN7EXAMPLE"
SECRET_KEY = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
TOKEN = "IQoJb3JpZ2luX2VjEXAMPLE"
_SKEW = 300
_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8}/[^/]+/bedrock/aws4_request), SignedHeaders=([^,]+), Signature=(\w+)"
)
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_FORMATS = ("png", "jpeg", "gif", "webp")
_KEYS = ("messages", "system", "toolConfig", "inferenceConfig", "additionalModelRequestFields", "outputConfig")


class _Wrong(Exception):
    pass


def stranger(path: str, headers: dict[str, str], body: bytes, now: float) -> Refusal | None:
    """Return why a request is not let in; None if it is. `now` is Unix time."""
    said = headers.get("authorization", "")
    if said.startswith("Bearer "):
        bad = said in ("Bearer ", "Bearer bad-key")
        return Refusal(403, "AccessDeniedException", "Authentication failed.") if bad else None
    match = _AUTHORIZATION.fullmatch(said)
    if match is None:
        return Refusal(403, "MissingAuthenticationTokenException", "Missing Authentication Token")
    key, area, names, signature = match.groups()
    if key != ACCESS_KEY:
        return Refusal(403, "UnrecognizedClientException", "The security token included in the request is invalid.")
    wanted = {"host", "x-amz-date"} | ({"x-amz-security-token"} & headers.keys())
    stamp = headers.get("x-amz-date", "")
    if not wanted <= set(names.split(";")) or not stamp.startswith(area[:8]) or abs(_seconds(stamp) - now) > _SKEW:
        return Refusal(403, "InvalidSignatureException", "Signature expired, or a header is not signed.")
    if headers.get("x-amz-security-token", TOKEN) != TOKEN:
        return Refusal(403, "ExpiredTokenException", "The security token included in the request is expired")
    lines = "".join(f"{name}:{headers.get(name, '').strip()}\n" for name in names.split(";"))
    canonical = f"POST\n{quote(path, safe='/-_.~')}\n\n{lines}\n{names}\n{sha256(body).hexdigest()}"
    text = f"AWS4-HMAC-SHA256\n{stamp}\n{area}\n{sha256(canonical.encode()).hexdigest()}"
    secret = ("AWS4" + SECRET_KEY).encode()
    for word in area.split("/"):
        secret = new(secret, word.encode(), sha256).digest()
    if new(secret, text.encode(), sha256).hexdigest() != signature:
        return Refusal(403, "InvalidSignatureException", "The request signature we calculated does not match.")
    return None


def check_bedrock(body: dict[str, Any], *, claude: bool = True) -> str | None:
    """Return why ConverseStream would refuse a request; None if it would not. `claude`: the model is one."""
    try:
        _demand(body.keys() <= set(_KEYS), f"unknown fields: {', '.join(sorted(body.keys() - set(_KEYS)))}")
        points = str(body).count("'cachePoint'")
        _demand(points <= 4, f"at most 4 cache points, found {points}")
        _demand(claude or not points, "cache points are not supported by this model")
        for block in body.get("system", ()):
            _demand("cachePoint" in block or block["text"].strip(), "system: text must not be blank")
        _limits(body)
        _tools(body)
        _messages(body, claude=claude)
    except _Wrong as wrong:
        return str(wrong)
    except (KeyError, TypeError, AttributeError, IndexError) as broken:
        return f"malformed request: {broken!r}"
    return None


def _demand(condition: object, otherwise: str) -> None:
    if not condition:
        raise _Wrong(otherwise)


def _limits(body: dict[str, Any]) -> None:
    most = body["inferenceConfig"]["maxTokens"]
    _demand(most > 0, "maxTokens: must be positive")
    thinking = body.get("additionalModelRequestFields", {}).get("thinking", {})
    if thinking.get("type") != "enabled":
        return
    _demand(1024 <= thinking["budget_tokens"] < most, "thinking.budget_tokens: from 1024 to less than maxTokens")
    blocks = body["messages"][-1]["content"]
    if "toolResult" in blocks[0]:
        first = body["messages"][-2]["content"][0]
        _demand("reasoningContent" in first, "a reply with calls must begin with a thought")


def _tools(body: dict[str, Any]) -> None:
    tools = body.get("toolConfig", {"tools": [{"cachePoint": {}}]})["tools"]
    _demand(tools, "toolConfig.tools: at least one")
    names = [tool["toolSpec"]["name"] for tool in tools if "toolSpec" in tool]
    _demand(len(names) == len(set(names)), "tools: names must be unique")
    _demand(all(_NAME.fullmatch(name) for name in names), "tools: bad name")
    for tool in tools:
        if "toolSpec" in tool:
            _demand(tool["toolSpec"].get("description", "x"), "tools: a description must not be empty")
            _demand(tool["toolSpec"]["inputSchema"]["json"]["type"] == "object", "tools: not an object's schema")


def _messages(body: dict[str, Any], *, claude: bool) -> None:
    messages = body["messages"]
    _demand(messages and messages[0]["role"] == "user", "a conversation must start with a user message")
    _demand(messages[-1]["role"] == "user", "a conversation must end with a user message")
    called: list[str] = []
    used, before = False, ""
    for at, message in enumerate(messages):
        role, blocks = message["role"], message["content"]
        _demand(role in ("user", "assistant") and role != before, f"messages.{at}: roles must alternate")
        _demand(blocks, f"messages.{at}: content must not be empty")
        for block in blocks:
            _block(block, role, f"messages.{at}", claude=claude)
        _demand(role == "user" or "reasoningContent" not in blocks[-1], f"messages.{at}: ends with a thought")
        answered = [block["toolResult"]["toolUseId"] for block in blocks if "toolResult" in block]
        _demand(sorted(answered) == sorted(called), f"messages.{at}: results of {answered} for calls of {called}")
        called = [block["toolUse"]["toolUseId"] for block in blocks if "toolUse" in block]
        _demand(len(called) == len(set(called)), f"messages.{at}: ids must be unique")
        used, before = used or bool(called), role
    _demand(not used or body.get("toolConfig"), "toolConfig: required when the conversation uses tools")


def _block(block: dict[str, Any], role: str, at: str, *, claude: bool) -> None:
    _demand(len(block) == 1, f"{at}: a block is one thing")
    match block:
        case {"text": str(text)}:
            _demand(text.strip(), f"{at}: text must not be blank")
        case {"image": image}:
            _demand(image["format"] in _FORMATS and image["source"]["bytes"], f"{at}: bad image")
            _demand(role == "user", f"{at}: images are the user's")
        case {"toolUse": call}:
            _demand(role == "assistant", f"{at}: calls are the assistant's")
            _demand(_ID.fullmatch(call["toolUseId"]) and _NAME.fullmatch(call["name"]), f"{at}: bad call")
            _demand(isinstance(call["input"], dict), f"{at}: input must be an object")
        case {"toolResult": result}:
            _demand(role == "user" and result["content"], f"{at}: bad result")
            for part in result["content"]:
                _block(part, role, at, claude=claude)
        case {"reasoningContent": {"redactedContent": str(data)}}:
            _demand(role == "assistant" and data, f"{at}: bad thought")
        case {"reasoningContent": {"reasoningText": thought}}:
            _demand(role == "assistant" and thought["signature"], f"{at}: a thought needs its signature")
            _demand(claude, f"{at}: this model does not support the signature field")
        case {"cachePoint": {"type": "default"}}:
            _demand(role == "user", f"{at}: cache points are in the user's messages")
        case _:
            raise _Wrong(f"{at}: unknown block {sorted(block)}")


def _seconds(stamp: str) -> float:
    from datetime import UTC, datetime

    try:
        return datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0
