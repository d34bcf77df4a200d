"""Lists all that a user may type as `/name`: commands of extensions, templates, skills, prompts of MCP servers."""

from collections.abc import Callable, Sequence
from typing import get_args

from linnet.core.slash import SlashCommand, Source

Listing = Callable[[], Sequence[SlashCommand]]


class SlashCommands:
    """Asks each source whenever the list is wanted, since extensions, templates and servers come and go."""

    def __init__(self) -> None:
        self._sources: list[Listing] = []

    def add(self, listing: Listing) -> None:
        """Add a source. `listing` is called under the session's lock, and must not block."""
        self._sources.append(listing)

    def listed(self) -> list[SlashCommand]:
        """Return all of them: those of extensions first, then templates, skills, and what servers offer."""
        order = get_args(Source)
        found = (command for listing in self._sources for command in listing())
        return sorted(found, key=lambda command: order.index(command.source))
