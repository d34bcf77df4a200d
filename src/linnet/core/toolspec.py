"""A tool as the model is told of it."""

from typing import Any

from msgspec import Struct

LONGEST_NAME = 64  # No vendor takes more.


class ToolSpec(Struct, frozen=True):
    """`schema` is a JSON schema object for the arguments."""

    name: str
    description: str
    schema: dict[str, Any]


def name_problem(name: str) -> str:
    """What is wrong with a tool's name, as a sentence; nothing if every vendor takes it."""
    allowed = name.replace("_", "a").replace("-", "a")
    if name and allowed.isascii() and allowed.isalnum() and len(name) <= LONGEST_NAME:
        return ""
    return f"a tool's name is made of letters, digits, _ and -, at most {LONGEST_NAME} of them, not {name!r}"
