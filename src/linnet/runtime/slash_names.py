"""Finds out what a prompt of the form `/name` stands for: a command of an extension, a template, a skill, or a prompt
of an MCP server.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from linnet.core import slash
from linnet.core.commands import Prompt, RunCommand
from linnet.core.slash import Fetch, RunNamed, SlashCommand
from linnet.errors import BadInput

if TYPE_CHECKING:
    from linnet.core.cancel import Cancel
    from linnet.extensions.chain import Chain
    from linnet.runtime.resources import Resources

NOT_QUEUED = (
    'Extension command "/{}" cannot be queued. Use prompt() or execute the command when not streaming.'  # pi's words.
)
NO_ANSWER = "/{} is a command of an extension's: no model is asked, so that no answer could have a form"


class SlashNames:
    """Files are looked for only when somebody types a slash, or asks what there is to type."""

    def __init__(self, resources: "Resources") -> None:
        self._resources = resources
        self._found: Sequence[SlashCommand] = ()

    def resolved(self, prompt: Prompt, chain: "Chain | None") -> Prompt | RunCommand:
        """Return the command of an extension that is to be run now; or the prompt with the text that it stands for, and
        with what is left to be fetched. It is done once, before the prompt is queued: whoever sees the queue sees what
        will be said.

        Reads files, so it is never called under the session's lock. Raises BadInput for what cannot be said or queued.
        """
        if prompt.slash == "text":
            return replace(prompt, meant=slash.to_fetch(prompt.text))
        found = slash.resolved(prompt.text, _Sources(self._resources, chain))
        if isinstance(found, RunNamed):
            return _command(prompt, found)
        if found is None:
            return prompt
        if not found.text.strip() and not prompt.images:
            raise BadInput(f"{prompt.text.split()[0]} stands for an empty message")
        return replace(prompt, text=found.text, meant=found if isinstance(found, Fetch) else None)

    def fetched(self, wanted: Fetch, cancel: "Cancel") -> str:
        """Return the text that an MCP server makes of it, or the text as it was typed if no server knows the name.

        Waits for servers, so it is called in the run's thread. Raises BadInput if the server refuses, and Cancelled.
        """
        if not self._resources.has_servers:
            return wanted.text
        self._resources.begin(cancel)
        servers = self._resources.servers
        if all(command.name != wanted.name for command in servers.commands()):
            return wanted.text
        return servers.expand(wanted.name, wanted.arguments, cancel)

    def look(self) -> None:
        """Read which templates and skills there are, for `listed`. Reads files, so it is never called under the
        session's lock.
        """
        skills = self._resources.skills
        skills.look()
        self._found = [*self._resources.templates.commands(), *skills.commands()]

    def listed(self) -> list[SlashCommand]:
        """Return templates and skills as of the last look, and prompts of the servers that have been started. Never
        blocks.
        """
        known = self._resources.known_servers
        offered = [] if known is None else known.commands()
        from_servers = [
            SlashCommand(
                each.name, each.description, "mcp", "user", hint=" ".join(f"<{name}>" for name in each.arguments)
            )
            for each in offered
        ]
        return [*self._found, *from_servers]


class _Sources:
    """Implements `Sources` of `core/slash.py` for one session: says what has a name."""

    def __init__(self, resources: "Resources", chain: "Chain | None") -> None:
        self._resources = resources
        self._chain = chain

    def has_command(self, name: str) -> bool:
        return self._chain is not None and self._chain.has_command(name)

    def skill(self, name: str, arguments: str) -> str | None:
        return self._resources.skills.asked_for(name, arguments)

    def template(self, name: str, arguments: str) -> str | None:
        return self._resources.templates.expanded(name, arguments)


def _command(prompt: Prompt, found: RunNamed) -> Prompt | RunCommand:
    """Return how a command of an extension is run: at once, or as a prompt when its turn comes. Raises BadInput."""
    if prompt.slash == "refuse":
        raise BadInput(NOT_QUEUED.format(found.name))
    if prompt.form is not None:
        raise BadInput(NO_ANSWER.format(found.name))
    return RunCommand(found.name, found.arguments) if prompt.slash == "at_once" else replace(prompt, meant=found)
