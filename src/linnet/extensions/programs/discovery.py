"""Where extensions that are programs are found, and which of them count."""

import os
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from linnet.errors import ConfigError
from linnet.extensions.programs.manifest import FILE, Manifest, parse

Location: TypeAlias = Literal["user", "project", "path"]


class Place(Struct, frozen=True):
    """A folder of extensions. `zots`: it is zot's, and by its rules a link is skipped and every folder must have a
    manifest; in a folder of linnet's, one without may be a Python package.
    """

    folder: str
    location: Location
    zots: bool = False


class Found(Struct, frozen=True):
    manifest: Manifest
    location: Location


class Failed(Struct, frozen=True):
    """`why` is a sentence for whoever put the extension there."""

    folder: str
    why: str


def is_program(folder: str) -> bool:
    """Whether this is the folder of an extension that is a program."""
    return os.path.exists(os.path.join(folder, FILE))


def discovered(named: Iterable[str], places: Sequence[Place]) -> tuple[list[Found], list[Failed]]:
    """Return the extensions to start and those that cannot be: the ones that were `named` by their folders, then those
    of each place, sorted by the names of their folders.

    One that is disabled is left out. A folder's name in one place hides the same name in later ones; an extension that
    was named hides others that have the same name in their manifests. Two that are left with one name are a mistake:
    the first one counts, and the other is told of.
    """
    found: list[Found] = []
    failed: list[Failed] = []
    owners: dict[str, Found] = {}

    def take(folder: str, location: Location) -> None:
        try:
            manifest = load(folder)
        except ConfigError as error:
            failed.append(Failed(folder, str(error)))
            return
        if not manifest.enabled:
            return
        owner = owners.get(manifest.name)
        if owner is None:
            owners[manifest.name] = Found(manifest, location)
            found.append(owners[manifest.name])
        elif owner.manifest.folder != folder and (owner.location != "path" or location == "path"):
            failed.append(Failed(folder, f'the name "{manifest.name}" is taken by {owner.manifest.folder}'))

    for folder in named:
        take(os.path.abspath(os.path.expanduser(folder)), "path")
    seen: set[str] = set()
    for place in places:
        names = [name for name in _folders(place) if name not in seen]
        seen.update(names)
        for name in names:
            take(os.path.join(place.folder, name), place.location)
    return found, failed


def load(folder: str) -> Manifest:
    """Return the manifest in this folder. Raises ConfigError with a sentence."""
    path = os.path.join(folder, FILE)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(f"read manifest: {path} cannot be read: {reason}") from None
    return parse(data, folder)


def _folders(place: Place) -> list[str]:
    try:
        with os.scandir(place.folder) as entries:
            return sorted(entry.name for entry in entries if _counts(entry, place))
    except OSError:
        return []


def _counts(entry: os.DirEntry[str], place: Place) -> bool:
    if place.zots:
        return entry.is_dir(follow_symlinks=False)
    return not entry.name.startswith(".") and entry.is_dir() and is_program(entry.path)
