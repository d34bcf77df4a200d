"""All that a user may type as `/name`, whoever brings it."""

from collections.abc import Callable, Sequence
from typing import get_args

from linnet.core.slash import SlashCommand, Source

Listing = Callable[[], Sequence[SlashCommand]]


class SlashCommands:
    """Sources are asked each time, since extensions, templates and servers come and go."""

    def __init__(self) -> None:
        self._sources: list[Listing] = []

    def add(self, listing: Listing) -> None:
        """Called under the session's lock: it must not block."""
        self._sources.append(listing)

    def listed(self) -> list[SlashCommand]:
        """Extensions' first, then templates, skills, and what servers offer."""
        order = get_args(Source)
        found = (command for listing in self._sources for command in listing())
        return sorted(found, key=lambda command: order.index(command.source))
