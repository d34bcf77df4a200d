"""Writes requests for Bedrock's ConverseStream.

The API refuses blank text, and wants all results of a reply's calls in one message of the user. What can be said in
another way is said so here; the rest is seen to by `core.context.history`.
"""

import re
from typing import Any

from msgspec import Struct

from linnet.core.context.history import Sendable
from linnet.core.messages import AssistantMessage, Image, Text, Thinking, ToolCall, ToolResult, UserMessage
from linnet.core.models import Model, PromptCache, Reasoning
from linnet.decoding import converted
from linnet.providers.alternating_messages import Before, BlockKinds, called, followed, history, last_of_user, thinkable
from linnet.providers.base import Request
from linnet.providers.bedrock.quirks import Quirks
from linnet.providers.body import encode
from linnet.providers.call_ids import fitted
from linnet.providers.claude_thinking import INTERLEAVED, limits
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
_KINDS = BlockKinds(
    _NOTHING, is_result=lambda block: "toolResult" in block, is_thought=lambda block: "reasoningContent" in block
)


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
        kept = self._history.made(
            (model, bound_to),
            lambda: history(_KINDS, lambda message, digest: _blocks(message, model, quirks, digest), bound_to),
        )
        tail, digest = followed(kept, request.messages, _KINDS)
        level = thinkable(request, tail, _KINDS)
        if point is not None:
            for message in last_of_user(tail):
                message["content"].append(point)
        head = self._head.made((request.system, tools, point), lambda: _head(request.system, tools, point))
        pieces = [head, *kept.joined(tail)]
        allowed = _limits(request, quirks, level, kept.text_bytes(pieces))
        return Written([*pieces, b"]," + encode(allowed)[1:]], digest)


def _head(system: str, tools: list[dict[str, Any]], point: dict[str, Any] | None) -> bytes:
    """Return all that comes before the messages."""
    points = [point] if point is not None else []
    body: dict[str, Any] = {}
    if system.strip():
        body["system"] = [{"text": system}, *points]
    if tools:
        body["toolConfig"] = {"tools": [*tools, *points]}
    return (encode(body)[:-1] + b"," if body else b"{") + b'"messages":['


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


def _blocks(message: Sendable, model: Model, quirks: Quirks, digest: str) -> list[dict[str, Any]]:
    match message:
        case UserMessage(content):
            return _content(content, model) or [dict(_NOTHING)]
        case ToolResult():
            return [_result(message, model)]
        case AssistantMessage():
            return _reply(message, model, quirks, digest)


def _content(content: tuple[Text | Image, ...], model: Model) -> list[dict[str, Any]]:
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
    content = _content(result.content, model)
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
    names = sorted({_name(name) for name in called(request)})
    return [_tool(name, "No longer available.", {"type": "object"}) for name in names]


def _tool(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    said = {"description": description} if description.strip() else {}
    return {"toolSpec": {"name": _name(name), **said, "inputSchema": {"json": schema}}}


def _id(call_id: str) -> str:
    return fitted(call_id, _LONGEST, _FOREIGN_ID)


def _name(name: str) -> str:
    return fitted(name, _LONGEST, _FOREIGN_NAME)
