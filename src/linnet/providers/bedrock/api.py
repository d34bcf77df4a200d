"""Bedrock's Converse API as a provider."""

from collections.abc import Iterator, Mapping, Sequence
from threading import Lock
from time import time
from urllib.parse import quote

from msgspec import Struct

from linnet.core.cancel import Cancel
from linnet.core.deltas import Delta
from linnet.errors import ConfigError, ProviderRejected
from linnet.providers.base import Request
from linnet.providers.bedrock.credentials import KeptCredentials, region
from linnet.providers.bedrock.event_stream import FrameSplitter
from linnet.providers.bedrock.quirks import Quirks
from linnet.providers.bedrock.request import Writer
from linnet.providers.bedrock.response import Reader
from linnet.providers.endpoint import Endpoint
from linnet.providers.http.call import HttpCall
from linnet.providers.http.client import HttpClient
from linnet.providers.http_provider import Framing, HttpProvider
from linnet.providers.http_provider import Reader as AnyReader

__all__ = ["Quirks", "opened"]
REGION = "{region}"
"""Stands in a base URL for the region that is asked."""
_SERVICE = "bedrock"
_TYPE = "application/json"
_ACCEPT = "application/vnd.amazon.eventstream"


class _Converse(Struct):
    provider: str
    path: str
    writer: Writer

    def exchange(self, request: Request) -> tuple[HttpCall, AnyReader]:
        written = self.writer.write(request)
        path = f"{self.path}/model/{quote(request.model.id, safe='', errors='replace')}/converse-stream"
        return HttpCall(path, request.model.headers, written.body), Reader(self.provider, written.bound)

    def framing(self, limit: int) -> Framing:
        return FrameSplitter(limit)


class _Signer(Struct):
    """Lets requests in that one region is asked."""

    endpoint: Endpoint
    kept: KeptCredentials
    region: str
    host: str
    own: bool
    """The address is one that somebody gave: it may want no credentials."""

    def __call__(self, call: HttpCall, cancel: Cancel) -> Mapping[str, str]:
        from linnet.providers.bedrock.lenders import Lenders
        from linnet.providers.bedrock.sigv4 import Scope, signed

        endpoint = self.endpoint
        lenders = Lenders(endpoint.provider, endpoint.environ, self.region, time, endpoint.run, endpoint.timeouts)
        try:
            credentials = self.kept.get(lenders, cancel)
        except ConfigError as error:
            raise ProviderRejected(endpoint.provider, str(error)) from None
        if credentials is None and self.own:
            return {}
        if credentials is None:
            raise ProviderRejected(endpoint.provider, "no AWS credentials were found, in variables or in ~/.aws")
        headers = {"Content-Type": _TYPE, **call.headers, "Host": self.host}
        return signed(call.method, call.path, headers, call.body, credentials, Scope(self.region, _SERVICE), time())


class Bedrock(HttpProvider):
    """Bedrock in one region. Asks the others too: each is a server of its own, and a model's id may say where it is."""

    def __init__(self, endpoint: Endpoint, region: str, kept: KeptCredentials) -> None:
        given = endpoint.base_url.strip().rstrip("/")
        if REGION in given:
            given = endpoint.environ.get("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "").strip().rstrip("/") or given
        own = REGION not in given
        address = given.replace(REGION, region)
        if not own and region.startswith("cn-"):
            address += ".cn"
        headers = {"Accept": _ACCEPT, **endpoint.credentials("Authorization", "Bearer"), **endpoint.headers}
        client = HttpClient(endpoint.provider, address, headers, endpoint.timeouts)
        api = _Converse(endpoint.provider, client.url.path.rstrip("/"), Writer())
        signer = None if endpoint.key else _Signer(endpoint, kept, region, client.url.authority, own)
        super().__init__(endpoint, client, api, signer)
        self._endpoint = endpoint
        self._kept = kept
        self._region = region
        self._lock = Lock()
        self._others: dict[str, Bedrock] = {}

    def stream(self, request: Request, cancel: Cancel) -> Iterator[Sequence[Delta]]:
        id = request.model.id
        try:
            asked = region(self._endpoint.environ, id) if id.startswith("arn:") else self._region
            if asked == self._region:
                return super().stream(request, cancel)
            with self._lock:
                if asked not in self._others:
                    self._others[asked] = Bedrock(self._endpoint, asked, self._kept)
                return self._others[asked].stream(request, cancel)
        except ConfigError as error:
            raise ProviderRejected(self.name, str(error)) from None

    def warm(self) -> None:
        from linnet.providers.bedrock import lenders  # noqa: F401

        super().warm()

    def close(self) -> None:
        super().close()
        with self._lock:
            others = list(self._others.values())
        for each in others:
            each.close()


def opened(endpoint: Endpoint) -> Bedrock:
    """Return the provider for Bedrock, or for a server that speaks its API. Raises ConfigError."""
    return Bedrock(endpoint, region(endpoint.environ), KeptCredentials(endpoint.environ))
