"""Writes requests for Anthropic's Messages API.

The API refuses what a long conversation easily contains: empty text, two results for one call in two messages, a call
without a result. What can be said in another way is said so here; the rest is seen to by `core.context.history`.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from linnet.core.context.history import Sendable
from linnet.core.messages import AssistantMessage, Image, Text, Thinking, ToolCall, ToolResult, UserMessage
from linnet.core.models import NOTHING, Model, PromptCache, Reasoning
from linnet.decoding import converted
from linnet.providers.alternating_messages import Before, BlockKinds, called, followed, history, last_of_user, thinkable
from linnet.providers.base import Request
from linnet.providers.body import encode
from linnet.providers.call_ids import fitted
from linnet.providers.claude_thinking import INTERLEAVED, limits
from linnet.providers.encoded_history import EncodedHistory, Kept
from linnet.providers.signed import signed_by
from linnet.providers.stand_ins import NOTHING_SAID, UNSEEN

_LONGEST_ID = 64
_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")
_NOTHING = {"type": "text", "text": NOTHING_SAID}
_UNSEEN = {"type": "text", "text": UNSEEN}
_KINDS = BlockKinds(
    _NOTHING,
    is_result=lambda block: block["type"] == "tool_result",
    is_thought=lambda block: block["type"] in ("thinking", "redacted_thinking"),
)


class Quirks(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What differs from model to model."""

    binds_thinking: bool = False
    """A thought is refused after anything else than what the model was sent when it thought it."""
    interleaves: bool = True
    """A model with a budget may think between calls, if asked to."""
    cache_marks: bool = True
    """The server takes marks for its cache."""
    supports_cache_control_on_tools: bool = True
    """It takes them on tools, too."""
    supports_long_cache_retention: bool = True
    """What is marked may be kept for an hour."""
    force_adaptive_thinking: bool = False
    """The model is told an effort where it would be told a budget."""
    send_session_affinity_headers: bool = False
    """A header says which requests belong together."""
    session_affinity_format: Literal["", "openrouter"] = ""
    # Keys of pi's for what is never sent from here, so that a file written for pi can be read.
    supports_eager_tool_input_streaming: bool = True
    supports_temperature: bool = True
    allow_empty_signature: bool = False
    supports_strict_tools: bool = False
    supports_mid_convo_effort: bool = False
    supports_mid_convo_system_messages: bool = False
    supports_mid_convo_tool_changes: bool = False
    allowed_fallback_models: Sequence[Any] = ()

    def session_headers(self, session: str) -> dict[str, str]:
        """Return the header that says which requests belong together."""
        if not self.send_session_affinity_headers or not session:
            return {}
        return {"x-session-id" if self.session_affinity_format else "x-session-affinity": session}


class Written(Struct, frozen=True):
    """A request, spelled."""

    body: list[bytes | bytearray]
    headers: Mapping[str, str] = NOTHING
    bound: str = ""
    """The digest of all that the model is sent, if its thoughts are bound to that."""


class Writer:
    """Writes one request after another. Keeps what it has spelled, for the next."""

    def __init__(self, version: str = "") -> None:
        """`version` is for servers that are told the version of the API in the body, and the model in the path."""
        self._version = version
        self._history: Kept[EncodedHistory[Before]] = Kept()
        self._head: Kept[bytes] = Kept()  # It is the same in every step of most runs.

    def write(self, request: Request) -> Written:
        """Return the request as the API wants it."""
        quirks = converted(dict(request.model.quirks), Quirks)
        if quirks.force_adaptive_thinking:
            request = replace(request, model=_adaptive(request.model))
        model = request.model
        tools = _tools(request)
        mark = _mark(request.cache, long=quirks.supports_long_cache_retention) if quirks.cache_marks else None
        bound_to = (request.system, tools) if quirks.binds_thinking else None
        kept = self._history.made(
            (model, bound_to),
            lambda: history(_KINDS, lambda message, digest: _blocks(message, model, digest), bound_to),
        )
        tail, digest = followed(kept, request.messages, _KINDS)
        level = thinkable(request, tail, _KINDS)
        for message in last_of_user(tail):
            message["content"][-1] = _marked(message["content"][-1], mark)
        on_tools = mark if quirks.supports_cache_control_on_tools else None
        key = (model.id, request.system, tools, mark, on_tools, bool(request.tools))
        head = self._head.made(key, lambda: _head(request, self._version, tools, mark, on_tools))
        pieces = [head, *kept.joined(tail)]
        limited = limits(model, level, kept.text_bytes(pieces))
        headers = quirks.session_headers(request.session)
        if quirks.interleaves and request.tools and limited.get("thinking", {}).get("type") == "enabled":
            headers["anthropic-beta"] = INTERLEAVED
        return Written([*pieces, b"]," + encode(limited)[1:]], headers, digest)


def _head(
    request: Request,
    version: str,
    tools: list[dict[str, Any]],
    mark: dict[str, str] | None,
    on_tools: dict[str, str] | None,
) -> bytes:
    """Return all that comes before the messages. `on_tools` is the mark behind the tools."""
    named = {"anthropic_version": version} if version else {"model": request.model.id}
    body: dict[str, Any] = {**named, "stream": True}
    if request.system.strip():
        body["system"] = [_marked({"type": "text", "text": request.system}, mark)]
    if tools and not request.tools:
        body["tool_choice"] = {"type": "none"}
    if tools:
        body["tools"] = [*tools[:-1], _marked(tools[-1], on_tools)] if request.tools else tools
    return encode(body)[:-1] + b',"messages":['


def _adaptive(model: Model) -> Model:
    """Return the model with an effort for each level for which it has a budget."""
    efforts: dict[Reasoning, str | int] = {"minimal": "low"}
    return replace(
        model,
        levels={
            level: efforts.get(level, level) if isinstance(told, int) else told for level, told in model.levels.items()
        },
    )


def _mark(cache: PromptCache, *, long: bool) -> dict[str, str] | None:
    if cache == "off":
        return None
    return {"type": "ephemeral", "ttl": "1h"} if cache == "long" and long else {"type": "ephemeral"}


def _marked(block: dict[str, Any], mark: dict[str, str] | None) -> dict[str, Any]:
    return {**block, "cache_control": mark} if mark is not None else block


def _blocks(message: Sendable, model: Model, digest: str) -> list[dict[str, Any]]:
    match message:
        case UserMessage(content):
            return _content(content, model) or [dict(_NOTHING)]
        case ToolResult():
            return [_result(message, model)]
        case AssistantMessage():
            return _reply(message, model, digest)


def _content(content: tuple[Text | Image, ...], model: Model) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for part in content:
        if isinstance(part, Image):
            source = {"type": "base64", "media_type": part.mime_type, "data": part.data}
            source = {"type": "url", "url": part.url} if part.url else source
            blocks.append({"type": "image", "source": source} if model.images else dict(_UNSEEN))
        elif part.text.strip():
            blocks.append({"type": "text", "text": part.text})
    return blocks


def _result(result: ToolResult, model: Model) -> dict[str, Any]:
    content = _content(result.content, model)
    if result.is_error:  # An error is told in words only, and it must have some.
        content = [block for block in content if block["type"] == "text"]
    block = {"type": "tool_result", "tool_use_id": _id(result.call_id), "content": content or [dict(_NOTHING)]}
    return {**block, "is_error": True} if result.is_error else block


def _reply(message: AssistantMessage, model: Model, digest: str) -> list[dict[str, Any]]:
    own = signed_by(message, model)
    blocks: list[dict[str, Any]] = []
    for part in message.content:
        match part:
            case Text(text):
                if text.strip():
                    blocks.append({"type": "text", "text": text})
            case Thinking(text, signature, redacted, bound):
                if not own or not signature or (digest and bound != digest):
                    continue
                if redacted:
                    blocks.append({"type": "redacted_thinking", "data": signature})
                else:
                    blocks.append({"type": "thinking", "thinking": text, "signature": signature})
            case ToolCall(id, name, args):
                blocks.append({"type": "tool_use", "id": _id(id), "name": name, "input": args})
    return blocks


def _tools(request: Request) -> list[dict[str, Any]]:
    """Return the tools that are offered; or stubs for those that the conversation has used, if none is offered any
    more: the API wants to know what they were.
    """
    if request.tools:
        return [{"name": t.name, "description": t.description, "input_schema": t.schema} for t in request.tools]
    gone = {"description": "No longer available.", "input_schema": {"type": "object"}}
    return [{"name": name, **gone} for name in called(request)]


def _id(call_id: str) -> str:
    return fitted(call_id, _LONGEST_ID, _FOREIGN)
