"""Reads the manifests of extensions that are programs, and chooses which of them are started."""

import os
from collections.abc import Iterable

from msgspec import Struct

from linnet.core.slash import Location
from linnet.errors import ConfigError
from linnet.extensions.programs.manifest import FILE, Manifest, parse
from linnet.files.reading import required

DISABLED = 'it is disabled: its extension.json says "enabled": false'


class ChosenPrograms(Struct, frozen=True):
    """One program to start."""

    manifest: Manifest
    location: Location


def chosen(places: Iterable[tuple[str, Location]]) -> tuple[list[ChosenPrograms], list[tuple[str, str]]]:
    """Return the programs to start, of those in these folders; and a folder, and why not, for each that cannot be.

    One that is disabled is left out, unless it was named: then that is told. A folder of the project hides one of the
    user's that has the same name, also if it is disabled; an extension that was named by its path hides others that
    have the same name in their manifests. Two that are left with one name are a mistake: the first one counts, and the
    other is told of.
    """
    found: dict[str, ChosenPrograms] = {}
    failed: list[tuple[str, str]] = []
    seen: dict[str, str] = {}
    for folder, location in places:
        if location != "path" and seen.setdefault(os.path.basename(folder), location) != location:
            continue
        try:
            manifest = load(folder)
        except ConfigError as error:
            failed.append((folder, str(error)))
            continue
        if not manifest.enabled:
            if location == "path":
                failed.append((folder, DISABLED))
            continue
        owner = found.setdefault(manifest.name, ChosenPrograms(manifest, location))
        if owner.manifest is not manifest and (owner.location != "path" or location == "path"):
            failed.append((folder, f'the name "{manifest.name}" is taken by {owner.manifest.folder}'))
    return list(found.values()), failed


def load(folder: str) -> Manifest:
    """Return the manifest in this folder. Raises ConfigError with a sentence."""
    try:
        data = required(os.path.join(folder, FILE))
    except ConfigError as error:
        raise ConfigError(f"read manifest: {error}") from None
    return parse(data, folder)


def zots(folder: str) -> list[str]:
    """Return what zot would start of a folder of extensions: every folder in it that is no link, by name."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []
