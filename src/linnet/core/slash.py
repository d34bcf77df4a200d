"""What a user may type as `/name`: a command of an extension, a template, a skill, or a prompt of an MCP server."""

from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

Source: TypeAlias = Literal["extension", "prompt", "skill", "mcp"]
Location: TypeAlias = Literal["user", "project", "path"]
_SKILL = "/skill:"
_SERVER = "/mcp__"


class SlashCommand(Struct, frozen=True):
    """One name that can be typed, as it is listed."""

    name: str
    description: str
    source: Source
    location: Location
    """The user's own, the project's, or named by whoever started the agent."""
    path: str = ""
    """The file it is from."""
    base: str = ""
    """The folder that it belongs to, where it was found by looking."""
    hint: str = ""
    """What to type after its name."""


def split(text: str) -> tuple[str, str] | None:
    """Return the name and the arguments of `/name arguments`, untouched; None for any other text.

    The name ends at the first space or line end.
    """
    if not text.startswith("/"):
        return None
    end = next((index for index, letter in enumerate(text) if letter.isspace()), len(text))
    return (text[1:end], text[end + 1 :]) if end > 1 else None


class RunNamed(Struct, frozen=True, tag=True):
    """The text names a command of an extension's, to be run instead of asking the model."""

    name: str
    arguments: str


class Say(Struct, frozen=True):
    """The text names a template or a skill, which makes this of it."""

    text: str


class Fetch(Struct, frozen=True, tag=True):
    """The text may name a prompt of a server's, which is asked for it in the run. If it has none, `text` is said."""

    text: str
    name: str
    arguments: str


class Sources(Protocol):
    """Knows which names can be typed. Its methods may read files, but wait for nobody."""

    def has_command(self, name: str) -> bool:
        """Return whether an extension has this command."""

    def skill(self, name: str, arguments: str) -> str | None:
        """Return the message that loads a skill; None if there is no such skill. Raises BadInput."""

    def template(self, name: str, arguments: str) -> str | None:
        """Return the text of a template with these arguments; None if there is no such template."""


def resolved(text: str, sources: Sources) -> RunNamed | Say | Fetch | None:
    """Return what a text stands for; None if it stands for itself. Raises BadInput.

    An extension's command comes first, then skills and templates, then servers. What a skill or a template makes of
    the text may be for a server.
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
    """Return what a server is to be asked for; None if the text does not begin as a name of a server's does."""
    words = split(text) if text.startswith(_SERVER) else None
    return Fetch(text, *words) if words is not None else None
