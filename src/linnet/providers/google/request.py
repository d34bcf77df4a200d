"""Writes requests for Google's generateContent API.

Google signs parts of a reply, and wants each signature back on the part that it came on. Newer models refuse a reply
whose first call has none: where it is lost, or another model made the call, a value that Google knows stands for it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from linnet.core.context.history import Sendable
from linnet.core.messages import AssistantMessage, Image, Text, Thinking, ToolCall, ToolResult, UserMessage, texts
from linnet.core.models import Model
from linnet.core.toolspec import ToolSpec
from linnet.providers.base import Request
from linnet.providers.body import encode
from linnet.providers.call_ids import fitted
from linnet.providers.encoded_history import EncodedHistory, Kept
from linnet.providers.google.quirks import Quirks, quirks_of
from linnet.providers.google.schemas import rewritten
from linnet.providers.output_limit import output_limit, thinking_budget, thinking_room
from linnet.providers.signed import signed_by
from linnet.providers.stand_ins import IMAGES_FOLLOW, NOTHING_SAID, SEE_BELOW, UNSEEN, noted

UNSIGNED = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
"""Stands for a signature that is not there: `skip_thought_signature_validator`, in base64 as all signatures."""
_LONGEST_ID = 64
_LONGEST_NAME = 128
_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_.:-]")
_NOTHING = {"text": NOTHING_SAID}


class Writer:
    """Writes one request after another. Keeps what it has spelled, for the next."""

    def __init__(self) -> None:
        self._history: Kept[EncodedHistory[bool]] = Kept()
        self._head: Kept[bytes] = Kept()  # It is the same in every step of most runs.

    def write(self, request: Request, token: str = "") -> list[bytes | bytearray]:
        """Return the body of a request. `token` asks for the rest of a reply that the vendor has not finished."""
        model = request.model
        history = self._history.made(model, lambda: _history(model))
        tail = [content for group in history.follow(request.messages) for content in group]
        if not tail or tail[-1]["role"] == "model":
            tail.append(_user([dict(_NOTHING)]))
        head = self._head.made((request.system, request.tools), lambda: _head(request))
        pieces = [head, *history.joined(tail)]
        rest: dict[str, Any] = {"generationConfig": _limits(request, history.text_bytes(pieces))}
        if token:
            rest["continuationToken"] = token
        return [*pieces, b"]," + encode(rest)[1:]]


def _head(request: Request) -> bytes:
    """Return all that comes before the messages."""
    body: dict[str, Any] = {}
    if request.system.strip():
        body["systemInstruction"] = {"parts": [{"text": request.system}]}
    if request.tools:
        body["tools"] = [{"functionDeclarations": [_declared(tool) for tool in request.tools]}]
    return encode(body)[:-1] + (b"," if body else b"") + b'"contents":['


def tool_name(name: str) -> str:
    """Return a tool's name as the API allows it: it begins with a letter or an underscore."""
    clean = _NOT_IN_NAMES.sub("_", name)[:_LONGEST_NAME] if name else "_"
    return clean if clean[0].isalpha() or clean[0] == "_" else f"_{clean}"[:_LONGEST_NAME]


def renamed(tools: Iterable[ToolSpec]) -> Mapping[str, str]:
    """Return the names of tools that the API does not allow, by how they are spelled for it."""
    return {spelled: tool.name for tool in tools if (spelled := tool_name(tool.name)) != tool.name}


def _declared(tool: ToolSpec) -> dict[str, Any]:
    schema = rewritten(tool.schema)
    return {"name": tool_name(tool.name), "description": tool.description, "parametersJsonSchema": schema}


def _limits(request: Request, prompt_bytes: int) -> dict[str, Any]:
    """Return how long the model may think and answer. Thoughts count as output."""
    model, level = request.model, request.level
    told = model.levels.get(level, "") if model.reasoning else ""
    if told == "":
        return {"maxOutputTokens": output_limit(model, prompt_bytes)}
    if isinstance(told, str):
        limit = output_limit(model, prompt_bytes, thinking_room(level))
        return {"maxOutputTokens": limit, "thinkingConfig": {"includeThoughts": True, "thinkingLevel": told}}
    limit = output_limit(model, prompt_bytes, told)
    budget = thinking_budget(told, limit)
    thinking: dict[str, Any] = {"thinkingBudget": budget}
    return {"maxOutputTokens": limit, "thinkingConfig": {"includeThoughts": True, **thinking} if budget else thinking}


def _history(model: Model) -> EncodedHistory[bool]:
    quirks = quirks_of(model)
    return EncodedHistory(lambda group, begun: (_spelled(group, model, quirks, begun=begun), True), False)


def _spelled(group: Sequence[Sendable], model: Model, quirks: Quirks, *, begun: bool) -> list[dict[str, Any]]:
    """Return a group as turns. The user's comes first in a conversation; all results are in one."""
    if isinstance(group[0], AssistantMessage):
        parts = [
            part for reply in group if isinstance(reply, AssistantMessage) for part in _reply(reply, model, quirks)
        ]
        said = {"role": "model", "parts": parts or [dict(_NOTHING)]}
        return [said] if begun else [_user([dict(_NOTHING)]), said]
    turns: list[dict[str, Any]] = []
    results = [each for each in group if isinstance(each, ToolResult)]
    if results:
        turns.append(_user([_result(result, model, quirks) for result in results]))
        shown = [part for result in results for part in result.content if isinstance(part, Image)]
        if shown and model.images and not quirks.images_in_results:
            turns.append(_user([{"text": IMAGES_FOLLOW}, *map(_image, shown)]))
    turns += [_user(_parts(each.content, model)) for each in group if isinstance(each, UserMessage)]
    return turns


def _user(parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {"role": "user", "parts": parts}


def _parts(content: tuple[Text | Image, ...], model: Model) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for part in content:
        if isinstance(part, Image):
            parts.append(_image(part) if model.images else {"text": UNSEEN})
        elif part.text.strip():
            parts.append({"text": part.text})
    return parts or [dict(_NOTHING)]


def _image(image: Image) -> dict[str, Any]:
    if image.url:
        return {"fileData": {"mimeType": image.mime_type, "fileUri": image.url}}
    return {"inlineData": {"mimeType": image.mime_type, "data": image.data}}


def _result(result: ToolResult, model: Model, quirks: Quirks) -> dict[str, Any]:
    text = texts(result.content)
    images = [part for part in result.content if isinstance(part, Image)]
    if images and not (model.images and quirks.images_in_results):
        text = noted(text, SEE_BELOW if model.images else UNSEEN)
    answer: dict[str, Any] = {"id": _id(result.call_id)} if quirks.call_ids else {}
    answer |= {"name": tool_name(result.name), "response": {"error" if result.is_error else "output": text}}
    if images and model.images and quirks.images_in_results:
        answer["parts"] = [_image(image) for image in images]
    return {"functionResponse": answer}


def _reply(message: AssistantMessage, model: Model, quirks: Quirks) -> list[dict[str, Any]]:
    own = signed_by(message, model)
    parts: list[dict[str, Any]] = []
    called = False
    for part in message.content:
        signature = part.signature if own else ""
        match part:
            case Text(text):
                if text.strip() or signature:
                    parts.append(_signed({"text": text}, signature))
            case Thinking(text):
                if signature:  # Others would be read as if somebody else had thought them.
                    parts.append(_signed({"text": text, "thought": True}, signature))
            case ToolCall(id, name, args):
                call: dict[str, Any] = {"id": _id(id)} if quirks.call_ids else {}
                call |= {"name": tool_name(name), "args": args}
                lacking = quirks.demands_signatures and not called
                parts.append(_signed({"functionCall": call}, signature or (UNSIGNED if lacking else "")))
                called = True
    return parts


def _signed(part: dict[str, Any], signature: str) -> dict[str, Any]:
    return {**part, "thoughtSignature": signature} if signature else part


def _id(call_id: str) -> str:
    return fitted(call_id, _LONGEST_ID, _FOREIGN)
