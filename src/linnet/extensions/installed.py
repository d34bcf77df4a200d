"""Extensions of installed packages, by their entry points in the group `linnet.extensions`.

`importlib.metadata` says the same after fifty milliseconds; to look for the files themselves takes one.
"""

import os
import sys
from functools import cache

from msgspec import Struct

GROUP = "linnet.extensions"


class Installed(Struct, frozen=True):
    """`module` has the function `extend`, or the one that `function` names."""

    name: str
    module: str
    function: str


@cache
def installed() -> tuple[Installed, ...]:
    """Those of all packages on the path, looked up once in the life of the process."""
    found: dict[str, Installed] = {}
    for folder in sys.path:
        try:
            names = sorted(os.listdir(folder or "."))
        except OSError:
            continue
        for name in names:
            if name.endswith((".dist-info", ".egg-info")):
                for entry in _entries(os.path.join(folder, name, "entry_points.txt")):
                    found.setdefault(entry.name, entry)
    return tuple(found.values())


def parsed(text: str) -> list[Installed]:
    """The entries of our group in a file of entry points."""
    entries: list[Installed] = []
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            group = line.strip("[] ")
        elif group == GROUP and "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            module, _, function = value.partition("[")[0].strip().partition(":")
            entries.append(Installed(name.strip(), module.strip(), function.strip() or "extend"))
    return entries


def _entries(path: str) -> list[Installed]:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeError):
        return []
    return parsed(text) if GROUP in text else []
