"""All tools of a session, as one toolset: linnet's own, those that others bring, and the gate in front of them."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from linnet.core.cancel import Cancel
from linnet.core.events import Event, SessionEntered
from linnet.core.questions import Question, Reply
from linnet.core.toolspec import ToolSpec
from linnet.runtime.listener import Listener
from linnet.runtime.questions import Questions
from linnet.runtime.resources import Resources
from linnet.runtime.settings import Settings

if TYPE_CHECKING:
    from linnet.extensions.chain import Chain
    from linnet.runtime.client_tools import ClientTools
    from linnet.runtime.permission import Permissions
    from linnet.tools.function import FunctionTools
    from linnet.tools.toolset import Toolset

OWN = "linnet itself"


class Toolbox(Listener):
    """Built when it is first asked for. Without rules, a mode or a callback there is no gate, and it costs nothing."""

    def __init__(self, settings: Settings, resources: Resources, questions: Questions) -> None:
        self.resources = resources
        self._settings = settings
        self._questions = questions
        self.chain: Chain | None = None  # The extensions, once they are loaded and if there are any.
        self._client: ClientTools | None = None
        self._functions: FunctionTools | None = None
        self._permissions: Permissions | None = None
        self._tools: Toolset | None = None

    @property
    def tools(self) -> "Toolset":
        if self._tools is None:
            self._tools = self._assembled()
        return self._tools

    def extend(self, chain: "Chain | None") -> None:
        """These are the extensions from now on."""
        self.chain = chain
        self._tools = None

    def declare(self, specs: Sequence[ToolSpec]) -> None:
        """The client runs these, instead of those it declared before. Raises BadInput if a name is taken."""
        from linnet.runtime.client_tools import ClientTools

        if self._client is None:
            self._client = ClientTools(self._questions, self._settings.question_timeout)
            self._tools = None
        self._client.declare(specs, self.owners())

    def asking(self, cancel: Cancel) -> Callable[[Question], Reply | None]:
        """How a tool asks whoever drives the agent."""
        return lambda question: self._questions.ask(question, cancel, self._settings.question_timeout)

    def close(self) -> None:
        if self._functions is not None:
            self._functions.close()

    def hear(self, events: Sequence[Event]) -> None:
        if self._permissions is not None and any(isinstance(event, SessionEntered) for event in events):
            self._permissions.forget()

    def owners(self) -> list[tuple[str, str]]:
        """The names of all tools but the client's and those of servers, and whose they are."""
        own = [(spec.name, OWN) for spec in self.resources.tools.specs]
        functions = [(function.spec.name, "a function") for function in self._settings.functions]
        found = self.chain.extensions if self.chain is not None else ()
        theirs = [(spec.name, each.path) for each in found if each.tools is not None for spec in each.tools.specs]
        return [*own, *functions, *theirs]

    def _assembled(self) -> "Toolset":
        tools: Toolset = self.resources.tools
        settings = self._settings
        before: list[Toolset] = []
        others: list[Toolset] = []
        if settings.functions:
            if self._functions is None:
                from linnet.tools.function import FunctionTools

                self._functions = FunctionTools(settings.functions)
            others.append(self._functions)
        if settings.mcp:
            others.append(self.resources.servers)
        if self.chain is not None and (settings.tools != () or settings.zot_home is not None):
            for extension in self.chain.extensions:
                if extension.tools is not None:
                    (before if extension.replaces_tools else others).append(extension.tools)
        if self._client is not None:
            others.append(self._client)
        if others or before:
            from linnet.tools.toolset import Combined

            tools = Combined(tools, *others, before=before)
        tools = self._guarded(tools)
        if self.chain is None:
            return tools
        from linnet.extensions.hooked import Hooked

        return Hooked(tools, self.chain)  # Outermost: the gate sees what will really run.

    def _guarded(self, tools: "Toolset") -> "Toolset":
        settings = self._settings
        if settings.permission == "auto" and not settings.rules and settings.permission_callback is None:
            return tools
        from linnet.runtime.permission import Permissions
        from linnet.tools.toolset import Guarded

        if self._permissions is None:
            self._permissions = Permissions(
                settings.permission,
                settings.rules,
                self._questions,
                settings.permission_callback,
                settings.question_timeout,
            )
        return Guarded(tools, self._permissions)
