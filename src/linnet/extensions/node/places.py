"""Recognizes extensions for pi: files in TypeScript or JavaScript, folders with an index, packages that name theirs."""

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from msgspec import DecodeError, json

from linnet.files.reading import contents

SCRIPTS = (".ts", ".js", ".mjs", ".cjs", ".mts", ".cts")
"""What extensions for pi are written in."""
INDEXES = ("index.ts", "index.js")
FOUND = (".ts", ".js")
"""What pi takes from its folders; others must be named."""


def entries(path: str) -> list[str]:
    """Return the files that an extension for pi consists of, at this file or folder; none if it is not one.

    A package that names its extensions has those; files that it names and that are not there are in the list, too.
    """
    if path.endswith(SCRIPTS):
        return [path]
    if not os.path.isdir(path):
        return []
    named = list(_of_package(path))
    if named:
        return named
    return next(([file] for index in INDEXES if os.path.isfile(file := os.path.join(path, index))), [])


def is_extension(path: str) -> bool:
    """Return whether a file or folder is an extension for pi."""
    return bool(entries(path))


def listed(folder: str) -> list[str]:
    """Return what pi loads of a folder of extensions, by name. Reads only manifests."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    paths = [os.path.join(folder, name) for name in names if not name.startswith(".")]
    return [path for path in paths if (path.endswith(FOUND) and os.path.isfile(path)) or _is_folder(path)]


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and is_extension(path)


def _of_package(folder: str) -> Iterator[str]:
    """Yield the files that the `pi` of a package.json names: files, folders of files, or patterns."""
    named = manifest(folder).get("extensions")
    for each in named if isinstance(named, list) else ():
        if isinstance(each, str) and not each.startswith("!"):
            yield from _expanded(os.path.normpath(os.path.join(folder, each)))


def _expanded(path: str) -> list[str]:
    if any(letter in path for letter in "*?["):
        from glob import glob

        return sorted(glob(path))
    if os.path.isdir(path):
        return entries_of_folder(path)
    return [path]


def entries_of_folder(folder: str) -> list[str]:
    """Return the file of a folder that is an extension; else those of all extensions in it."""
    own = next(([file] for index in INDEXES if os.path.isfile(file := os.path.join(folder, index))), [])
    return own or [file for path in listed(folder) for file in entries(path)]


def manifest(folder: str) -> dict[str, Any]:
    """Return the `pi` of a folder's package.json; an empty one if there is none that makes sense."""
    with suppress(OSError, DecodeError, UnicodeError):
        data = contents(os.path.join(folder, "package.json"))
        package = json.decode(data) if data else None
        if isinstance(package, dict) and isinstance(package.get("pi"), dict):
            return dict(package["pi"])
    return {}
