"""Writes requests for OpenAI's Responses API.

The vendor keeps nothing: each request has the whole conversation, and in it the model's own thoughts, encrypted. A
thought is refused without the item that followed it, and an item with an id without the thought before it. So a reply
goes back either as it came or as mere words and calls: that is what becomes of one that was cut short, that another
model wrote, or that has a thought which cannot be sent.
"""

import re
from collections.abc import Mapping
from typing import Any

from linnet.core.context.history import Sendable
from linnet.core.messages import AssistantMessage, Image, Text, Thinking, ToolCall, ToolResult, UserMessage, texts
from linnet.core.models import NOTHING, Model
from linnet.decoding import converted
from linnet.providers.base import Request
from linnet.providers.body import encode
from linnet.providers.call_ids import fitted
from linnet.providers.encoded_history import EncodedHistory, Kept
from linnet.providers.openai_responses.items import MessageId, call_and_item, message_id, reasoning_item
from linnet.providers.openai_responses.quirks import Quirks
from linnet.providers.output_limit import output_limit, thinking_room
from linnet.providers.signed import signed_by
from linnet.providers.stand_ins import NOTHING_SAID, UNSEEN

_LONGEST_ID = 64
_LEAST_OUTPUT = 16
_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")
_UNSEEN = {"type": "input_text", "text": UNSEEN}
_NOTHING = {"type": "input_text", "text": NOTHING_SAID}
_LONG_CACHE: Mapping[str, Any] = {
    "prompt_cache_retention": {"prompt_cache_retention": "24h"},
    "prompt_cache_options": {"prompt_cache_options": {"ttl": "12h"}},
}


def quirks_of(model: Model) -> Quirks:
    """Return how the model differs from others of this API."""
    return converted(dict(model.quirks), Quirks)


class Writer:
    """Writes one request after another. Keeps what it has spelled, for the next."""

    def __init__(self, names: Mapping[str, str] = NOTHING) -> None:
        """`names`: what the server calls models whose ids are others."""
        self._names = names
        self._history: Kept[EncodedHistory[None]] = Kept()
        self._head: Kept[bytes] = Kept()  # It is the same in every step of most runs.

    def write(self, request: Request) -> list[bytes | bytearray]:
        """Return the body of a request."""
        model = request.model
        history = self._history.made(model, lambda: _history(model))
        tail = [item for group in history.follow(request.messages) for item in group]
        if not request.messages:
            tail = [{"role": "user", "content": [_NOTHING]}]
        key = (model, request.system, request.tools, request.reasoning, request.session, request.cache)
        head = self._head.made(key, lambda: _head(request, self._names))
        pieces = [head, *history.joined(tail)]
        room = thinking_room(request.level) if model.reasoning else 0
        most = max(output_limit(model, history.text_bytes(pieces), room), _LEAST_OUTPUT)
        return [*pieces, b"]," + encode({"max_output_tokens": most})[1:]]


def _head(request: Request, names: Mapping[str, str]) -> bytes:
    """Return all that comes before the conversation."""
    quirks = quirks_of(request.model)
    head = encode(_settings(request, quirks, names))[:-1] + b',"input":['
    if quirks.supports_developer_role and request.system.strip():
        head += encode({"role": "developer", "content": request.system}) + b","
    return head


def _settings(request: Request, quirks: Quirks, names: Mapping[str, str]) -> dict[str, Any]:
    model = request.model
    body: dict[str, Any] = {"model": names.get(model.id, model.id), "stream": True, "store": False}
    if quirks.supports_stream_options:
        body["stream_options"] = {"include_obfuscation": False}
    if model.reasoning:
        body["include"] = ["reasoning.encrypted_content"]
        body |= _thinking(request, quirks)
    if request.system.strip() and not quirks.supports_developer_role:
        body["instructions"] = request.system
    if request.tools:
        body["tools"] = [
            {"type": "function", "name": t.name, "description": t.description, "parameters": t.schema, "strict": False}
            for t in request.tools
        ]
        body["parallel_tool_calls"] = True
    if request.cache != "off" and request.session and quirks.supports_prompt_cache_key:
        body["prompt_cache_key"] = request.session[:64]
    if request.cache == "long":
        body |= _LONG_CACHE.get(quirks.long_cache, NOTHING)
    return body


def _thinking(request: Request, quirks: Quirks) -> dict[str, Any]:
    """Return the field that says how much the model is to think; none where nothing is said for that level."""
    level = request.level
    effort = request.model.levels.get(level, "")
    if not effort:
        return {}
    if level == "off" or not quirks.reasoning_summary:
        return {"reasoning": {"effort": effort}}
    return {"reasoning": {"effort": effort, "summary": quirks.reasoning_summary}}


def _history(model: Model) -> EncodedHistory[None]:
    return EncodedHistory(lambda group, _: ([item for each in group for item in _spelled(each, model)], None), None)


def _spelled(message: Sendable, model: Model) -> list[dict[str, Any]]:
    match message:
        case UserMessage(content):
            return [{"role": "user", "content": _parts(content, model) or [_NOTHING]}]
        case ToolResult():
            return [_result(message, model)]
        case AssistantMessage():
            return _as_it_came(message) or _retold(message) if _may_return(message, model) else _retold(message)


def _may_return(reply: AssistantMessage, model: Model) -> bool:
    """Return whether a reply is this model's own and whole: one that was cut short has lost its calls."""
    return signed_by(reply, model) and reply.stop in ("end", "tool_use")


def _as_it_came(reply: AssistantMessage) -> list[dict[str, Any]] | None:
    """Return the items of a reply, in their order; None if it cannot be sent as it came."""
    items: list[dict[str, Any]] = []
    for part in reply.content:
        match part:
            case Thinking(_, signature):
                item = reasoning_item(signature)
                if item is None:
                    return None
                items.append(item)
            case Text(text, signature):
                if text or signature:
                    items.append(_message(text, message_id(signature)))
            case ToolCall():
                items.append(_call(part, call_and_item(part.id, part.signature)[1]))
    return items if items and items[-1].get("type") != "reasoning" else None


def _retold(reply: AssistantMessage) -> list[dict[str, Any]]:
    """Return what a reply said and called, without what only its author understands."""
    items: list[dict[str, Any]] = []
    for part in reply.content:
        if isinstance(part, Text) and part.text.strip():
            items.append(_message(part.text, MessageId()))
        elif isinstance(part, ToolCall):
            items.append(_call(part, ""))
    return items


def _message(text: str, known: MessageId) -> dict[str, Any]:
    phase = {"phase": known.phase} if known.phase else {}
    if not known.id:
        return {"role": "assistant", "content": text, **phase}
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "id": known.id, "status": "completed", "content": content, **phase}


def _call(call: ToolCall, item: str) -> dict[str, Any]:
    spelled = {
        "type": "function_call",
        "call_id": _id(call.id),
        "name": call.name,
        "arguments": encode(call.args).decode(),
    }
    return {**spelled, "id": item} if item else spelled


def _result(result: ToolResult, model: Model) -> dict[str, Any]:
    """Return the result of a call. The API has no flag for an error: its words have to say it."""
    output: str | list[dict[str, Any]] = texts(result.content)
    if any(isinstance(part, Image) for part in result.content):
        output = _parts(result.content, model)
    elif result.is_error and not output:
        output = "(it failed, without a word)"
    return {"type": "function_call_output", "call_id": _id(result.call_id), "output": output}


def _parts(content: tuple[Text | Image, ...], model: Model) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for part in content:
        if isinstance(part, Image):
            url = part.url or f"data:{part.mime_type};base64,{part.data}"
            parts.append({"type": "input_image", "detail": "auto", "image_url": url} if model.images else _UNSEEN)
        elif part.text:
            parts.append({"type": "input_text", "text": part.text})
    return parts


def _id(call_id: str) -> str:
    return fitted(call_and_item(call_id)[0], _LONGEST_ID, _FOREIGN)
