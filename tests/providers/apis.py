"""The table of APIs that are judged: for each its vendor, a model, the vendor's types and a stream of a reply.

A new API is a row here, a file in `streams` and a check in `vendor_types`.
"""

import json
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from linnet.core.context.history import Sendable
from linnet.core.models import Model, Reasoning
from linnet.core.toolspec import ToolSpec
from linnet.providers import apis, catalog
from linnet.providers.base import Request
from linnet.providers.endpoint import Endpoint
from linnet.providers.http_provider import HttpProvider
from linnet.testing.bedrock.rules import check_bedrock
from linnet.testing.model_rules import check_anthropic, check_openai
from tests.providers import event_stream
from tests.providers.vendor_types import REFUSALS

STREAMS = Path(__file__).parent / "streams"
NOWHERE = "http://127.0.0.1:9"
READ = ToolSpec("read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
LS = ToolSpec("ls", "List a folder.", {"type": "object", "properties": {}})
KEYS = {
    "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_REGION": "us-east-1",
    "GOOGLE_CLOUD_PROJECT": "a-project",
    "GOOGLE_CLOUD_LOCATION": "global",
}


class Api(Struct, frozen=True):
    """One API, as one vendor speaks it."""

    wire: str
    """The name of the API. Two vendors may share one."""
    vendor: str
    id: str
    """That of the model that is asked."""
    rule: Callable[[dict[str, Any]], str | None] = lambda body: None
    """Return why the vendor would refuse a request that its types accept."""
    own_words: tuple[str, ...] = ()
    """Keys that this vendor has added to another's API, and that the other's types do not know."""

    stream: str = ""
    """The name of the file in `streams`, if it is not that of the API."""
    shows_thoughts: bool = True
    every_model: bool = False
    """The vendor serves all its models through this API, also those that are asked through another."""
    base_path: str = ""
    """What follows the origin in the vendor's base URL, if linnet does not add it by itself."""

    @property
    def name(self) -> str:
        return f"{self.vendor} by {self.wire}"

    @property
    def model(self) -> Model:
        return _model(self.wire, self.vendor, self.id)

    @property
    def models(self) -> list[Model]:
        """Return the models of the vendor that can be asked through this API."""
        info = catalog.PROVIDERS.get(self.vendor)
        return [
            _model(self.wire, self.vendor, model.id)
            for model in catalog.models(self.vendor)
            if self.every_model or info is None or catalog.completed(model, info, info.base_url).api == self.wire
        ]

    def open(self, origin: str) -> HttpProvider:
        """Return the provider for a server with this origin."""
        opened = apis.api_named(self.wire).load()(
            Endpoint(self.vendor, origin + self.base_path, "test-key", environ=KEYS)
        )
        assert isinstance(opened, HttpProvider)
        return opened

    def body(
        self,
        *messages: Sendable,
        model: Model | None = None,
        tools: tuple[ToolSpec, ...] = (READ, LS),
        reasoning: Reasoning = "off",
    ) -> dict[str, Any]:
        """Return the body of a request as it is sent."""
        request = Request(model or self.model, "Be brief.", messages, tools, reasoning, session="a-session")
        call, _ = self.open(NOWHERE)._api.exchange(request)
        body: dict[str, Any] = json.loads(b"".join(call.body))
        return body

    def refusal(self, body: dict[str, Any]) -> str | None:
        """Return why the vendor refuses a request, by its types or its rules; None if it takes it."""
        return self.rule(body) or REFUSALS[self.wire](_without(self.own_words, body))

    def demand(self, *messages: Sendable, **options: Any) -> dict[str, Any]:
        """Return the body of a request. Fails if the vendor refuses it."""
        body = self.body(*messages, **options)
        refused = self.refusal(body)
        assert refused is None, f"{self.name}: {refused}\n{json.dumps(body, ensure_ascii=False, indent=1)}"
        return body

    @property
    def content_type(self) -> str:
        return "application/vnd.amazon.eventstream" if self.wire.startswith("bedrock") else "text/event-stream"

    @property
    def pieces(self) -> list[bytes]:
        """Return a reply, event by event: a signed thought, words, two calls in parallel, usage, a reason to stop."""
        if self.wire.startswith("bedrock"):
            lines = (STREAMS / f"{self.wire}.jsonl").read_text("utf-8").splitlines()
            return [event_stream.event(*item) for line in lines for item in json.loads(line).items()]
        streamed = (STREAMS / f"{self.stream or self.wire}.sse").read_bytes()
        return [piece + b"\n\n" for piece in streamed.split(b"\n\n") if piece]


_ROWS = (
    Api("anthropic-messages", "anthropic", "claude-sonnet-5", check_anthropic),
    Api("openai-completions", "openai", "gpt-5.2", check_openai, shows_thoughts=False, every_model=True),
    Api(
        "openai-completions",
        "deepseek",
        "deepseek-v4-pro",
        check_openai,
        ("thinking", "reasoning_content"),
        "openai-completions.deepseek",
    ),
    Api("openai-responses", "openai", "gpt-6-sol", every_model=True),
    Api("google-generative-ai", "google", "gemini-3.6-flash", base_path="/v1beta"),
    Api("google-vertex", "vertex", "gemini-3.6-flash", stream="google-generative-ai"),
    Api("anthropic-vertex", "vertex", "claude-opus-5-5", stream="anthropic-messages"),
    Api("bedrock-converse-stream", "bedrock", "global.anthropic.claude-opus-5-5", check_bedrock),
)
APIS = tuple(row for row in _ROWS if row.wire in apis.APIS)


@cache
def _model(wire: str, vendor: str, id: str) -> Model:
    info = catalog.PROVIDERS.get(vendor) or catalog.ProviderInfo(vendor, wire, NOWHERE, (), id)
    found = catalog.find(vendor, id) or Model(id, vendor, reasoning=True)
    return catalog.completed(found, info, info.base_url, wire)


def _without(words: tuple[str, ...], body: dict[str, Any]) -> dict[str, Any]:
    if not words:
        return body
    body = deepcopy(body)
    for place in (body, *body["messages"]):
        for word in words:
            place.pop(word, None)
    return body
