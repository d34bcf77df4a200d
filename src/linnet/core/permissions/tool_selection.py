"""Decides by their names which tools of a session the model is offered."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

MCP = "mcp__"
"""How the names of MCP servers' tools begin."""


class ToolSelection(Struct, frozen=True):
    """What was said about tools that others bring. Names may have `*` in them, which stands for any characters."""

    allowed: tuple[str, ...] | None = None
    """Only these; None: all."""
    excluded: tuple[str, ...] = ()
    """None of these."""

    def offers(self, name: str) -> bool:
        """Return whether an extension's tool of this name is offered."""
        return (self.allowed is None or matches(name, self.allowed)) and not matches(name, self.excluded)

    def offers_own(self, name: str) -> bool:
        """Return whether a tool of this name that linnet brings for its own needs is offered: if any are."""
        return self.allowed != () and not matches(name, self.excluded)


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Return whether one of the patterns means this name."""
    from fnmatch import fnmatchcase  # Few have any patterns.

    return any(fnmatchcase(name, each.replace("[", "[[]").replace("?", "[?]")) for each in patterns)


def changes(names: Sequence[str]) -> bool:
    """Return whether these names add to the tools that there are, and take from them: `+name` and `-name`."""
    return bool(names) and all(name.startswith(("+", "-")) for name in names)
