"""The scripted model as a row of the table of APIs."""

from msgspec import Struct

from linnet.providers.endpoint import Endpoint
from linnet.providers.scripted.provider import Scripted
from linnet.providers.scripted.script import built_in


class Quirks(Struct, frozen=True, forbid_unknown_fields=True):
    """A script has none."""


def opened(endpoint: Endpoint) -> Scripted:
    """Return the provider that plays the script it is given, or the one that is built in."""
    return Scripted(endpoint.given or built_in())
