"""Finds extensions and loads them, whatever they are written in. What cannot be loaded is told, and stops no other."""

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from linnet.core.cancel import Cancel
from linnet.core.slash import Location
from linnet.extensions.chain import explained
from linnet.extensions.host import Host
from linnet.extensions.installed import Installed
from linnet.logs import warn

if TYPE_CHECKING:
    from linnet.extensions.extension import Extension

MANIFEST = "extension.json"
MODULES = "linnet_extension_"  # What the names of their modules begin with, if they are in Python.
NOT_OURS = "linnet runs extensions in Python, and programs with an extension.json; {} is neither"
MISSING = "there is no such file or folder"


class FoundExtensions(Struct, frozen=True):
    """Somewhere that an extension should be: a file or a folder, or the module of an installed package."""

    path: str
    location: Location
    entry: Installed | None = None

    @property
    def named(self) -> bool:
        """Whether somebody asked for this one: then nothing goes on without it."""
        return self.location == "path"


class LoadedExtensions(Struct, frozen=True):
    """`failures`: a path, and why there is no extension. `missing` are those of them that were named."""

    extensions: Sequence["Extension"]
    failures: Sequence[tuple[str, str]]
    missing: Sequence[tuple[str, str]] = ()


def listed(folder: str) -> list[str]:
    """What is an extension in a folder of extensions, by name. Nothing is read; a folder that is not there is empty."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [path for name in names if _is_extension(path := os.path.join(folder, name))]


def found(
    named: Sequence[str],
    folders: Sequence[tuple[str | None, Location]],
    packages: Sequence[Installed] = (),
    zots: Sequence[tuple[str, Location]] = (),
) -> list[FoundExtensions]:
    """Those that were named, then those of each folder, of zot's folders and of installed packages; each once."""
    everything = [
        *(FoundExtensions(path, "path") for path in named),
        *(FoundExtensions(path, location) for folder, location in folders if folder for path in listed(folder)),
    ]
    if zots:
        from linnet.extensions.programs import discovery

        everything += [FoundExtensions(path, location) for folder, location in zots for path in discovery.zots(folder)]
    once: dict[str, FoundExtensions] = {}
    for each in everything:
        once.setdefault(os.path.realpath(each.path), each)
    return [*once.values(), *(FoundExtensions(each.module, "user", each) for each in packages)]


def load(
    places: Sequence[FoundExtensions], host: Host, patience: float, wait: float, hook_timeout: float, hurry: Cancel
) -> LoadedExtensions:
    """All of them, in their order; programs are begun first, for they get ready side by side. One that takes longer
    than `patience` seconds, or `wait` if it was named, is left out; once `hurry` is set, none is waited for that can
    join later. `hook_timeout`: seconds that each of their handlers has for an event.
    """
    programs = [place for place in places if _is_program(place)]
    begun: list[Extension] = []
    failures: list[tuple[str, str]] = []
    if programs:
        from linnet.extensions.programs import loading

        begun, failures = loading.load(programs, host, wait)
    names = {extension.name for extension in begun}
    for place in places:
        if place not in programs:
            try:
                most = wait if place.named else patience
                begun.append(_load(place, _unique(place, names), host, most, hook_timeout))
                names.add(begun[-1].name)
            except Exception as fault:
                failures.append((place.path, explained(fault)))
    order = {place.path: at for at, place in enumerate(places)}
    begun.sort(key=lambda extension: order.get(extension.path, len(order)))
    ready: list[Extension] = []
    for extension in begun:
        try:
            extension.wait_ready(max(patience, wait), hurry)
        except Exception as fault:
            failures.append((extension.path, explained(fault)))
            extension.close(0)
        else:
            ready.append(extension)
    named = {place.path for place in places if place.named}
    missing = [(path, why) for path, why in failures if path in named]
    return LoadedExtensions(ready, [*failures, *_conflicts(ready)], missing)


def _load(place: FoundExtensions, name: str, host: Host, patience: float, hook_timeout: float) -> "Extension":
    path = place.path
    if place.entry is not None or path.endswith(".py") or os.path.isfile(os.path.join(path, "__init__.py")):
        from linnet.extensions.python import loading

        return loading.load(place, name, host, patience, hook_timeout)
    raise ValueError(NOT_OURS.format(os.path.basename(path)) if os.path.exists(path) else MISSING)


def _is_program(place: FoundExtensions) -> bool:
    return place.entry is None and os.path.isfile(os.path.join(place.path, MANIFEST))


def _is_extension(path: str) -> bool:
    name = os.path.basename(path)
    if name.startswith((".", "_")):
        return False
    if os.path.isdir(path):
        return any(os.path.isfile(os.path.join(path, each)) for each in ("__init__.py", MANIFEST))
    return name.endswith(".py")


def _unique(place: FoundExtensions, taken: set[str]) -> str:
    stem = place.entry.name if place.entry is not None else os.path.basename(place.path).removesuffix(".py")
    return next(name for name in _numbered(stem) if name not in taken)


def _numbered(stem: str) -> Iterator[str]:
    yield stem
    number = 2
    while True:
        yield f"{stem}-{number}"
        number += 1


def _conflicts(extensions: Sequence["Extension"]) -> Iterator[tuple[str, str]]:
    """Tools and commands that cannot be had, since another one came first."""
    owners: dict[str, str] = {}
    for extension in extensions:
        tools = () if extension.tools is None else extension.tools.specs
        for what in (*(f'Tool "{tool.name}"' for tool in tools), *(f'Command "/{c.name}"' for c in extension.commands)):
            if owners.setdefault(what, extension.path) != extension.path:
                yield extension.path, f"{what} conflicts with {owners[what]}, which came first"


def tell_failure(path: str, error: str) -> None:
    """Without a handler of the program's own, this is a line on stderr."""
    from linnet.core.text.terminal_text import one_line

    warn("linnet.extensions", f"extension load: {one_line(path)}: {error}")
