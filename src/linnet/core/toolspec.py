"""A tool as the model is told of it."""

from typing import Any

from msgspec import Struct


class ToolSpec(Struct, frozen=True):
    """`schema` is a JSON schema object for the arguments."""

    name: str
    description: str
    schema: dict[str, Any]
