"""A provider that somebody else wrote in Python, as a row of the table of APIs."""

from msgspec import Struct

from linnet.providers.endpoint import Endpoint
from linnet.providers.program.contract import checked
from linnet.providers.program.provider import ProgramProvider


class Quirks(Struct, frozen=True, forbid_unknown_fields=True):
    """Whoever wrote it knows its models."""


def opened(endpoint: Endpoint) -> ProgramProvider:
    """Return the provider that was given. Raises ConfigError if it is none."""
    return ProgramProvider(checked(endpoint.given))
