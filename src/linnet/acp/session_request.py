"""What an editor says about a session that it wants: checked, and as configuration."""

import os
from typing import TYPE_CHECKING, Any

from linnet.wire.acp import params
from linnet.wire.acp.jsonrpc import INVALID_PARAMS, RpcError

if TYPE_CHECKING:
    from linnet.runtime.config.config import Config

ELSEWHERE = "the session {} belongs to the folder {}, not to {}"
NO_DIRECTORIES = "additionalDirectories was not offered"


def said_of(cwd: str, servers: list[params.McpServer], more: list[str] | None) -> "Config":
    """Return what a client says about a session as configuration. Raises RpcError."""
    from linnet.runtime.config.config import Config

    if more:
        raise RpcError(INVALID_PARAMS, NO_DIRECTORIES)
    if not os.path.isabs(cwd):
        raise RpcError(INVALID_PARAMS, f"cwd must be an absolute path, not {cwd!r}")
    if not os.path.isdir(cwd):
        raise RpcError(INVALID_PARAMS, f"there is no folder {cwd}")
    given: dict[str, Any] = {}
    for each in servers:
        if each.name in given:
            raise RpcError(INVALID_PARAMS, f"two MCP servers are called {each.name!r}")
        given[each.name] = _server(each)
    return Config(cwd=cwd, mcp_servers=given or None)


def _server(said: params.McpServer) -> dict[str, Any]:
    """Return a server as the settings have it. What the editor says of it is meant literally. Raises RpcError."""
    if said.type == "stdio" and said.command:
        env = {variable.name: variable.value for variable in said.env}
        return {"command": said.command, "args": said.args, "env": env, "literal": True}
    if said.type == "http" and said.url:
        headers = {header.name: header.value for header in said.headers}
        return {"type": "http", "url": said.url, "headers": headers, "literal": True}
    missing = {"stdio": "it has no command", "http": "it has no url"}
    reason = missing.get(said.type, f"its type {said.type!r} was not offered")
    raise RpcError(INVALID_PARAMS, f"the MCP server {said.name!r} cannot be used: {reason}")


def check_folder(id: str, own: str, given: str) -> None:
    """Raise RpcError unless a session belongs to the folder that the editor names."""
    if os.path.realpath(own) != os.path.realpath(given):
        raise RpcError(INVALID_PARAMS, ELSEWHERE.format(id, own, given))


def removed(path: str) -> None:
    """Remove the file of a session, unless another process has it open. Raises LinnetError and OSError."""
    from linnet.store.file import open_locked

    log, _ = open_locked(path)
    try:
        os.unlink(path)
    finally:
        log.close()
