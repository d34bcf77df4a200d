"""What a user may type as `/name`: what there is, where each comes from, and what a text stands for."""

from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

Source: TypeAlias = Literal["extension", "prompt", "skill", "mcp"]
Location: TypeAlias = Literal["user", "project", "path"]
_SKILL = "/skill:"
_SERVER = "/mcp__"


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
    """Return the name and the arguments of `/name arguments`, untouched; None for any other text.

    The name ends at the first space or line end.
    """
    if not text.startswith("/"):
        return None
    end = next((index for index, letter in enumerate(text) if letter.isspace()), len(text))
    return (text[1:end], text[end + 1 :]) if end > 1 else None


class RunNamed(Struct, frozen=True, tag=True):
    """A command of an extension's, to be run instead of asking the model."""

    name: str
    arguments: str


class Say(Struct, frozen=True):
    """What a template or a skill makes of it."""

    text: str


class Fetch(Struct, frozen=True, tag=True):
    """What a server may know, which is asked for it in the run: if it does not, the model is told `text`."""

    text: str
    name: str
    arguments: str


class Sources(Protocol):
    """Who knows what can be typed. They may read files, but wait for nobody."""

    def has_command(self, name: str) -> bool:
        """Whether an extension has this command."""

    def skill(self, name: str, arguments: str) -> str | None:
        """Return the message that loads it; None if there is no such skill. Raises BadInput."""

    def template(self, name: str, arguments: str) -> str | None:
        """Return its text with these arguments; None if there is no such template."""


def resolved(text: str, sources: Sources) -> RunNamed | Say | Fetch | None:
    """Return what this stands for; None if that is what it says. An extension's command comes first, then skills and
    templates, then servers; what a skill or a template makes of it may be for a server. Raises BadInput.
    """
    words = split(text)
    if words is not None and sources.has_command(words[0]):
        return RunNamed(*words)
    found = None
    if text.startswith(_SKILL):
        name, _, arguments = text.removeprefix(_SKILL).partition(" ")
        found = sources.skill(name, arguments)
    if found is None and words is not None:
        found = sources.template(*words)
    return to_fetch(text if found is None else found) or (None if found is None else Say(found))


def to_fetch(text: str) -> Fetch | None:
    """Return what a server is to be asked for; None if that is nothing of a server's."""
    words = split(text) if text.startswith(_SERVER) else None
    return Fetch(text, *words) if words is not None else None
