"""Reads the files that configure MCP servers."""

from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from typing import Any

from linnet.core.setting_names import Spelling, keyword
from linnet.errors import ConfigError
from linnet.extensions.mcp.config import ServerConfig, merged, parse, servers
from linnet.files.reading import required


def load(
    paths: Iterable[str],
    given: Mapping[str, Any] | None,
    environ: Mapping[str, str],
    spelled: Spelling = keyword,
    read: Callable[[str], bytes | None] = lambda path: None,
) -> tuple[ServerConfig, ...]:
    """Return the servers of all these files, and those that are `given` by name. Of two that have the same name, the
    later one is taken. `read` returns the content of a file that is not to be read from disk, or None.

    Raises ConfigError if a file cannot be read or says something that makes no sense, or if there are servers and the
    `mcp` package is missing.
    """
    layers = [parse(text if (text := read(path)) is not None else required(path), path, environ) for path in paths]
    if given is not None:
        layers.append(servers({"mcpServers": given}, "mcp_servers", environ))
    found = merged(layers)
    if found and find_spec("mcp") is None:
        none = spelled("no_mcp")
        raise ConfigError(f"MCP servers need the mcp package: pip install 'linnet-agent[mcp]', or start with {none}")
    return found
