"""Any Responses API as a provider: OpenAI's own, and those of others who speak like it."""

from msgspec import Struct

from linnet.providers.base import Request
from linnet.providers.endpoint import Endpoint
from linnet.providers.http.call import HttpCall
from linnet.providers.http.client import HttpClient
from linnet.providers.http.sse import EventSplitter
from linnet.providers.http.urls import endpoint as address
from linnet.providers.http_provider import Framing, HttpProvider
from linnet.providers.http_provider import Reader as AnyReader
from linnet.providers.openai_responses.quirks import Quirks
from linnet.providers.openai_responses.request import Writer, quirks_of
from linnet.providers.openai_responses.response import Reader

__all__ = ["Quirks", "opened"]


class _Responses(Struct):
    provider: str
    path: str
    writer: Writer

    def exchange(self, request: Request) -> tuple[HttpCall, AnyReader]:
        headers = dict(request.model.headers)
        if (name := quirks_of(request.model).sends_session_id) and request.session:
            headers[name] = request.session
        return HttpCall(self.path, headers, self.writer.write(request)), Reader(self.provider)

    def framing(self, limit: int) -> Framing:
        return EventSplitter(limit)


def opened(endpoint: Endpoint) -> HttpProvider:
    """Return the provider for a server that speaks this API. Raises ConfigError."""
    headers = {**endpoint.credentials("Authorization", "Bearer"), **endpoint.headers}
    url = address(endpoint.base_url, "v1", endpoint.path or "responses")
    client = HttpClient(endpoint.provider, url, headers, endpoint.timeouts)
    return HttpProvider(endpoint, client, _Responses(endpoint.provider, client.url.path, Writer(endpoint.names)))
