"""Resolves what was said about tools: which of linnet's own are offered, and which of others."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from linnet.core.permissions.tool_selection import MCP, ToolSelection, changes, matches
from linnet.errors import ConfigError
from linnet.runtime.config.config import Config
from linnet.runtime.settings.settings import ToolChoice
from linnet.tools.standard import DEFAULT, NAMES, named, standard_tools

if TYPE_CHECKING:
    from linnet.tools.functions.function import FunctionTool


def choice(config: Config, *, as_pi: bool) -> ToolChoice:
    """Return which tools are offered. `as_pi`: a list of names is one of everybody's tools, and a name that linnet has
    no tool of may be that of somebody else's. Raises ConfigError.
    """
    names = None if config.tools is None else [each for each in config.tools if isinstance(each, str)]
    excluded = tuple(config.exclude_tools or ())
    plain = list(DEFAULT) if names is None else named(name for name in names if not _is_mcp(name))
    unheard = [name for name in plain if name not in NAMES] if as_pi else []
    chosen = [] if config.builtin_tools is False else [name for name in plain if name not in unheard]
    own = tuple(tool.spec.name for tool in standard_tools(chosen) if not matches(tool.spec.name, excluded))
    return ToolChoice(
        own,
        _functions(config, own),
        _of_servers(names, as_pi=as_pi),
        _of_others(names, excluded, as_pi=as_pi),
        tuple(unheard),
    )


def _of_servers(names: Sequence[str] | None, *, as_pi: bool) -> tuple[str, ...] | None:
    """Return the tools of MCP servers that are named; None if all are offered. To pi a list of names leaves them alone,
    unless one of them is such a tool.
    """
    meant = tuple(name for name in names or () if _is_mcp(name))
    return None if names is None or (as_pi and names and not meant) else meant


def _of_others(names: Sequence[str] | None, excluded: tuple[str, ...], *, as_pi: bool) -> ToolSelection:
    """Return which tools of extensions are offered: all, unless somebody asked for no tools, or named some to pi."""
    if names is None or changes(names):
        return ToolSelection(None, (*excluded, *(name[1:] for name in names or () if name.startswith("-"))))
    if as_pi:
        return ToolSelection(tuple(names), excluded)
    return ToolSelection(None if any(not _is_mcp(name) for name in names) else (), excluded)


def _functions(config: Config, own: Sequence[str]) -> "tuple[FunctionTool, ...]":
    """Return the functions that are tools. Raises ConfigError if two tools have one name."""
    found = tuple(each for each in config.tools or () if not isinstance(each, str))
    if found:
        from linnet.tools.toolset import clash

        claims = [(name, "linnet itself") for name in own]
        if problem := clash([*claims, *((each.spec.name, each.owner) for each in found)]):
            raise ConfigError(problem)
    return found


def _is_mcp(name: str) -> bool:
    return name.lstrip("+-").startswith(MCP)
