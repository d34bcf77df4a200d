"""Our requests in the words of Anthropic's Messages API. Pure.

The API refuses what a long conversation easily contains: empty text, two results for one call in two messages, a call
without a result. What can be said in another way is said so here; the rest is the history's own duty.
"""

import re
from collections.abc import Sequence
from typing import Any

from linnet.core.context.history import Sendable
from linnet.core.messages import AssistantMessage, Image, Text, Thinking, ToolCall, ToolResult, UserMessage
from linnet.core.models import Model, Reasoning
from linnet.providers.base import Request
from linnet.providers.body import encode
from linnet.providers.output_limit import SHORTEST, output_limit

_BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384, "xhigh": 32768}
_EFFORTS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh"}
_LEAST_BUDGET = 1024
_CACHED = {"type": "ephemeral"}
_NOTHING = {"type": "text", "text": "(nothing)"}
_UNSEEN = {"type": "text", "text": "(an image that this model cannot see)"}
_GENERATION = re.compile(r"-(\d{1,2})(?:[-.](\d{1,2}))?(?![\d])")


def write(request: Request) -> bytes:
    model = request.model
    messages = _messages(request.messages, model)
    _cache_up_to_here(messages)
    body: dict[str, Any] = {"model": model.id, "stream": True}
    if request.system.strip():
        body["system"] = [{"type": "text", "text": request.system, "cache_control": _CACHED}]
    tools = [{"name": t.name, "description": t.description, "input_schema": t.schema} for t in request.tools]
    if tools:
        tools[-1] = {**tools[-1], "cache_control": _CACHED}
    elif stubs := _stubs(request.messages):
        tools = stubs
        body["tool_choice"] = {"type": "none"}
    if tools:
        body["tools"] = tools
    body["messages"] = messages
    text = encode(body)
    limits = _limits(model, _thinkable(request, messages), len(text) - _image_bytes(request.messages))
    return text[:-1] + b"," + encode(limits)[1:]  # The limits depend on the length: no need to write it all twice.


def _limits(model: Model, reasoning: Reasoning, prompt_bytes: int) -> dict[str, Any]:
    if reasoning == "off":
        return {"max_tokens": output_limit(model, prompt_bytes), **_unthinking(model)}
    if generation(model.id) >= (4, 6):
        effort = _EFFORTS[reasoning if reasoning != "xhigh" or model.xhigh else "high"]
        return {
            "max_tokens": output_limit(model, prompt_bytes, _BUDGETS[reasoning]),
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {"effort": effort},
        }
    limit = output_limit(model, prompt_bytes, _BUDGETS[reasoning])
    budget = min(_BUDGETS[reasoning], limit - min(SHORTEST, limit // 2))  # Thinking must leave room to answer.
    if budget < _LEAST_BUDGET:
        return {"max_tokens": limit}
    return {"max_tokens": limit, "thinking": {"type": "enabled", "budget_tokens": budget}}


def _unthinking(model: Model) -> dict[str, Any]:
    """What keeps a model from thinking that does so unless told otherwise; or makes it think least, and not show it."""
    if not model.off:
        return {}
    if model.off in _EFFORTS:
        return {"thinking": {"type": "adaptive", "display": "omitted"}, "output_config": {"effort": model.off}}
    return {"thinking": {"type": model.off}}


def generation(model_id: str) -> tuple[int, int]:
    """(4, 5) for claude-sonnet-4-5. From 4.6 on a model is given an effort to make, before that a budget to spend."""
    found = _GENERATION.search(model_id)
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


def _thinkable(request: Request, messages: list[dict[str, Any]]) -> Reasoning:
    """Off, if calls are being answered that were made without a thought: a budget demands one before them."""
    if not request.model.reasoning or request.reasoning == "off":
        return "off"
    answering = len(messages) > 1 and messages[-1]["content"][0]["type"] == "tool_result"
    if answering and generation(request.model.id) < (4, 6):
        first = messages[-2]["content"][0]["type"]
        if first not in ("thinking", "redacted_thinking"):
            return "off"
    return request.reasoning


def _messages(messages: Sequence[Sendable], model: Model) -> list[dict[str, Any]]:
    """Alternating roles, the user's first and last: what follows in the same role joins the message before it."""
    written: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if isinstance(message, AssistantMessage) else "user"
        blocks = _content(message, model)
        if written and written[-1]["role"] == role:
            written[-1]["content"].extend(blocks)
        elif blocks:
            written.append({"role": role, "content": blocks})
    nothing = {"role": "user", "content": [dict(_NOTHING)]}
    if not written or written[0]["role"] == "assistant":
        written.insert(0, nothing)
    if written[-1]["role"] == "assistant":
        written.append({**nothing, "content": [dict(_NOTHING)]})
    for turn in written:
        if turn["role"] == "user":  # The API wants results before anything else.
            turn["content"].sort(key=lambda block: block["type"] != "tool_result")
    return written


def _content(message: Sendable, model: Model) -> list[dict[str, Any]]:
    match message:
        case UserMessage(content):
            return _blocks(content, model) or [dict(_NOTHING)]
        case ToolResult():
            return [_result(message, model)]
        case AssistantMessage():
            return _reply(message, model)


def _blocks(content: tuple[Text | Image, ...], model: Model) -> list[dict[str, Any]]:
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
    content = _blocks(result.content, model)
    if result.is_error:  # An error is told in words only, and it must have some.
        content = [block for block in content if block["type"] == "text"]
    block = {"type": "tool_result", "tool_use_id": _id(result.call_id), "content": content or [dict(_NOTHING)]}
    return {**block, "is_error": True} if result.is_error else block


def _reply(message: AssistantMessage, model: Model) -> list[dict[str, Any]]:
    own = message.provider == model.provider and message.model == model.id  # A signature convinces only its author.
    blocks: list[dict[str, Any]] = []
    for part in message.content:
        match part:
            case Text(text):
                if text.strip():
                    blocks.append({"type": "text", "text": text})
            case Thinking(text, signature, redacted):
                if own and redacted and signature:
                    blocks.append({"type": "redacted_thinking", "data": signature})
                elif own and signature:
                    blocks.append({"type": "thinking", "thinking": text, "signature": signature})
            case ToolCall(id, name, args):
                blocks.append({"type": "tool_use", "id": _id(id), "name": name, "input": args})
    return blocks


def _cache_up_to_here(messages: list[dict[str, Any]]) -> None:
    if messages and messages[-1]["role"] == "user":
        messages[-1]["content"][-1]["cache_control"] = _CACHED


def _stubs(messages: Sequence[Sendable]) -> list[dict[str, Any]]:
    """The tools that a conversation has used, when none is offered any more: the API wants to know what they were."""
    calls = (call for m in messages if isinstance(m, AssistantMessage) for call in m.calls)
    names = sorted({call.name for call in calls})
    return [{"name": n, "description": "No longer available.", "input_schema": {"type": "object"}} for n in names]


def _image_bytes(messages: Sequence[Sendable]) -> int:
    """Images are priced by their area, not by their length."""
    contents = [m.content for m in messages if isinstance(m, UserMessage | ToolResult)]
    return sum([len(part.data) for content in contents for part in content if isinstance(part, Image)])


def _id(call_id: str) -> str:
    """Other vendors allow characters in an id that this one does not."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", call_id) or "_"
