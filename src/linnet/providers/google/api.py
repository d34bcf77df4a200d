"""Google's generateContent API as a provider, at Google's own address."""

import re

from msgspec import Struct

from linnet.providers.base import Request
from linnet.providers.endpoint import Endpoint
from linnet.providers.google.quirks import Quirks
from linnet.providers.google.request import Writer, renamed
from linnet.providers.google.response import Reader
from linnet.providers.http.call import HttpCall
from linnet.providers.http.client import HttpClient
from linnet.providers.http.sse import EventSplitter
from linnet.providers.http.urls import endpoint as address
from linnet.providers.http_provider import Framing, HttpProvider
from linnet.providers.http_provider import Reader as AnyReader

__all__ = ["GenerateContent", "Quirks", "opened", "quoted"]
_PLAIN = re.compile(r"[A-Za-z0-9._@-]*")


class GenerateContent(Struct):
    """The API, with all models under one path."""

    provider: str
    models: str
    writer: Writer

    def exchange(self, request: Request) -> tuple[HttpCall, AnyReader]:
        return self._call(request), Reader(self.provider, len(request.messages), renamed(request.tools))

    def resumed(self, request: Request, reader: AnyReader) -> HttpCall | None:
        """Return what asks for the rest of a reply; None if it is whole."""
        token = reader.go_on() if isinstance(reader, Reader) else ""
        return self._call(request, token) if token else None

    def framing(self, limit: int) -> Framing:
        return EventSplitter(limit)

    def _call(self, request: Request, token: str = "") -> HttpCall:
        model = request.model
        path = f"{self.models}/{quoted(model.id.removeprefix('models/'))}:streamGenerateContent?alt=sse"
        return HttpCall(path, model.headers, self.writer.write(request, token))


def quoted(model: str) -> str:
    """Return a model's id as one step of a path."""
    if _PLAIN.fullmatch(model):
        return model
    from urllib.parse import quote  # Only odd ids should pay for it.

    return quote(model, safe="@", errors="replace")


def opened(endpoint: Endpoint) -> HttpProvider:
    """Return the provider for a server that speaks this API. Raises ConfigError."""
    headers = {**endpoint.credentials("x-goog-api-key"), **endpoint.headers}
    client = HttpClient(endpoint.provider, address(endpoint.base_url, "v1beta", "models"), headers, endpoint.timeouts)
    api = GenerateContent(endpoint.provider, client.url.path, Writer())
    return HttpProvider(endpoint, client, api, resume=api.resumed)
