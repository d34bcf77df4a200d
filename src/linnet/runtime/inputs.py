"""What a user typed as `/name`, and the text that it stands for, whoever knows it: templates, skills, MCP servers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from linnet.core import slash
from linnet.core.slash import SlashCommand

if TYPE_CHECKING:
    from linnet.core.cancel import Cancel
    from linnet.runtime.resources import Resources

_SKILL = "/skill:"
_MCP = "/mcp__"


class Inputs:
    """Nothing is looked for until somebody types a slash, or asks what there is to type."""

    def __init__(self, resources: "Resources") -> None:
        self._resources = resources
        self._found: Sequence[SlashCommand] = ()

    def expanded(self, text: str) -> str:
        """What a template or a skill makes of it; any other text is returned as it is.

        Reads files, so it is never called under the session's lock. Raises BadInput.
        """
        if not text.startswith("/"):
            return text
        if text.startswith(_SKILL):
            name, _, arguments = text.removeprefix(_SKILL).partition(" ")
            found = self._resources.skills.asked_for(name, arguments)
        else:
            found = None
        typed = slash.split(text)
        if found is None and typed is not None:
            found = self._resources.templates.expanded(*typed)
        return text if found is None else found

    def fetched(self, text: str, cancel: "Cancel") -> str:
        """What an MCP server makes of it; any other text is returned as it is.

        Waits for the server, so it is called in the run's thread. Raises BadInput, or Cancelled.
        """
        typed = slash.split(text) if text.startswith(_MCP) and self._resources.has_servers else None
        if typed is None:
            return text
        self._resources.begin(cancel)
        servers = self._resources.servers
        if all(command.name != typed[0] for command in servers.commands()):
            return text
        return servers.expand(*typed, cancel)

    def look(self) -> None:
        """Find out what there is to type. Reads files, so it is never called under the session's lock."""
        skills = self._resources.skills
        skills.look()
        self._found = [*self._resources.templates.commands(), *skills.commands()]

    def listed(self) -> list[SlashCommand]:
        """As it was at the last look. Nothing is started and nobody waits."""
        known = self._resources.known_servers
        offered = [] if known is None else known.commands()
        from_servers = [
            SlashCommand(
                each.name, each.description, "mcp", "user", hint=" ".join(f"<{name}>" for name in each.arguments)
            )
            for each in offered
        ]
        return [*self._found, *from_servers]
