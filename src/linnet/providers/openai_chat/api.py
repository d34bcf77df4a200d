"""Any Chat Completions API as a provider: OpenAI's own, and those of others who speak like it."""

from collections.abc import Mapping

from msgspec import Struct

from linnet.providers.base import Request
from linnet.providers.endpoint import Endpoint
from linnet.providers.http.call import HttpCall
from linnet.providers.http.client import HttpClient
from linnet.providers.http.sse import EventSplitter
from linnet.providers.http.urls import endpoint as address
from linnet.providers.http_provider import Framing, HttpProvider
from linnet.providers.http_provider import Reader as AnyReader
from linnet.providers.openai_chat.quirks import Quirks
from linnet.providers.openai_chat.request import Writer, quirks_of
from linnet.providers.openai_chat.response import Reader

__all__ = ["Quirks", "opened"]


class _Chat(Struct):
    provider: str
    path: str
    writer: Writer
    names: Mapping[str, str]

    def exchange(self, request: Request) -> tuple[HttpCall, AnyReader]:
        quirks = quirks_of(request.model)
        headers = {**request.model.headers, **quirks.session_headers(request.session)}
        path = self.path
        if "{model}" in path:
            from urllib.parse import quote  # 3 ms that only few servers should pay for

            path = path.replace("{model}", quote(self.names.get(request.model.id, request.model.id), safe=""))
        call = HttpCall(path, headers, self.writer.write(request))
        return call, Reader(self.provider, len(request.messages), says_why=quirks.supports_finish_reason)

    def framing(self, limit: int) -> Framing:
        return EventSplitter(limit)


def opened(endpoint: Endpoint) -> HttpProvider:
    """Return the provider for a server that speaks this API. Raises ConfigError."""
    headers = {**endpoint.credentials("Authorization", "Bearer"), **endpoint.headers}
    url = address(endpoint.base_url, "v1", endpoint.path or "chat/completions")
    client = HttpClient(endpoint.provider, url, headers, endpoint.timeouts)
    api = _Chat(endpoint.provider, client.url.path, Writer(endpoint.names), endpoint.names)
    return HttpProvider(endpoint, client, api)
