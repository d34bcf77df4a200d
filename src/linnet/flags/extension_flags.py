"""Parses flags that extensions have registered. Used only where the command line has one that linnet does not know."""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from linnet.errors import LinnetError
from linnet.flags.flags import Flag, Flags, Program, parse

if TYPE_CHECKING:
    from linnet.core.slash import Location


def parse_with_extensions(argv: Sequence[str], program: Program) -> Flags:
    """Return what `parse` does, with the flags of all extensions besides, which are loaded for this.

    They are loaded once more for the session. Raises UsageError for a flag that nobody knows.
    """
    try:
        known = _registered(parse(argv, program, tolerant=True))
    except LinnetError:
        known = {}
    own = program.by_name()
    flags = tuple(_flag(name, *said) for name, said in known.items() if f"--{name}" not in own)
    parsed = parse(argv, replace(program, flags=(*program.flags, *flags)))
    if given := parsed.config.pop("extension_flags", None):
        parsed.config["extension_flags"] = dict(given)
    return parsed


def _registered(flags: Flags) -> dict[str, tuple[str, Any]]:
    """Return the flags of every extension that can be loaded: a description and a default by name."""
    from linnet.extensions.installed import installed
    from linnet.extensions.loader import found
    from linnet.extensions.node.places import entries
    from linnet.extensions.python.loading import register
    from linnet.runtime.config.config import Config
    from linnet.runtime.extensions.session_extensions import PATIENCE, extension_folders
    from linnet.runtime.project.project import Project
    from linnet.runtime.settings.folders import home_folder, work_folder
    from linnet.runtime.settings.packages import EXTENSIONS, entry_points

    config = Config(**flags.config)
    home, cwd = home_folder(os.environ), work_folder(config.cwd)
    named = [os.path.abspath(os.path.expanduser(path)) for path in config.extensions or ()]
    folders = (
        []
        if config.find_extensions is False
        else extension_folders(home, Project(cwd, trusted=bool(config.trust)).resources)
    )
    known: dict[str, tuple[str, Any]] = {}
    scripts: list[str] = []
    packages = () if config.find_extensions is False else installed(entry_points(EXTENSIONS))
    for place in found(named, folders, packages, (), _pi_folders(flags, config, cwd)):
        if place.entry is None and (files := entries(place.path)):
            scripts += files
            continue
        try:
            known.update(register(place, os.path.basename(place.path), {}, home, cwd, PATIENCE).flags)
        except (LinnetError, TimeoutError):
            continue  # The session will say so.
    if scripts:
        from linnet.extensions.node.flag_reading import registered

        known.update(registered(scripts, cwd, os.environ, PATIENCE))
    return known


def _pi_folders(flags: Flags, config: Any, cwd: str) -> "list[tuple[str, Location]]":
    """Return the folders in which pi would look for extensions, if it is pi that this stands in for."""
    if flags.stands_in_for != "pi" or config.find_extensions is False:
        return []
    from linnet.runtime.project.resource_folders import peer_home

    user: list[tuple[str, Location]] = [(peer_home("pi", os.environ), "user")]
    return [(os.path.join(cwd, ".pi"), "project"), *user] if config.trust else user


def _flag(name: str, description: str, default: Any) -> Flag:
    """Return the flag, which takes a word unless its default is False."""
    field = "extension_flags"
    if default is False:
        return Flag((f"--{name}",), field, description, value=[(name, True)], repeatable=True)
    return Flag((f"--{name}",), field, description, _reading(name, default), "VALUE", repeatable=True)


def _reading(name: str, default: Any) -> Callable[[str], list[tuple[str, Any]]]:
    """Return a function that reads the flag's word: as a whole number if the default is one, else as text."""

    def read(word: str) -> list[tuple[str, Any]]:
        if isinstance(default, int):
            try:
                return [(name, int(word))]
            except ValueError:
                raise ValueError("a whole number") from None
        return [(name, word)]

    return read
