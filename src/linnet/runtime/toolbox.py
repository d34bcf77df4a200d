"""All tools of a session, as one toolset: linnet's own, those that others bring, and the gate in front of them."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from linnet.core.cancel import Cancel
from linnet.core.events import Event, SessionEntered
from linnet.core.questions import Question, Reply
from linnet.core.toolspec import ToolSpec
from linnet.errors import BadInput
from linnet.runtime.listener import Listener
from linnet.runtime.questions import Questions
from linnet.runtime.resources import Resources
from linnet.runtime.settings import Settings

if TYPE_CHECKING:
    from linnet.extensions.chain import Chain
    from linnet.runtime.client_tools import ClientTools
    from linnet.runtime.permission import Permissions
    from linnet.tools.toolset import Toolset

OWN = "linnet itself"
FUNCTION = "a function"
SERVER = "an MCP server"
CLIENT = "the client"


class Toolbox(Listener):
    """Built when it is first asked for. Without rules, a mode or a callback there is no gate, and it costs nothing."""

    def __init__(self, settings: Settings, resources: Resources, questions: Questions) -> None:
        self.resources = resources
        self._settings = settings
        self._questions = questions
        self.chain: Chain | None = None  # The extensions, once they are loaded and if there are any.
        self._client: ClientTools | None = None
        self._permissions: Permissions | None = None
        self._made: tuple[ClientTools | None, Toolset] | None = None

    @property
    def tools(self) -> "Toolset":
        client = self._client
        made = self._made
        if made is None or made[0] is not client:  # The client declares tools at any moment, in another thread.
            made = self._made = client, self._assembled(client)
        return made[1]

    def adopt(self, settings: Settings) -> None:
        """Assemble the tools anew, by these, when they are next asked for. What was allowed is asked about again."""
        self._settings = settings
        self._made = None
        self._permissions = None

    def offers_any(self) -> bool:
        """Whether the model is offered tools; nothing is built to know it."""
        settings = self._settings
        declared = self._client is not None and bool(self._client.specs)
        return settings.tools != () or bool(settings.functions or settings.mcp) or declared  # Extensions': likewise.

    def extend(self, chain: "Chain | None") -> None:
        """These are the extensions from now on."""
        self.chain = chain
        self._made = None

    def declare(self, specs: Sequence[ToolSpec]) -> None:
        """The client runs these, instead of those it declared before. Raises BadInput if a name is taken."""
        from linnet.runtime.client_tools import ClientTools
        from linnet.tools.toolset import clash

        if problem := clash([*self.owners(), *((spec.name, CLIENT) for spec in specs)]):
            raise BadInput(problem)
        if self._client is None:
            self._client = ClientTools(self._questions, self._settings.question_timeout)
        self._client.declare(specs)

    def asking(self, cancel: Cancel) -> Callable[[Question], Reply | None]:
        """How a tool asks whoever drives the agent."""
        return lambda question: self._questions.ask(question, cancel, self._settings.question_timeout)

    def hear(self, events: Sequence[Event]) -> None:
        if self._permissions is not None and any(isinstance(event, SessionEntered) for event in events):
            self._permissions.forget()

    def owners(self) -> list[tuple[str, str]]:
        """The names of all tools but the client's and those of servers, and whose they are."""
        own = [(spec.name, OWN) for spec in self.resources.tools.specs]
        if self.resources.has_skill_tool:
            own.append(("skill", OWN))
        functions = [(function.spec.name, FUNCTION) for function in self._settings.functions]
        chain = self.chain  # Asked once: another thread may take it away.
        found = chain.extensions if chain is not None else ()
        theirs = [(spec.name, each.path) for each in found if each.tools is not None for spec in each.tools.specs]
        return [*own, *functions, *theirs]

    def _assembled(self, client: "ClientTools | None") -> "Toolset":
        tools: Toolset = self.resources.tools
        settings = self._settings
        instead: list[Toolset] = []
        others: list[tuple[str, Toolset]] = []
        if settings.functions:
            from linnet.tools.function import FunctionTools

            others.append((FUNCTION, FunctionTools(settings.functions, self.resources.foreign)))
        if settings.mcp:
            others.append((SERVER, self.resources.servers))
        if self.chain is not None and (settings.tools != () or settings.zot_home is not None):
            for extension in self.chain.extensions:
                if extension.tools is not None and extension.replaces_tools:
                    instead.append(extension.tools)
                elif extension.tools is not None:
                    others.append((extension.path, extension.tools))
        if client is not None:
            others.append((CLIENT, client))
        if self.resources.has_skill_tool:
            from linnet.runtime.skill_tool import SkillTool

            others.append((OWN, SkillTool(self.resources.skills)))
        if others or instead:
            from linnet.tools.toolset import Combined

            tools = Combined((OWN, tools), *others, instead=instead)
        tools = self._guarded(tools)
        if self.chain is None:
            return tools
        from linnet.extensions.hooked import Hooked

        return Hooked(tools, self.chain)  # Outermost: the gate sees what will really run.

    def _guarded(self, tools: "Toolset") -> "Toolset":
        settings = self._settings
        if settings.permission == "auto" and not settings.rules and settings.permission_callback is None:
            return tools
        from linnet.tools.toolset import Guarded

        return Guarded(tools, self._gate())

    def _gate(self) -> "Permissions":
        from linnet.runtime.permission import Called, Permissions

        settings = self._settings
        if self._permissions is None:
            callback, rules = settings.permission_callback, settings.rules
            if self.resources.has_skill_tool and settings.permission in ("ask", "read-only"):
                from linnet.runtime.skill_tool import ALLOWED

                rules = (ALLOWED, *rules)
            self._permissions = Permissions(
                settings.permission,
                rules,
                self._questions,
                None if callback is None else Called(callback, self.resources.foreign),
                settings.question_timeout,
            )
        return self._permissions
