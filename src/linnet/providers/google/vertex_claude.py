"""Anthropic's models on Vertex AI as a provider: the Messages API, with the model in the path."""

from msgspec import Struct

from linnet.providers.anthropic.request import Quirks, Writer
from linnet.providers.anthropic.response import Reader
from linnet.providers.base import Request
from linnet.providers.endpoint import Endpoint
from linnet.providers.google.api import quoted
from linnet.providers.google.cloud import cloud
from linnet.providers.http.call import HttpCall
from linnet.providers.http.sse import EventSplitter
from linnet.providers.http_provider import Framing, HttpProvider
from linnet.providers.http_provider import Reader as AnyReader

__all__ = ["Quirks", "opened"]
VERSION = "vertex-2023-10-16"


class _RawPredict(Struct):
    provider: str
    models: str
    writer: Writer

    def exchange(self, request: Request) -> tuple[HttpCall, AnyReader]:
        written = self.writer.write(request)
        path = f"{self.models}/{quoted(request.model.id)}:streamRawPredict"
        call = HttpCall(path, {**written.headers, **request.model.headers}, written.body)
        return call, Reader(self.provider, written.bound)

    def framing(self, limit: int) -> Framing:
        return EventSplitter(limit)


def opened(endpoint: Endpoint) -> HttpProvider:
    """Return the provider for Anthropic's models on Vertex AI. Raises ConfigError."""
    place = cloud(endpoint)
    models = f"{place.parent}/publishers/anthropic/models"
    return HttpProvider(
        place.endpoint, place.client, _RawPredict(endpoint.provider, models, Writer(VERSION)), place.authorize
    )
