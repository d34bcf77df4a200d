"""Starts extensions that are programs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from linnet.extensions.host import Host

if TYPE_CHECKING:
    from linnet.extensions.extension import Extension
    from linnet.extensions.loader import Found

NOT_YET = "extensions that are programs are not run yet"


def load(places: Sequence["Found"], host: Host) -> tuple[list["Extension"], list[tuple[str, str]]]:
    """Those that were begun, which the caller waits for; and a path, and why not, for each other."""
    return [], [(place.path, NOT_YET) for place in places]
