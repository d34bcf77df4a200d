"""Starts extensions that are programs."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from linnet.extensions.programs.discovery import chosen
from linnet.extensions.programs.exchange import Patience
from linnet.extensions.programs.log import ExtensionLog
from linnet.extensions.programs.program import Program

if TYPE_CHECKING:
    from linnet.extensions.extension import Extension
    from linnet.extensions.host import Host
    from linnet.extensions.loader import FoundExtensions


def load(
    places: Sequence["FoundExtensions"], host: "Host", wait: float
) -> tuple[list["Extension"], list[tuple[str, str]]]:
    """Start the programs in these places. Return those that were started, which may not be ready yet; and a path, and
    why not, for each other. One that was named has `wait` seconds to say hello.
    """
    found, failed = chosen((place.path, place.location) for place in places)
    begun: list[Extension] = []
    for each in found:
        log = ExtensionLog(os.path.join(host.home, "logs", f"ext-{each.manifest.name}.log"))
        named = each.location == "path"
        patience = Patience(ready=wait) if named else Patience()
        program = Program(each.manifest, each.location, host, log, patience, required=named)
        program.start(host.processes)
        begun.append(program)
    return begun, failed
