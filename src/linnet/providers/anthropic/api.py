"""Anthropic's Messages API as a provider."""

from collections.abc import Callable

from msgspec import Struct

from linnet.core.models import Model
from linnet.providers.anthropic.request import Quirks, Writer
from linnet.providers.anthropic.response import Reader
from linnet.providers.base import Request
from linnet.providers.endpoint import Endpoint
from linnet.providers.http.call import HttpCall
from linnet.providers.http.client import HttpClient
from linnet.providers.http.sse import EventSplitter
from linnet.providers.http.urls import endpoint as address
from linnet.providers.http_provider import Framing, HttpProvider
from linnet.providers.http_provider import Reader as AnyReader

__all__ = ["Messages", "Quirks", "opened"]
VERSION = "2023-06-01"


class Messages(Struct):
    """Writes a request of the Messages API and reads its reply, at whichever path a model is asked."""

    provider: str
    path: Callable[[Model], str]
    writer: Writer

    def exchange(self, request: Request) -> tuple[HttpCall, AnyReader]:
        written = self.writer.write(request)
        call = HttpCall(self.path(request.model), {**written.headers, **request.model.headers}, written.body)
        return call, Reader(self.provider, written.bound)

    def framing(self, limit: int) -> Framing:
        return EventSplitter(limit)


def opened(endpoint: Endpoint) -> HttpProvider:
    """Return the provider for a server that speaks this API. Raises ConfigError."""
    headers = {"anthropic-version": VERSION, **endpoint.credentials("x-api-key"), **endpoint.headers}
    base = endpoint.base_url.strip().rstrip("/").removesuffix("/messages").removesuffix("/v1")
    client = HttpClient(endpoint.provider, address(f"{base}/v1", "v1", "messages"), headers, endpoint.timeouts)
    return HttpProvider(endpoint, client, Messages(endpoint.provider, lambda _: client.url.path, Writer()))
