"""How models of Google's API differ from each other. Those that nobody lists are taken to be of the newest kind."""

from msgspec import Struct

from linnet.core.models import Model
from linnet.decoding import converted


class Quirks(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What differs from model to model."""

    demands_signatures: bool = True
    """The first call of a reply is refused without a signature."""
    call_ids: bool = True
    """Calls and results have ids. Without them, the order says which result belongs to which call."""
    images_in_results: bool = True
    """A result may have images. Without that, they follow as the user's."""


def quirks_of(model: Model) -> Quirks:
    """Return how the model differs from others of this API."""
    return converted(dict(model.quirks), Quirks)
