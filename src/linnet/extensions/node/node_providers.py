"""Providers of models that extensions for pi bring: servers, functions that stream replies, and virtual models."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from linnet.core.deltas import (
    CallDelta,
    CallOpened,
    Delta,
    Stopped,
    TextDelta,
    ThinkingDelta,
    ThinkingSigned,
    UsageReported,
)
from linnet.core.messages import Cost, StopReason, Usage
from linnet.core.models import LEVELS, Model, Prices
from linnet.errors import ConfigError, ProviderRejected
from linnet.extensions.extension import AddedProvider
from linnet.extensions.node import frames, pi_words
from linnet.extensions.node.link import HostFailed

if TYPE_CHECKING:
    from linnet.core.cancel import Cancel
    from linnet.extensions.host import PiHost
    from linnet.extensions.node.node_extension import NodeExtension

_STOPS: dict[str, StopReason] = {"stop": "end", "toolUse": "tool_use", "length": "length"}
NO_CREDENTIALS = "Virtual model {}/{} routed to {}/{}, which has no credentials."


def added(offered: frames.OfferedProvider, extension: "NodeExtension", host: "PiHost") -> AddedProvider:
    """Return a provider that an extension registered, as the runtime knows it. Raises ConfigError."""
    models = tuple(_model(each, offered) for each in offered.models)
    if not models:
        raise ConfigError(f"the provider {offered.name} has no models")
    if offered.streams:
        streaming = _Streaming(offered.name, extension, host)
        return AddedProvider(offered.name, models, stream=streaming.stream)
    variable = offered.api_key[1:] if offered.api_key.startswith("$") else ""
    key = "" if variable else offered.api_key
    return AddedProvider(
        offered.name, models, offered.base_url, offered.api, variable.strip("{}"), key=key, headers=offered.headers
    )


def _model(said: dict[str, Any], offered: frames.OfferedProvider) -> Model:
    """Return a model that an extension describes."""
    cost = said.get("cost") or {}
    prices = Prices(
        float(cost.get("input") or 0),
        float(cost.get("output") or 0),
        float(cost.get("cacheRead") or 0),
        float(cost.get("cacheWrite") or 0),
    )
    reasoning = bool(said.get("reasoning"))
    return Model(
        str(said.get("id")),
        offered.name,
        str(said.get("name") or said.get("id")),
        int(said.get("contextWindow") or 128_000),
        int(said.get("maxTokens") or 8_192),
        reasoning,
        "image" in (said.get("input") or ()),
        prices,
        "" if offered.streams else str(said.get("api") or offered.api),
        str(said.get("baseUrl") or ""),
        {level: level for level in LEVELS} if reasoning and offered.streams else {},
    )


class _Streaming:
    """Answers requests by an extension's own function, or by the model that it routes to."""

    def __init__(self, name: str, extension: "NodeExtension", host: "PiHost") -> None:
        self._name = name
        self._extension = extension
        self._host = host

    def stream(self, request: Any, cancel: "Cancel") -> Iterator[Delta | list[Delta]]:
        """Yield the reply to a request. Raises ProviderRejected, Cancelled."""
        payload = {
            "model": pi_words.model(request.model),
            "context": {
                "systemPrompt": request.system,
                "messages": pi_words.spelled_all(request.messages),
                "tools": [
                    {"name": tool.name, "description": tool.description, "parameters": tool.schema}
                    for tool in request.tools
                ],
            },
            "options": {"reasoning": request.reasoning, "maxTokens": request.model.max_output},
        }
        link, index = self._extension.link, self._extension.index
        try:
            for event in link.follow(lambda number: frames.Stream(number, index, self._name, payload), cancel):
                if route := event.get("route"):
                    yield from self._routed(request, route, cancel)
                    return
                yield from self._deltas(event)
        except HostFailed as fault:
            cancel.check()
            raise ProviderRejected(self._name, str(fault)) from None

    def _deltas(self, event: dict[str, Any]) -> Iterator[Delta]:
        """Yield what one event of a reply says. Raises ProviderRejected if it is a failure."""
        match event.get("type"):
            case "text":
                yield TextDelta(event["text"])
            case "thinking":
                yield ThinkingDelta(event["text"])
            case "signed":
                yield ThinkingSigned(event["signature"])
            case "call":
                yield CallOpened(event["id"], event["name"])
            case "arguments":
                yield CallDelta(event["id"], event["text"])
            case "done":
                yield UsageReported(_usage(event.get("usage") or {}))
                yield Stopped(_STOPS.get(event.get("reason") or "stop", "end"))
            case "error":
                raise ProviderRejected(self._name, str(event.get("error") or "the reply failed"))
            case _:
                pass

    def _routed(self, request: Any, route: dict[str, Any], cancel: "Cancel") -> Iterator[list[Delta]]:
        """Yield the reply of the model that a virtual one stands for at the moment."""
        provider, id = str(route.get("provider")), str(route.get("id"))
        model = self._host.find_model(provider, id)
        if model is None or not self._host.usable(provider):
            raise ProviderRejected(self._name, NO_CREDENTIALS.format(self._name, request.model.id, provider, id))
        level = route.get("thinkingLevel")
        reasoning = level if level in LEVELS else request.reasoning
        for batch in self._host.relay(replace(request, model=model, reasoning=reasoning), cancel):
            yield list(batch)


def _usage(said: dict[str, Any]) -> Usage:
    """Return how much a reply has used, as an extension counts it."""
    cost = said.get("cost") or {}
    return Usage(
        int(said.get("input") or 0),
        int(said.get("output") or 0),
        int(said.get("cacheRead") or 0),
        int(said.get("cacheWrite") or 0),
        Cost(
            float(cost.get("input") or 0),
            float(cost.get("output") or 0),
            float(cost.get("cacheRead") or 0),
            float(cost.get("cacheWrite") or 0),
        ),
    )
