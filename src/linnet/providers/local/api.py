"""Models on this machine as a row of the table of APIs."""

from msgspec import Struct

from linnet.providers.endpoint import Endpoint
from linnet.providers.local.provider import Local
from linnet.providers.local.weights import checked

__all__ = ["Quirks", "checked", "opened"]


class Quirks(Struct, frozen=True, forbid_unknown_fields=True):
    """There are none: what differs is in the model's file."""


def opened(endpoint: Endpoint) -> Local:
    """Return the provider. Nothing is loaded yet."""
    return Local()
