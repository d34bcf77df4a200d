"""What an MCP server offers, as structs that need no `mcp` package."""

from typing import Any

from msgspec import Struct


class OfferedTool(Struct, frozen=True):
    """A tool of a server, by the server's own name for it."""

    name: str
    description: str
    schema: dict[str, Any]


class OfferedPrompt(Struct, frozen=True):
    """A prompt of a server."""

    name: str
    description: str
    arguments: tuple[tuple[str, bool], ...] = ()  # The name of each, and whether it must be given.


class Resource(Struct, frozen=True):
    """A resource of a server."""

    uri: str
    name: str
    description: str


class Offers(Struct, frozen=True):
    """Everything that a server offers."""

    tools: tuple[OfferedTool, ...] = ()
    prompts: tuple[OfferedPrompt, ...] = ()
    resources: tuple[Resource, ...] = ()


class Lost(Exception):
    """The connection to a server has ended."""
