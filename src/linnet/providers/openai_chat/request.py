"""Writes requests for the Chat Completions API, which many vendors speak."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec import MsgspecError

from linnet.core.context.history import Sendable
from linnet.core.messages import AssistantMessage, Image, Text, Thinking, ToolResult, UserMessage, texts
from linnet.core.models import NOTHING, Model
from linnet.decoding import converted, decoder_of
from linnet.providers.base import Request
from linnet.providers.body import encode
from linnet.providers.call_ids import fitted, nine
from linnet.providers.encoded_history import EncodedHistory, Kept
from linnet.providers.openai_chat.quirks import Quirks
from linnet.providers.openai_chat.thinking import thinking_fields
from linnet.providers.output_limit import output_limit, thinking_room
from linnet.providers.signed import signed_by
from linnet.providers.stand_ins import IMAGES_FOLLOW, SEE_BELOW, UNSEEN, noted

_MARKED = 2
_UNSETTLED = 4  # Groups in which the marked ones are, whoever spoke last.
_items = decoder_of(list[Any])
_BETWEEN = "(results read)"
THOUGHT_FIELDS = frozenset(("reasoning_content", "reasoning", "reasoning_text"))
"""The fields that servers send thoughts in. Each wants them back in its own."""


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
        model, quirks = request.model, quirks_of(request.model)
        history = self._history.made(model, lambda: _history(model, quirks))
        groups = history.follow(request.messages)
        if mark := _mark(request, quirks):
            groups = _marked(groups, mark)
        tail = [message for group in groups for message in group]
        separator = b"," if request.messages and request.system.strip() else b""
        key = (model, request.system, request.tools, request.reasoning, request.session, request.cache)
        head = self._head.made(key, lambda: _head(request, quirks, self._names))
        pieces = [head + separator, *history.joined(tail)]
        room = thinking_room(request.level) if model.reasoning else 0
        limit = {quirks.max_tokens_field: output_limit(model, history.text_bytes(pieces), room)}
        return [*pieces, b"]," + encode(limit)[1:]]


def _head(request: Request, quirks: Quirks, names: Mapping[str, str]) -> bytes:
    """Return all that comes before the messages of user and model."""
    model = request.model
    mark = _mark(request, quirks)
    body: dict[str, Any] = {"model": names.get(model.id, model.id), "stream": True}
    if quirks.supports_usage_in_streaming:
        body["stream_options"] = {"include_usage": True}
    if quirks.supports_store:
        body["store"] = False
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": t.name, "description": t.description, "parameters": t.schema},
            }
            for t in request.tools
        ]
        if mark:
            body["tools"][-1] |= mark
        if quirks.zai_tool_stream:
            body["tool_stream"] = True
    if quirks.supports_prompt_cache_key and request.session and request.cache != "off":
        body["prompt_cache_key"] = request.session[:64]
    if quirks.open_router_routing:
        body["provider"] = quirks.open_router_routing
    if quirks.vercel_gateway_routing:
        body["providerOptions"] = {"gateway": quirks.vercel_gateway_routing}
    if quirks.vllm_priority is not None:
        body["priority"] = quirks.vllm_priority
    body |= thinking_fields(request, quirks)
    head = encode(body)[:-1] + b',"messages":['
    if request.system.strip():
        role = "developer" if quirks.supports_developer_role and model.reasoning else "system"
        told: Any = [{"type": "text", "text": request.system, **mark}] if mark else request.system
        head += encode({"role": role, "content": told})
    return head


def _history(model: Model, quirks: Quirks) -> EncodedHistory[None]:
    unsettled = _UNSETTLED if quirks.cache_control_format else 1
    return EncodedHistory(lambda group, _: (_spelled(group, model, quirks), None), None, unsettled)


def _mark(request: Request, quirks: Quirks) -> dict[str, Any]:
    """Return what marks a part for the cache; nothing where parts are not marked."""
    if not quirks.cache_control_format or request.cache == "off":
        return {}
    long = request.cache == "long" and quirks.supports_long_cache_retention
    return {"cache_control": {"type": "ephemeral", **({"ttl": "1h"} if long else {})}}


def _marked(groups: list[list[dict[str, Any]]], mark: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Return the last groups, with a mark at the end of each of the last two that are no replies."""
    marked = [list(group) for group in groups]
    others = [group for group in marked if group and group[-1]["role"] != "assistant"]
    for group in others[-_MARKED:]:
        group[-1] = _with_mark(group[-1], mark)
    return marked


def _with_mark(message: dict[str, Any], mark: dict[str, Any]) -> dict[str, Any]:
    content = message["content"]
    if isinstance(content, str):
        return {**message, "content": [{"type": "text", "text": content, **mark}]} if content.strip() else message
    last = max((place for place, part in enumerate(content) if part.get("text", "").strip()), default=None)
    if last is None:
        return message
    parts = [{**part, **mark} if place == last else part for place, part in enumerate(content)]
    return {**message, "content": parts}


def _call_id(id: str, quirks: Quirks) -> str:
    return nine(id) if quirks.call_id_format else fitted(id, quirks.longest_call_id)


def _spelled(group: Sequence[Sendable], model: Model, quirks: Quirks) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = []
    shown: list[Image] = []  # Those of tools. Results can only be text: the images follow as the user's.
    for message in group:
        if shown and not isinstance(message, ToolResult):
            written.append(_shown(shown))
            shown = []
        match message:
            case UserMessage(content):
                if quirks.requires_assistant_after_tool_result and written and written[-1]["role"] == "tool":
                    written.append({"role": "assistant", "content": _BETWEEN})
                written.append({"role": "user", "content": _content(content, model)})
            case AssistantMessage():
                written.append(_reply(message, model, quirks))
            case ToolResult(call_id, name, content):
                images = [part for part in content if isinstance(part, Image)]
                told = {"role": "tool", "tool_call_id": _call_id(call_id, quirks)}
                if quirks.requires_tool_result_name:
                    told["name"] = name
                written.append({**told, "content": _result(content, images, model)})
                if model.images:
                    shown.extend(images)
    if shown:
        written.append(_shown(shown))
    return written


def _content(content: tuple[Text | Image, ...], model: Model) -> str | list[dict[str, Any]]:
    if not any(isinstance(part, Image) for part in content):
        return texts(content)
    parts: list[dict[str, Any]] = []
    for part in content:
        if isinstance(part, Text):
            parts.append({"type": "text", "text": part.text})
        elif model.images:
            parts.append(_image(part))
        else:
            parts.append({"type": "text", "text": UNSEEN})
    return parts


def _result(content: tuple[Text | Image, ...], images: list[Image], model: Model) -> str:
    text = texts(content)
    return noted(text, SEE_BELOW if model.images else UNSEEN) if images else text


def _reply(message: AssistantMessage, model: Model, quirks: Quirks) -> dict[str, Any]:
    calls = [
        {
            "id": _call_id(call.id, quirks),
            "type": "function",
            "function": {"name": call.name, "arguments": encode(call.args).decode()},
        }
        for call in message.calls
    ]
    thoughts = _thoughts(message, model)
    text = message.text
    if quirks.requires_thinking_as_text and thoughts:
        text = "\n\n".join([*thoughts.values(), text])
    reply: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        reply["tool_calls"] = calls
    elif not text:
        reply["content"] = ""  # A reply has to have one or the other.
    if quirks.requires_reasoning_content_on_assistant_messages:
        reply["reasoning_content"] = "".join(thoughts.values())
    elif not quirks.requires_thinking_as_text:
        reply |= thoughts
    if details := _details(message, model):
        reply["reasoning_details"] = details
    return reply


def _thoughts(message: AssistantMessage, model: Model) -> dict[str, str]:
    """Return the model's own thoughts, by the field that they came in."""
    found: dict[str, str] = {}
    if signed_by(message, model):
        for part in message.content:
            if isinstance(part, Thinking) and part.signature in THOUGHT_FIELDS:
                found[part.signature] = found.get(part.signature, "") + part.text
    return found


def _details(message: AssistantMessage, model: Model) -> list[Any]:
    """Return what the model's thoughts are sent back as, whole and in order, where a server has sent it."""
    found: list[Any] = []
    if signed_by(message, model):
        for part in message.content:
            _, opened, rest = part.signature.partition("[") if isinstance(part, Thinking) else ("", "", "")
            if opened:
                with suppress(MsgspecError):
                    found += _items.decode(opened + rest)
    return found


def _shown(images: list[Image]) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": IMAGES_FOLLOW}, *map(_image, images)]}


def _image(image: Image) -> dict[str, Any]:
    url = image.url or f"data:{image.mime_type};base64,{image.data}"
    return {"type": "image_url", "image_url": {"url": url}}
