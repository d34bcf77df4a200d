"""Google's models on Vertex AI as a provider: the same API at another address, for other credentials."""

from linnet.providers.endpoint import Endpoint
from linnet.providers.google.api import GenerateContent
from linnet.providers.google.cloud import cloud
from linnet.providers.google.quirks import Quirks
from linnet.providers.google.request import Writer
from linnet.providers.http_provider import HttpProvider

__all__ = ["Quirks", "opened"]


def opened(endpoint: Endpoint) -> HttpProvider:
    """Return the provider for Google's models on Vertex AI. Raises ConfigError."""
    place = cloud(endpoint)
    api = GenerateContent(endpoint.provider, f"{place.parent}/publishers/google/models", Writer())
    return HttpProvider(place.endpoint, place.client, api, place.authorize, api.resumed)
