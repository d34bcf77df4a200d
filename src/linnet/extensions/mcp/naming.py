"""Names the tools of MCP servers for the model: `mcp__server__tool`. Pure."""

import re
from collections import Counter
from collections.abc import Iterable

LONGEST = 64  # What vendors accept; letters, digits, `_` and `-` only.
_ODD = re.compile(r"[^A-Za-z0-9_]")


def names(tools: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return a name for each pair of a server and a tool.

    What is not a letter or digit becomes `_`. Those whose names would then be the same, or too long, get a mark that is
    made from what they are called: it does not depend on what else there is.
    """
    plain = {tool: _plain(*tool) for tool in dict.fromkeys(tools)}
    shared = Counter(plain.values())
    return {
        tool: name if shared[name] == 1 and len(name) <= LONGEST else _marked(name, *tool)
        for tool, name in plain.items()
    }


def clashes(tools: Iterable[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Return those whose names would be the same without a mark, each as `server/tool`."""
    groups: dict[str, list[str]] = {}
    for server, tool in dict.fromkeys(tools):
        groups.setdefault(_plain(server, tool), []).append(f"{server}/{tool}")
    return [tuple(group) for group in groups.values() if len(group) > 1]


def prefix(server: str) -> str:
    """Return what the names of a server's tools begin with, short ones at least."""
    return f"mcp__{_ODD.sub('_', server)}"


def _plain(server: str, tool: str) -> str:
    """Return the name without a mark, however long."""
    return f"{prefix(server)}__{_ODD.sub('_', tool)}"


def _marked(name: str, server: str, tool: str) -> str:
    """Return the beginning of the name with the mark."""
    from hashlib import sha256  # 2 ms that few need.

    mark = sha256(f"{server}\0{tool}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[: LONGEST - 9]}_{mark}"
