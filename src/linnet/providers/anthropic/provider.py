"""Anthropic's Messages API as a provider."""

from linnet.providers.anthropic.request import write
from linnet.providers.anthropic.response import Reader
from linnet.providers.http.client import HttpClient, Timeouts
from linnet.providers.http.urls import endpoint
from linnet.providers.http_provider import HttpProvider

VERSION = "2023-06-01"


def anthropic(name: str, api_key: str, base_url: str, timeouts: Timeouts | None = None) -> HttpProvider:
    """Return the provider for a server that speaks this API. Raises ConfigError."""
    headers = {"x-api-key": api_key, "anthropic-version": VERSION}
    base = base_url.strip().rstrip("/").removesuffix("/v1")
    client = HttpClient(name, endpoint(f"{base}/v1", "v1", "messages"), headers, timeouts)
    return HttpProvider(client, write, lambda _: Reader(name))
