"""Finds Node, and says in a sentence why it cannot be used."""

import os
from collections.abc import Mapping
from shutil import which

from linnet.errors import ConfigError

VARIABLE = "LINNET_NODE"
OLDEST = (22, 18)  # The first that strips types by itself.
NEEDED = "extensions for pi are run by Node {}.{} or newer; {}"


def node_program(environ: Mapping[str, str]) -> str:
    """Return the path of Node, whose version only it knows: see `age_problem`. Raises ConfigError."""
    named = environ.get(VARIABLE) or ""
    path = which(named or "node", path=environ.get("PATH", os.defpath))
    if path is not None:
        return path
    missing = f"{VARIABLE} names {named}, and there is no such program"
    raise ConfigError(NEEDED.format(*OLDEST, missing if named else f"there is none in PATH, and {VARIABLE} names none"))


def age_problem(version: str, path: str) -> str:
    """Return what is wrong with a Node that says this is its version; nothing if it is new enough."""
    words = version.split(".")
    numbers = tuple(int(word) for word in words[:2] if word.isdecimal())
    if numbers >= OLDEST:
        return ""
    return NEEDED.format(*OLDEST, f"{path} is {version}; set {VARIABLE} to another one")
