"""Finds extensions and loads them, whatever they are written in. One that cannot be loaded stops no other."""

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from linnet.core.cancel import Cancel
from linnet.core.slash import Location
from linnet.extensions.chain import explained
from linnet.extensions.host import Host, PiHost
from linnet.extensions.installed import Installed
from linnet.extensions.node.places import SCRIPTS
from linnet.logs import warn

if TYPE_CHECKING:
    from linnet.extensions.extension import Extension

MANIFEST = "extension.json"
MODULES = "linnet_extension_"  # What the names of modules of extensions in Python begin with.
NOT_OURS = "linnet runs extensions in Python, those written for pi, and programs with an extension.json; {} is none"
MISSING = "there is no such file or folder"


class FoundExtensions(Struct, frozen=True):
    """One place where an extension should be: a file or a folder, or the module of an installed package."""

    path: str
    location: Location
    entry: Installed | None = None
    """The entry point, if it is of an installed package."""

    @property
    def named(self) -> bool:
        """Whether somebody asked for this one by its path: then nothing goes on without it."""
        return self.location == "path"


class LoadedExtensions(Struct, frozen=True):
    """What came of loading."""

    extensions: Sequence["Extension"]
    failures: Sequence[tuple[str, str]]
    """A path, and why there is no extension, or not all of it."""
    missing: Sequence[tuple[str, str]] = ()
    """Those of the failures whose extension was named."""


def listed(folder: str) -> list[str]:
    """Return the paths in a folder that look like extensions, by name; none if there is no such folder. Reads none."""
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
    pis: Sequence[tuple[str, Location]] = (),
) -> list[FoundExtensions]:
    """Return the extensions that were named, then those of each folder, of zot's folders, those that pi would load of
    its own folders `pis`, and those of packages; each once.
    """
    everything = [
        *(FoundExtensions(path, "path") for path in named),
        *(FoundExtensions(path, location) for folder, location in folders if folder for path in listed(folder)),
    ]
    if zots:
        from linnet.extensions.programs import discovery

        everything += [FoundExtensions(path, location) for folder, location in zots for path in discovery.zots(folder)]
    if pis:
        from linnet.extensions.node import pi_folders

        everything += [FoundExtensions(path, location) for path, location in pi_folders.found(pis)]
    once: dict[str, FoundExtensions] = {}
    for each in everything:
        once.setdefault(os.path.realpath(each.path), each)
    return [*once.values(), *(FoundExtensions(each.module, "user", each) for each in packages)]


def load(
    places: Sequence[FoundExtensions], host: PiHost, patience: float, wait: float, hook_timeout: float, hurry: Cancel
) -> LoadedExtensions:
    """Load all of them, in their order; programs are started first, for they get ready side by side.

    One that takes longer than `patience` seconds, or `wait` if it was named, is left out; once `hurry` is set, none is
    waited for that can join later. `hook_timeout` are the seconds that each of their handlers has for an event.
    """
    places = [each for place in places for each in _expanded(place)]
    programs = [place for place in places if _is_program(place)]
    for_pi = [place for place in places if _is_for_pi(place)]
    begun: list[Extension] = []
    failures: list[tuple[str, str]] = []
    if programs:
        from linnet.extensions.programs import loading

        begun, failures = loading.load(programs, host, wait)
    names = {extension.name for extension in begun}
    if for_pi:
        from linnet.extensions.node import node_loading

        begun += node_loading.load(for_pi, host, hook_timeout, names)
    for place in places:
        if place not in programs and place not in for_pi:
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
    """Load one that is no program. Raises whatever keeps it from being loaded."""
    path = place.path
    if place.entry is not None or path.endswith(".py") or os.path.isfile(os.path.join(path, "__init__.py")):
        from linnet.extensions.python import loading

        return loading.load(place, name, host, patience, hook_timeout)
    raise ValueError(NOT_OURS.format(os.path.basename(path)) if os.path.exists(path) else MISSING)


def _is_program(place: FoundExtensions) -> bool:
    """Return whether a place has a manifest."""
    return place.entry is None and os.path.isfile(os.path.join(place.path, MANIFEST))


def _expanded(place: FoundExtensions) -> list[FoundExtensions]:
    """Return the files of an extension for pi, which may have several; or the place itself."""
    if place.entry is not None or not may_be_for_pi(place.path) or _is_program(place):
        return [place]
    from linnet.extensions.node.places import entries

    return [FoundExtensions(path, place.location) for path in entries(place.path)] or [place]


def _is_for_pi(place: FoundExtensions) -> bool:
    """Return whether a place, once expanded, is a file of an extension for pi."""
    return place.entry is None and place.path.endswith(SCRIPTS) and os.path.isfile(place.path)


def may_be_for_pi(path: str) -> bool:
    """Return whether a path may be that of an extension for pi: a script, or a folder that is no package in Python."""
    return path.endswith(SCRIPTS) or (os.path.isdir(path) and not os.path.isfile(os.path.join(path, "__init__.py")))


def _is_extension(path: str) -> bool:
    """Return whether something in a folder of extensions looks like one."""
    name = os.path.basename(path)
    if name.startswith((".", "_")):
        return False
    if os.path.isdir(path):
        return any(os.path.isfile(os.path.join(path, each)) for each in ("__init__.py", MANIFEST))
    return name.endswith(".py")


def _unique(place: FoundExtensions, taken: set[str]) -> str:
    """Return a name for an extension that is not taken."""
    stem = place.entry.name if place.entry is not None else os.path.basename(place.path).removesuffix(".py")
    return next(name for name in _numbered(stem) if name not in taken)


def _numbered(stem: str) -> Iterator[str]:
    """Yield a name, and the same with 2, 3 and so on."""
    yield stem
    number = 2
    while True:
        yield f"{stem}-{number}"
        number += 1


def _conflicts(extensions: Sequence["Extension"]) -> Iterator[tuple[str, str]]:
    """Yield the path of an extension, and a sentence, for each tool and command that another one had first."""
    owners: dict[str, str] = {}
    for extension in extensions:
        tools = () if extension.tools is None else extension.tools.specs
        for what in (*(f'Tool "{tool.name}"' for tool in tools), *(f'Command "/{c.name}"' for c in extension.commands)):
            if owners.setdefault(what, extension.path) != extension.path:
                yield extension.path, f"{what} conflicts with {owners[what]}, which came first"


def tell_failure(path: str, error: str) -> None:
    """Log that an extension could not be loaded; without a handler of the program's own, this is a line on stderr."""
    from linnet.core.text.terminal_text import one_line

    warn("linnet.extensions", f"extension load: {one_line(path)}: {error}")
