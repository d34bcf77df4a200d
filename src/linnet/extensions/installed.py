"""Finds extensions of installed packages by their entry points in the group `linnet.extensions`. Pure."""

from collections.abc import Iterable

from msgspec import Struct

GROUP = "linnet.extensions"


class Installed(Struct, frozen=True):
    """An entry point."""

    name: str
    module: str
    function: str = "extend"
    """The function of the module to call."""


def installed(texts: Iterable[str]) -> list[Installed]:
    """Return the entry points of our group in these texts of `entry_points.txt`; of a name that two have, the first."""
    found: dict[str, Installed] = {}
    for text in texts:
        for entry in _parsed(text):
            found.setdefault(entry.name, entry)
    return list(found.values())


def _parsed(text: str) -> list[Installed]:
    """Return the entry points of our group in one text."""
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
