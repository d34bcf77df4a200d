"""The tools there are, and those that a session has unless it is told otherwise."""

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from linnet.errors import ConfigError
from linnet.tools.spec import Tool

# Each is a module of its name, which is loaded if it is chosen.
NAMES = ("read", "write", "edit", "bash", "grep", "find", "ls")
DEFAULT = NAMES[:4]


def standard_tools(names: Iterable[str] | None = None) -> list[Tool[Any]]:
    """Those that are named, once each; without names the default ones, which `+name` adds to and `-name` takes from."""
    chosen = _chosen(list(DEFAULT if names is None else names))
    if unknown := [name for name in chosen if name not in NAMES]:
        listed = ", ".join(f'"{name}"' for name in unknown)
        raise ConfigError(f"unknown tool{'s'[: len(unknown) != 1]} {listed}; choose from {', '.join(NAMES)}")
    return [getattr(import_module(f"linnet.tools.{name}"), name) for name in chosen]


def _chosen(names: list[str]) -> list[str]:
    if not names or not all(name.startswith(("+", "-")) for name in names):
        return list(dict.fromkeys(names))
    chosen = dict.fromkeys(DEFAULT)
    for name in names:
        if name.startswith("-") and name[1:] in NAMES:
            chosen.pop(name[1:], None)
        else:
            chosen[name[1:]] = None
    return list(chosen)
