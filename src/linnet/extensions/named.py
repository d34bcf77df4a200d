"""Checks, without running any, that extensions which somebody named can be started: nothing goes on without them."""

import os
from collections.abc import Iterator, Mapping, Sequence

from linnet.errors import ConfigError
from linnet.extensions.loader import MANIFEST, MISSING, NOT_OURS, may_be_for_pi

WITHOUT = 'Failed to load extension "{}": {}'


def check(paths: Sequence[str], environ: Mapping[str, str]) -> None:
    """Raise ConfigError for the first of these files and folders that cannot be an extension, or not be started."""
    for path, why in _problems(paths, environ):
        raise unusable(path, why)


def unusable(path: str, why: str) -> ConfigError:
    """Return the error of a named extension that cannot be used."""
    from linnet.core.text.printable import printable

    return ConfigError(WITHOUT.format(printable(path), printable(why)))


def _problems(paths: Sequence[str], environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield a path, and what is wrong, for each that cannot be used."""
    programs = [path for path in paths if os.path.isfile(os.path.join(path, MANIFEST))]
    for path in paths:
        if not os.path.exists(path):
            yield path, MISSING
        elif path not in programs and not _is_python(path):
            yield from _problems_for_pi(path, environ)
    if programs:
        from linnet.extensions.programs.discovery import chosen

        found, failed = chosen((path, "path") for path in dict.fromkeys(map(os.path.realpath, programs)))
        yield from failed
        for each in found:
            word, folder = each.manifest.argv[0], each.manifest.folder
            if not _can_be_run(word, folder, environ.get("PATH", os.defpath)):
                yield folder, f"its exec is {word}, and there is no such program"


def _problems_for_pi(path: str, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with an extension for pi, or that it is none."""
    if may_be_for_pi(path):
        from linnet.extensions.node.node_program import node_program
        from linnet.extensions.node.places import entries

        if files := entries(path):
            yield from ((file, MISSING) for file in files if not os.path.exists(file))
            try:
                node_program(environ)
            except ConfigError as error:
                yield path, str(error)
            return
    yield path, NOT_OURS.format(os.path.basename(path))


def _is_python(path: str) -> bool:
    """Return whether a path is a module or a package."""
    return (path.endswith(".py") and os.path.isfile(path)) or os.path.isfile(os.path.join(path, "__init__.py"))


def _can_be_run(word: str, folder: str, path: str) -> bool:
    """Return whether a program is there: a path, or a name in PATH, whose relative entries start in the folder."""
    places = [word] if "/" in word else [os.path.join(folder, each, word) for each in path.split(os.pathsep)]
    return any(os.path.isfile(place) and os.access(place, os.X_OK) for place in places)
