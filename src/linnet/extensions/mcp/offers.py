"""What a server has to offer, in our words; and that it is gone."""

from typing import Any

from msgspec import Struct


class OfferedTool(Struct, frozen=True):
    name: str
    description: str
    schema: dict[str, Any]


class OfferedPrompt(Struct, frozen=True):
    """`arguments`: the name of each, and whether it must be given."""

    name: str
    description: str
    arguments: tuple[tuple[str, bool], ...] = ()


class Resource(Struct, frozen=True):
    uri: str
    name: str
    description: str


class Offers(Struct, frozen=True):
    tools: tuple[OfferedTool, ...] = ()
    prompts: tuple[OfferedPrompt, ...] = ()
    resources: tuple[Resource, ...] = ()


class Lost(Exception):
    """There is no connection any more."""
