"""Reads the two files in which people keep what AWS's own programs want to know: `credentials` and `config`.

A file has sections with `name = value` lines. A line that is indented more than the name before it belongs to that
name's value, and is not wanted here.
"""

import os
from collections.abc import Mapping

from msgspec import Struct

from linnet.core.models import NOTHING
from linnet.errors import ConfigError
from linnet.files.reading import contents

_COMMENTS = ("#", ";")


class AwsFiles(Struct, frozen=True):
    """What both files say."""

    profiles: Mapping[str, Mapping[str, str]] = NOTHING
    """By their names. What `credentials` says goes before what `config` does."""
    sso_sessions: Mapping[str, Mapping[str, str]] = NOTHING


def read(environ: Mapping[str, str]) -> AwsFiles:
    """Return what the files say that these variables lead to; nothing for a file that is not there. Raises ConfigError
    if one cannot be read.
    """
    kept, said = map(_sections, paths(environ))
    profiles: dict[str, dict[str, str]] = {}
    sessions: dict[str, dict[str, str]] = {}
    for section, values in said.items():
        kind, _, name = section.partition(" ")
        if section == "default":
            profiles.setdefault("default", {}).update(values)
        elif kind == "profile":
            profiles.setdefault(name.strip().strip("\"'"), {}).update(values)
        elif kind == "sso-session":
            sessions.setdefault(name.strip().strip("\"'"), {}).update(values)
    for name, values in kept.items():
        profiles[name] = {**profiles.get(name, {}), **values}
    return AwsFiles(profiles, sessions)


def paths(environ: Mapping[str, str]) -> tuple[str, str]:
    """Return where the files are: that of credentials, then the other."""
    return (
        _path(environ, "AWS_SHARED_CREDENTIALS_FILE", "credentials"),
        _path(environ, "AWS_CONFIG_FILE", "config"),
    )


def home(environ: Mapping[str, str]) -> str:
    """Return the folder in which AWS's programs keep their files; where there is no home, one that is nowhere."""
    return os.path.join(environ.get("HOME") or os.devnull, ".aws")


def sections(text: str) -> dict[str, dict[str, str]]:
    """Return the sections of a file with this text. Lines that say nothing are skipped. Pure."""
    found: dict[str, dict[str, str]] = {}
    values: dict[str, str] | None = None
    indent: int | None = None  # That of the last name in this section.
    for line in text.split("\n"):
        plain = line.strip()
        if not plain or plain.startswith(_COMMENTS):
            continue
        depth = len(line) - len(line.lstrip())
        if indent is not None and depth > indent:
            continue
        if plain.startswith("["):
            values, indent = found.setdefault(plain[1:].rpartition("]")[0], {}), None
        elif values is not None:
            cut = min((at for at in map(plain.find, "=:") if at >= 0), default=0)
            if cut:
                values[plain[:cut].strip().lower()] = plain[cut + 1 :].strip()
                indent = depth
    return found


def _path(environ: Mapping[str, str], variable: str, name: str) -> str:
    given = environ.get(variable, "")
    if given.startswith("~"):
        given = os.path.dirname(home(environ)) + given[1:]
    return given or os.path.join(home(environ), name)


def _sections(path: str) -> dict[str, dict[str, str]]:
    try:
        return sections((contents(path) or b"").decode())
    except UnicodeDecodeError:
        raise ConfigError(f"{path} cannot be used: it is not UTF-8") from None
