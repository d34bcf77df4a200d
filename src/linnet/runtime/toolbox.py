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
        self._client: ClientTools | None = None
        self._functions: FunctionTools | None = None
        self._permissions: Permissions | None = None
        self._tools: Toolset | None = None

    @property
    def tools(self) -> "Toolset":
        if self._tools is None:
            self._tools = self._assembled()
        return self._tools

    def offers_any(self) -> bool:
        """Whether the model is offered tools; nothing is built to know it."""
        settings = self._settings
        declared = self._client is not None and bool(self._client.specs)
        return settings.tools != () or bool(settings.functions or settings.mcp) or declared

    def declare(self, specs: Sequence[ToolSpec]) -> None:
        """The client runs these, instead of those it declared before. Raises BadInput if a name is taken."""
        from linnet.runtime.client_tools import ClientTools

        if self._client is None:
            self._client = ClientTools(self._questions, self._settings.question_timeout)
            self._tools = None
        own = [(spec.name, OWN) for spec in self.resources.tools.specs]
        functions = [(function.spec.name, "a function") for function in self._settings.functions]
        self._client.declare(specs, [*own, *functions])

    def asking(self, cancel: Cancel) -> Callable[[Question], Reply | None]:
        """How a tool asks whoever drives the agent."""
        return lambda question: self._questions.ask(question, cancel, self._settings.question_timeout)

    def close(self) -> None:
        if self._functions is not None:
            self._functions.close()

    def hear(self, events: Sequence[Event]) -> None:
        if self._permissions is not None and any(isinstance(event, SessionEntered) for event in events):
            self._permissions.forget()

    def _assembled(self) -> "Toolset":
        tools: Toolset = self.resources.tools
        settings = self._settings
        others: list[Toolset] = []
        if settings.functions:
            if self._functions is None:
                from linnet.tools.function import FunctionTools

                self._functions = FunctionTools(settings.functions)
            others.append(self._functions)
        if settings.mcp:
            others.append(self.resources.servers)
        if self._client is not None:
            others.append(self._client)
        if others:
            from linnet.tools.toolset import Combined

            tools = Combined(tools, *others)
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
