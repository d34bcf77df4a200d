"""Which API of the model server a request is for, what it asks there, and how the reply is spelled."""

from collections.abc import Callable, Mapping
from typing import Any

from linnet.testing.model_script import Api
from linnet.testing.model_wire import AnthropicWire, OpenAIWire, Wire
from linnet.testing.vendors.gemini_rules import model_in
from linnet.testing.vendors.gemini_wire import GeminiWire, understood
from linnet.testing.vendors.model_responses import ResponsesWire, as_chat

_WIRES: Mapping[Api, Callable[..., Wire]] = {
    "anthropic": AnthropicWire,
    "openai": OpenAIWire,
    "responses": ResponsesWire,
}


def api_of(path: str) -> Api:
    """Return the API that is at this path."""
    plain = path.partition("?")[0]
    if plain.endswith("/responses"):
        return "responses"
    if ":streamGenerateContent" in plain:
        return "google"
    return "openai" if plain.endswith("/chat/completions") else "anthropic"


def as_asked(api: Api, body: Any) -> Any:
    """Return a request in the words of one of the two APIs that scripts are read from."""
    if api == "google":
        return understood(body)
    return as_chat(body) if api == "responses" else body


def wire_of(api: Api, path: str, body: Any, size: int, *, cached: bool) -> Wire:
    """Return what spells the reply to a request of this size."""
    if api == "google":
        return GeminiWire(model_in(path) or "", body, size, cached=cached)
    return _WIRES[api](body, size, cached=cached)
