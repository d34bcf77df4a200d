"""Commands that a user may type as `/name`: what there is, and where each comes from."""

from typing import Literal, TypeAlias

from msgspec import Struct

Source: TypeAlias = Literal["extension", "prompt", "skill", "mcp"]
Location: TypeAlias = Literal["user", "project", "path"]


class SlashCommand(Struct, frozen=True):
    """`location`: the user's own, the project's, or named by whoever started the agent. `path`: the file it is from;
    `base`: the folder that it belongs to, where it was found by looking. `hint`: what to type after its name.
    """

    name: str
    description: str
    source: Source
    location: Location
    path: str = ""
    base: str = ""
    hint: str = ""


def split(text: str) -> tuple[str, str] | None:
    """The name and the arguments of `/name arguments`, untouched; None for any other text.

    The name ends at the first space or line end.
    """
    if not text.startswith("/"):
        return None
    end = next((index for index, letter in enumerate(text) if letter.isspace()), len(text))
    return (text[1:end], text[end + 1 :]) if end > 1 else None
