"""Writes requests for Bedrock's ConverseStream.

The API refuses blank text, and wants all results of a reply's calls in one message of the user. What can be said in
another way is said so here; the rest is seen to by `core.context.history`.
"""

import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from linnet.core.context.history import Sendable
from linnet.core.messages import AssistantMessage, Image, Text, Thinking, ToolCall, ToolResult, UserMessage
from linnet.core.models import Model, PromptCache, Reasoning
from linnet.decoding import converted
from linnet.providers.base import Request
from linnet.providers.bedrock.quirks import Quirks
from linnet.providers.body import encode
from linnet.providers.call_ids import fitted
from linnet.providers.claude_thinking import INTERLEAVED, Before, after, limits, start
from linnet.providers.encoded_history import EncodedHistory, Kept
from linnet.providers.output_limit import output_limit, thinking_room
from linnet.providers.signed import signed_by
from linnet.providers.stand_ins import NOTHING_SAID, UNSEEN

_LONGEST = 64
_FOREIGN_ID = re.compile(r"[^a-zA-Z0-9_.:-]")
_FOREIGN_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_FORMATS = {"image/png": "png", "image/jpeg": "jpeg", "image/jpg": "jpeg", "image/gif": "gif", "image/webp": "webp"}
_NOTHING = {"text": NOTHING_SAID}
_UNSEEN = {"text": UNSEEN}
_GOVERNMENT = ("us-gov.", "arn:aws-us-gov:")
_MARKED = 2  # So many of the user's last messages: the calls of one step may be more blocks than the vendor looks back.
_UNSETTLED = 4  # Groups in which these messages are, whoever spoke last.


class Written(Struct, frozen=True):
    """A request, spelled."""

    body: list[bytes | bytearray]
    bound: str = ""
    """The digest of all that the model is sent, if its thoughts are bound to that."""


class Writer:
    """Writes one request after another. Keeps what it has spelled, for the next."""

    def __init__(self) -> None:
        self._history: Kept[EncodedHistory[Before]] = Kept()
        self._head: Kept[bytes] = Kept()  # It is the same in every step of most runs.

    def write(self, request: Request) -> Written:
        """Return the request as the API wants it."""
        model = request.model
        quirks = converted(dict(model.quirks), Quirks)
        tools = _tools(request)
        point = _point(request.cache) if quirks.cache_points else None
        bound_to = (request.system, tools) if quirks.binds_thinking else None
        history = self._history.made((model, bound_to), lambda: _history(model, quirks, bound_to))
        tail = [message for group in history.follow(request.messages) for message in group]
        state = history.state
        if not tail or tail[-1]["role"] == "assistant":
            last = {"role": "user", "content": [dict(_NOTHING)]}
            tail.append(last)
            state = after(state, [last])
        level = _thinkable(request, tail)
        if point is not None:
            for message in [each for each in tail if each["role"] == "user"][-_MARKED:]:
                message["content"].append(point)
        head = self._head.made((request.system, tools, point), lambda: _head(request.system, tools, point))
        pieces = [head, *history.joined(tail)]
        allowed = _limits(request, quirks, level, history.text_bytes(pieces))
        return Written([*pieces, b"]," + encode(allowed)[1:]], state.digest)


def _head(system: str, tools: list[dict[str, Any]], point: dict[str, Any] | None) -> bytes:
    """Return all that comes before the messages."""
    points = [point] if point is not None else []
    body: dict[str, Any] = {}
    if system.strip():
        body["system"] = [{"text": system}, *points]
    if tools:
        body["toolConfig"] = {"tools": [*tools, *points]}
    return (encode(body)[:-1] + b"," if body else b"{") + b'"messages":['


def _history(model: Model, quirks: Quirks, bound_to: object) -> EncodedHistory[Before]:
    return EncodedHistory(lambda group, before: _spelled(group, model, quirks, before), start(bound_to), _UNSETTLED)


def _point(cache: PromptCache) -> dict[str, Any] | None:
    if cache == "off":
        return None
    return {"cachePoint": {"type": "default", "ttl": "1h"} if cache == "long" else {"type": "default"}}


def _limits(request: Request, quirks: Quirks, level: Reasoning, prompt_bytes: int) -> dict[str, Any]:
    """Return the fields that say how long the model may think and answer."""
    model = request.model
    if quirks.thinking_format != "claude":
        told = model.levels.get(level, "") if model.reasoning else ""
        room = thinking_room(level) if told else 0
        allowed: dict[str, Any] = {"inferenceConfig": {"maxTokens": output_limit(model, prompt_bytes, room)}}
        return {**allowed, **_effort(quirks, str(told))} if told else allowed
    more = limits(model, level, prompt_bytes)
    allowed = {"inferenceConfig": {"maxTokens": more.pop("max_tokens")}}
    if model.id.startswith(_GOVERNMENT) and "thinking" in more:
        more["thinking"].pop("display", None)  # It is refused there.
    if quirks.interleaves and request.tools and more.get("thinking", {}).get("type") == "enabled":
        more["anthropic_beta"] = [INTERLEAVED]
    return {**allowed, "additionalModelRequestFields": more} if more else allowed


def _effort(quirks: Quirks, told: str) -> dict[str, Any]:
    match quirks.thinking_format:
        case "openai":
            return {"additionalModelRequestFields": {"reasoning": {"effort": told}}}
        case "gpt-oss":
            return {"additionalModelRequestFields": {"reasoning_effort": told}}
        case _:
            return {"outputConfig": {"effort": told}}


def _thinkable(request: Request, messages: list[dict[str, Any]]) -> Reasoning:
    """Return the level of thinking to ask for: off, if calls are being answered that were made without a thought, since
    a budget demands one before them.
    """
    level = request.level
    answering = len(messages) > 1 and "toolResult" in messages[-1]["content"][0]
    if answering and isinstance(request.model.levels.get(level), int):
        return level if "reasoningContent" in messages[-2]["content"][0] else "off"
    return level


def _spelled(
    group: Sequence[Sendable], model: Model, quirks: Quirks, before: Before
) -> tuple[list[dict[str, Any]], Before]:
    """Return a group as one message. The user's comes first in a conversation."""
    replies = isinstance(group[0], AssistantMessage)
    blocks = [block for message in group for block in _content(message, model, quirks, before)] or [dict(_NOTHING)]
    if not replies:  # Results come before anything else.
        blocks.sort(key=lambda block: "toolResult" not in block)
    spelled = [{"role": "assistant" if replies else "user", "content": blocks}]
    if replies and not before.begun:
        spelled.insert(0, {"role": "user", "content": [dict(_NOTHING)]})
    return spelled, after(before, spelled)


def _content(message: Sendable, model: Model, quirks: Quirks, before: Before) -> list[dict[str, Any]]:
    match message:
        case UserMessage(content):
            return _blocks(content, model) or [dict(_NOTHING)]
        case ToolResult():
            return [_result(message, model)]
        case AssistantMessage():
            return _reply(message, model, quirks, before.digest)


def _blocks(content: tuple[Text | Image, ...], model: Model) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for part in content:
        if isinstance(part, Image):
            blocks.append(_image(part, model))
        elif part.text.strip():
            blocks.append({"text": part.text})
    return blocks


def _image(image: Image, model: Model) -> dict[str, Any]:
    if model.images and image.url:
        return {"text": f"(an image that was not fetched: {image.url})"}
    kind = _FORMATS.get(image.mime_type.lower())
    if not model.images or kind is None:
        return dict(_UNSEEN)
    return {"image": {"format": kind, "source": {"bytes": image.data}}}


def _result(result: ToolResult, model: Model) -> dict[str, Any]:
    content = _blocks(result.content, model)
    if result.is_error:  # An error is told in words only, and it must have some.
        content = [block for block in content if "text" in block]
    told = {"toolUseId": _id(result.call_id), "content": content or [dict(_NOTHING)]}
    return {"toolResult": {**told, "status": "error"} if result.is_error else told}


def _reply(message: AssistantMessage, model: Model, quirks: Quirks, digest: str) -> list[dict[str, Any]]:
    own = signed_by(message, model)
    blocks: list[dict[str, Any]] = []
    for part in message.content:
        match part:
            case Text(text):
                if text.strip():
                    blocks.append({"text": text})
            case Thinking():
                if own and part.signature and (not digest or part.bound == digest):
                    blocks += _thought(part, quirks)
            case ToolCall(id, name, args):
                blocks.append({"toolUse": {"toolUseId": _id(id), "name": _name(name), "input": args}})
    return blocks


def _thought(thought: Thinking, quirks: Quirks) -> list[dict[str, Any]]:
    """Return a thought as it is sent back; nothing if it would be refused."""
    if thought.redacted:
        return [{"reasoningContent": {"redactedContent": thought.signature}}]
    if quirks.thinking_format != "claude":
        return []
    return [{"reasoningContent": {"reasoningText": {"text": thought.text, "signature": thought.signature}}}]


def _tools(request: Request) -> list[dict[str, Any]]:
    """Return the tools that are offered; or stubs for those that the conversation has used, if none is offered any
    more: the API wants to know what they were.
    """
    if request.tools:
        return [_tool(tool.name, tool.description, tool.schema) for tool in request.tools]
    calls = (call for m in request.messages if isinstance(m, AssistantMessage) for call in m.calls)
    names = sorted({_name(call.name) for call in calls})
    return [_tool(name, "No longer available.", {"type": "object"}) for name in names]


def _tool(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    said = {"description": description} if description.strip() else {}
    return {"toolSpec": {"name": _name(name), **said, "inputSchema": {"json": schema}}}


def _id(call_id: str) -> str:
    return fitted(call_id, _LONGEST, _FOREIGN_ID)


def _name(name: str) -> str:
    return fitted(name, _LONGEST, _FOREIGN_NAME)
