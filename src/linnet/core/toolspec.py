"""The description of a tool that a model is sent, and the limits for one that somebody else wrote."""

from typing import Any

from msgspec import MsgspecError, Struct, json

LONGEST_NAME = 64  # No vendor takes more.
# What others may say about a tool. A model reads all of it with every request, and somebody pays for that.
MOST_TOOLS = 1000
LONGEST_DESCRIPTION = 64 << 10
LARGEST_SCHEMA = 256 << 10


class ToolSpec(Struct, frozen=True):
    """A tool as the model is told of it."""

    name: str
    description: str
    schema: dict[str, Any]  # A JSON Schema for the arguments.


def excess(description: str, schema: Any) -> str:
    """Return what is too much about a tool that somebody else describes, as the end of a sentence; "" if nothing is."""
    if len(description) > LONGEST_DESCRIPTION:
        return (
            f"its description has {len(description)} characters, and more than {LONGEST_DESCRIPTION} are not accepted"
        )
    try:
        size = len(json.encode(schema))
    except (MsgspecError, UnicodeError, TypeError, RecursionError):
        return "its schema cannot be written as JSON"
    if size > LARGEST_SCHEMA:
        return f"its schema has {size} bytes, and more than {LARGEST_SCHEMA} are not accepted"
    return ""


def name_problem(name: str) -> str:
    """Return what is wrong with a tool's name, as a sentence; "" if every vendor takes it."""
    allowed = name.replace("_", "a").replace("-", "a")
    if name and allowed.isascii() and allowed.isalnum() and len(name) <= LONGEST_NAME:
        return ""
    return f"a tool's name is made of letters, digits, _ and -, at most {LONGEST_NAME} of them, not {name!r}"
