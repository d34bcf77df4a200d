"""The tools a session has unless it is told otherwise."""

from collections.abc import Iterable
from typing import Any

from linnet.errors import ConfigError
from linnet.tools.bash import bash
from linnet.tools.edit import edit
from linnet.tools.read import read
from linnet.tools.spec import Tool
from linnet.tools.write import write

TOOLS: dict[str, Tool[Any]] = {tool.spec.name: tool for tool in (read, write, edit, bash)}


def standard_tools(names: Iterable[str] | None = None) -> list[Tool[Any]]:
    """Those that are named, once each; all of them without names."""
    chosen = dict.fromkeys(TOOLS if names is None else names)
    if unknown := [name for name in chosen if name not in TOOLS]:
        listed = ", ".join(f'"{name}"' for name in unknown)
        raise ConfigError(f"unknown tool{'s'[: len(unknown) != 1]} {listed}; choose from {', '.join(TOOLS)}")
    return [TOOLS[name] for name in chosen]
