"""Anthropic's models on Vertex AI as a provider: the Messages API, with the model in the path."""

from linnet.providers.anthropic.api import Messages
from linnet.providers.anthropic.request import Quirks, Writer
from linnet.providers.endpoint import Endpoint
from linnet.providers.google.api import quoted
from linnet.providers.google.cloud import cloud
from linnet.providers.http_provider import HttpProvider

__all__ = ["Quirks", "opened"]
VERSION = "vertex-2023-10-16"


def opened(endpoint: Endpoint) -> HttpProvider:
    """Return the provider for Anthropic's models on Vertex AI. Raises ConfigError."""
    place = cloud(endpoint)
    models = f"{place.parent}/publishers/anthropic/models"
    api = Messages(endpoint.provider, lambda model: f"{models}/{quoted(model.id)}:streamRawPredict", Writer(VERSION))
    return HttpProvider(place.endpoint, place.client, api, place.authorize)
