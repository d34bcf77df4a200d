"""Names linnet's own tools, and loads those that a session is to have."""

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from linnet.core.permissions.tool_selection import changes, matches
from linnet.errors import ConfigError
from linnet.tools.spec import Tool

# Each is a module of its name, which is loaded if it is chosen.
NAMES = ("read", "write", "edit", "bash", "grep", "find", "ls")
DEFAULT = NAMES[:4]


def standard_tools(names: Iterable[str] | None = None) -> list[Tool[Any]]:
    """Return the tools of these names, once each. Raises ConfigError for a name that no tool has.

    None is the default ones; `+name` adds to those and `-name` takes from them, if all names are written so; `*` in a
    name stands for any characters.
    """
    chosen = named(DEFAULT if names is None else names)
    if unknown := [name for name in chosen if name not in NAMES]:
        listed = ", ".join(f'"{name}"' for name in unknown)
        raise ConfigError(f"unknown tool{'s'[: len(unknown) != 1]} {listed}; choose from {', '.join(NAMES)}")
    return [getattr(import_module(f"linnet.tools.{name}"), name) for name in chosen]


def named(names: Iterable[str]) -> list[str]:
    """Return the names that are meant, each once; those that no tool has as they are. Raises ConfigError for names that
    add to the default ones among others.
    """
    names = list(names)
    if any(name.startswith(("+", "-")) for name in names) and not changes(names):
        raise ConfigError("tool names cannot be mixed with +name or -name entries")
    if not changes(names):
        meant = [[each for each in NAMES if matches(each, [name])] if "*" in name else [] for name in names]
        return list(dict.fromkeys(each for name, found in zip(names, meant, strict=True) for each in found or [name]))
    chosen = dict.fromkeys(DEFAULT)
    for name in names:
        if name.startswith("-") and name[1:] in NAMES:
            chosen.pop(name[1:], None)
        else:
            chosen[name[1:]] = None
    return list(chosen)
