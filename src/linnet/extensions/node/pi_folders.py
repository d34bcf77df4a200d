"""Finds the extensions that pi would load: those of its folders, of its settings, and of packages it installed."""

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import DecodeError, json

from linnet.core.slash import Location
from linnet.errors import ConfigError
from linnet.extensions.node.places import entries_of_folder, is_extension, listed, manifest
from linnet.files.reading import contents

SETTINGS = "settings.json"
FOLDER = "extensions"
_NPM = re.compile(r"npm:(?P<name>@?[^@]+)(?:@.+)?")
_GIT = re.compile(
    r"(?:git:|(?=https?://|ssh://|git@))(?:https?://|ssh://)?(?:[^@/]+@)?"
    r"(?P<host>[^/:@]+)[/:](?P<path>[^@#]+?)(?:\.git)?(?:[@#].+)?"
)


def may_have(folder: str) -> bool:
    """Return whether pi would look for extensions in this folder of its own, the user's or the project's."""
    settings = _settings(folder)
    return os.path.isdir(os.path.join(folder, FOLDER)) or bool(settings.get("extensions") or settings.get("packages"))


def found(folders: Sequence[tuple[str, Location]]) -> list[tuple[str, Location]]:
    """Return the files and folders that pi would load of these folders of its own."""
    return [(path, location) for folder, location in folders for path in _of(folder)]


def _of(folder: str) -> Iterator[str]:
    yield from listed(os.path.join(folder, FOLDER))
    settings = _settings(folder)
    for named in _words(settings.get("extensions")):
        yield os.path.normpath(os.path.join(folder, os.path.expanduser(named)))
    packages = settings.get("packages")
    for package in packages if isinstance(packages, list) else ():
        source = package.get("source") if isinstance(package, dict) else package
        wanted = package.get("extensions") if isinstance(package, dict) else None
        if isinstance(source, str) and wanted != []:
            yield from _of_package(installed_at(source, folder))


def installed_at(source: str, folder: str) -> str:
    """Return where pi has put a package that it installed for whoever has this folder."""
    if match := _NPM.fullmatch(source):
        return os.path.join(folder, "npm", "node_modules", match["name"])
    if match := _GIT.fullmatch(source):
        return os.path.join(folder, "git", match["host"], match["path"])
    return os.path.normpath(os.path.join(folder, os.path.expanduser(source)))


def _of_package(folder: str) -> list[str]:
    """Return the extensions of a package: those that it names, or else those of its folder `extensions`."""
    if manifest(folder).get("extensions") is not None or not os.path.isdir(os.path.join(folder, FOLDER)):
        return [folder] if is_extension(folder) else []
    return entries_of_folder(os.path.join(folder, FOLDER))


def _words(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str) and each] if isinstance(value, list) else []


def _settings(folder: str) -> dict[str, Any]:
    """Return pi's settings in a folder of its own; empty if there are none that make sense."""
    try:
        data = contents(os.path.join(folder, SETTINGS))
        found = json.decode(data) if data else None
    except (ConfigError, DecodeError, UnicodeError):
        return {}
    return found if isinstance(found, dict) else {}
