"""Extensions of installed packages, by their entry points in the group `linnet.extensions`."""

from collections.abc import Iterable

from msgspec import Struct

GROUP = "linnet.extensions"


class Installed(Struct, frozen=True):
    """`module` has the function that `function` names, which is called `extend` unless somebody says otherwise."""

    name: str
    module: str
    function: str = "extend"


def installed(texts: Iterable[str]) -> list[Installed]:
    """What files of entry points say of our group; of a name that two have, the first one's."""
    found: dict[str, Installed] = {}
    for text in texts:
        for entry in _parsed(text):
            found.setdefault(entry.name, entry)
    return list(found.values())


def _parsed(text: str) -> list[Installed]:
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
