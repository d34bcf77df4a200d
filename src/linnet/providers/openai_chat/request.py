"""Writes requests for the Chat Completions API, which many vendors speak."""

from typing import Any

from linnet.core.messages import AssistantMessage, Image, Text, Thinking, ToolResult, UserMessage, texts
from linnet.core.models import Model, gpt_generation, thinks_with_tools
from linnet.providers.base import Request
from linnet.providers.body import encode
from linnet.providers.output_limit import image_bytes, output_limit

_UNSEEN = "(an image that this model cannot see)"
_SEE_BELOW = "(see the image in the next message)"


def write(request: Request) -> bytes:
    """Return the body of a request."""
    model = request.model
    body: dict[str, Any] = {
        "model": model.id,
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": _messages(request),
    }
    if request.tools:
        body["tools"] = [
            {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.schema}}
            for t in request.tools
        ]
    if effort := _effort(request):
        body["reasoning_effort"] = effort
    if model.off == "disabled":
        body["thinking"] = {"type": "disabled" if request.reasoning == "off" else "enabled"}
    text = encode(body)
    limit = "max_completion_tokens" if model.provider == "openai" else "max_tokens"
    most = output_limit(model, len(text) - image_bytes(request.messages))
    return text[:-1] + b"," + encode({limit: most})[1:]  # It depends on the length: no need to write it all twice.


def _effort(request: Request) -> str | None:
    """Return the effort to ask for; None if the model is not to be told of any."""
    model, wanted = request.model, request.reasoning
    if not model.reasoning or model.provider == "deepseek":
        return None  # There, thinking is on or off.
    if request.tools and not thinks_with_tools(model):
        return "none"
    if wanted == "off":
        return model.off or None
    if wanted == "minimal" and gpt_generation(model.id) != (5, 0):
        return "low"
    return "high" if wanted == "xhigh" and not (model.xhigh or "codex-max" in model.id) else wanted


def _messages(request: Request) -> list[dict[str, Any]]:
    model = request.model
    written: list[dict[str, Any]] = []
    if request.system.strip():
        written.append({"role": "system", "content": request.system})
    shown: list[Image] = []  # Those of tools. Results can only be text: the images follow as the user's.
    last_prompt = max((at for at, m in enumerate(request.messages) if isinstance(m, UserMessage)), default=-1)
    for at, message in enumerate(request.messages):
        if shown and not isinstance(message, ToolResult):
            written.append(_shown(shown))
            shown = []
        match message:
            case UserMessage(content):
                written.append({"role": "user", "content": _content(content, model)})
            case AssistantMessage():
                if reply := _reply(message, model, current=at > last_prompt):
                    written.append(reply)
            case ToolResult(call_id, _, content):
                images = [part for part in content if isinstance(part, Image)]
                written.append({"role": "tool", "tool_call_id": call_id, "content": _result(content, images, model)})
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
            parts.append({"type": "text", "text": _UNSEEN})
    return parts


def _result(content: tuple[Text | Image, ...], images: list[Image], model: Model) -> str:
    text = texts(content)
    if not images:
        return text
    note = _SEE_BELOW if model.images else _UNSEEN
    return f"{text}\n{note}" if text else note


def _reply(message: AssistantMessage, model: Model, *, current: bool) -> dict[str, Any] | None:
    text = message.text
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": encode(call.args).decode()}}
        for call in message.calls
    ]
    if not text and not calls:
        return None
    reply: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        reply["tool_calls"] = calls
        if current and model.provider == message.provider == "deepseek":
            thoughts = "".join(part.text for part in message.content if isinstance(part, Thinking))
            if thoughts:
                reply["reasoning_content"] = thoughts  # It wants its thoughts back until the call is answered.
    return reply


def _shown(images: list[Image]) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": "The tool's images:"}, *map(_image, images)]}


def _image(image: Image) -> dict[str, Any]:
    url = image.url or f"data:{image.mime_type};base64,{image.data}"
    return {"type": "image_url", "image_url": {"url": url}}
