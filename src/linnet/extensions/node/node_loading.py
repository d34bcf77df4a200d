"""Starts the host for the extensions for pi that were found."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from linnet.extensions.node.carrier import Carrier
from linnet.extensions.programs.log import ExtensionLog

if TYPE_CHECKING:
    from linnet.extensions.extension import Extension
    from linnet.extensions.host import PiHost
    from linnet.extensions.loader import FoundExtensions


def load(
    places: Sequence["FoundExtensions"], host: "PiHost", hook_timeout: float, taken: set[str]
) -> list["Extension"]:
    """Return the extensions in these files, which may not be ready yet, with names that nobody has."""
    log = ExtensionLog(os.path.join(host.home, "logs", "ext-node.log"))
    named = [(_unique(place.path, taken), place.path, place.location) for place in places]
    carrier = Carrier(named, host, log, hook_timeout)
    carrier.start(os.environ)
    return list(carrier.extensions)


def _unique(path: str, taken: set[str]) -> str:
    """Return a name for an extension, made of its file's or its folder's, and take it."""
    stem, _ = os.path.splitext(os.path.basename(path))
    if stem == "index":
        stem = os.path.basename(os.path.dirname(path)) or stem
    name, number = stem, 2
    while name in taken:
        name, number = f"{stem}-{number}", number + 1
    taken.add(name)
    return name
