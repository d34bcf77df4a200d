"""All tools of a session as one toolset: linnet's own, those that others bring, and the permission gate in front."""

from collections.abc import Callable, Collection, Sequence
from threading import Lock
from typing import TYPE_CHECKING

from linnet.core.events import Event, PermissionSet, SessionEntered
from linnet.core.questions import Question, Reply
from linnet.errors import BadInput
from linnet.runtime.listener import Listener
from linnet.runtime.resources import Resources
from linnet.runtime.settings.settings import LiveSettings, Settings
from linnet.runtime.tools.open_questions import OpenQuestions

if TYPE_CHECKING:
    from linnet.core.cancel import Cancel
    from linnet.core.messages import ToolCall
    from linnet.core.permissions.rule import Mode, Rule
    from linnet.core.toolspec import ToolSpec
    from linnet.extensions.chain import Chain
    from linnet.providers.watch import Watch
    from linnet.runtime.tools.client_tools import ClientTools
    from linnet.runtime.tools.permission import Permissions, PlacedRules
    from linnet.tools.toolset import Around, Toolset

OWN = "linnet itself"
FUNCTION = "a function"
SERVER = "an MCP server"
CLIENT = "the client"


class SessionTools(Listener):
    """The toolset is built when it is first asked for, and again when the client declares other tools, extensions come
    or go, or other settings hold. In the last case, what was allowed for the session is asked about again.

    Without rules, a mode or a callback there is no gate, and it costs nothing.
    """

    def __init__(
        self, live: LiveSettings, resources: Resources, questions: OpenQuestions, around: "Around | None" = None
    ) -> None:
        """`around` wraps each toolset."""
        self.resources = resources
        self._around = around
        self._mode: Mode | None = None  # What was chosen instead of the mode of the settings.
        self._live = live
        self._questions = questions
        self.chain: Chain | None = None  # The extensions, once they are loaded and if there are any.
        self._active: frozenset[str] | None = None  # The tools that an extension has chosen; None for those there are.
        self._heard_of: set[str] = set()  # Tools that were there when an extension chose.
        self._everything: Toolset | None = None  # All tools, active or not, where extensions may choose.
        self._client: ClientTools | None = None
        self._permissions: tuple[int, Permissions] | None = None  # With the edition of the settings, as below.
        self._placed: dict[tuple[Rule, ...], PlacedRules] = {}  # Where their paths led at first.
        # With what it was built of.
        self._made: tuple[ClientTools | None, Chain | None, int, Mode | None, Toolset] | None = None
        self._assembling = Lock()  # Taken by whoever may wait, never under the session's lock.

    @property
    def tools(self) -> "Toolset":
        """Return all tools. What they need may take long to import, so it is not called under the session's lock."""
        # Each is looked at once: the client declares tools, and extensions come and go, at any moment in other threads.
        client, chain, settings, mode = self._client, self.chain, self._live.now, self._mode
        made = self._made
        if made is None or made[0] is not client or made[1] is not chain or made[2:4] != (settings.edition, mode):
            with self._assembling:  # By one at a time: there is one gate, which knows what was allowed.
                tools = self._assembled(client, chain, settings, mode)
                made = self._made = client, chain, settings.edition, mode, tools
        return made[4]

    def offers_any(self) -> bool:
        """Return whether the model is offered any tools. Nothing is built to know that."""
        settings = self._live.now
        declared = self._client is not None and bool(self._client.specs)
        return settings.tools != () or bool(settings.functions or settings.mcp) or declared  # Extensions': likewise.

    @property
    def hooks_input(self) -> bool:
        """Return whether extensions are asked about what is said, before it is said to the model."""
        return self.chain is not None and self.chain.handles("input")

    def extend(self, chain: "Chain | None") -> None:
        """Have the tools of these extensions from now on; None if there are none any more."""
        self.chain = chain
        self._made = None
        self.resources.watch = self._watch

    def _watch(self) -> "Watch | None":
        """Return who sees requests and replies at the moment, if an extension wants that."""
        if self.chain is None or not self.chain.hears_all:
            return None
        from linnet.extensions.provider_watch import watch_of

        return watch_of(self.chain)

    def declare(self, specs: "Sequence[ToolSpec]") -> None:
        """Have these tools that the client runs, instead of those it declared before. Raises BadInput if a name is
        taken.
        """
        from linnet.runtime.tools.client_tools import ClientTools
        from linnet.tools.toolset import clash

        if problem := clash([*self.owners(), *((spec.name, CLIENT) for spec in specs)]):
            raise BadInput(problem)
        if self._client is None:
            self._client = ClientTools(self._questions, self._live)
        self._client.declare(specs)

    def asking(self, cancel: "Cancel") -> Callable[[Question], Reply | None]:
        """Return the function with which a tool asks the client something, until an abort comes."""
        return lambda question: self._questions.ask(question, cancel, self._live.now.question_timeout)

    def hear(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, PermissionSet):
                self._mode = event.mode  # The gate asks for it, so that it holds at once.
            elif isinstance(event, SessionEntered) and self._permissions is not None:
                self._permissions[1].forget()

    def owners(self) -> list[tuple[str, str]]:
        """Return the names of all tools but the client's and those of MCP servers, each with its owner."""
        own = [(spec.name, OWN) for spec in self.resources.tools.specs]
        if self.resources.has_skill_tool:
            own.append(("skill", OWN))
        functions = [(function.spec.name, FUNCTION) for function in self._live.now.functions]
        chain = self.chain  # Asked once: another thread may take it away.
        found = chain.extensions if chain is not None else ()
        theirs = [(spec.name, each.path) for each in found if each.tools is not None for spec in each.tools.specs]
        return [*own, *functions, *theirs]

    def _assembled(
        self, client: "ClientTools | None", chain: "Chain | None", settings: Settings, mode: "Mode | None"
    ) -> "Toolset":
        """Build the toolset. Called with `_assembling` held."""
        mode = mode or settings.permission
        tools = self._guarded(self.resources.tools, settings, mode, own=True)
        instead: list[Toolset] = []
        others: list[tuple[str, Toolset]] = []
        if settings.functions:
            from linnet.tools.functions.function import FunctionTools

            functions = FunctionTools(settings.functions, self.resources.foreign)
            others.append((FUNCTION, self._guarded(functions, settings, mode)))
        if settings.mcp:
            others.append((SERVER, self._guarded(self.resources.servers, settings, mode)))
        selection = settings.selection
        none = selection is not None and selection.allowed == () and settings.zot_home is None
        if chain is not None and not none:
            for extension in chain.extensions:
                if extension.tools is not None and extension.replaces_tools:
                    instead.append(self._guarded(self._selected(extension.tools, settings), settings, mode))
                elif extension.tools is not None:
                    theirs = self._guarded(self._selected(extension.tools, settings), settings, mode)
                    others.append((extension.path, theirs))
        if client is not None:
            others.append((CLIENT, self._guarded(client, settings, mode)))
        if self.resources.has_skill_tool:
            from linnet.runtime.project.skill_tool import SkillTool

            others.append((OWN, self._guarded(SkillTool(self.resources.skills), settings, mode, own=True)))
        if others or instead:
            from linnet.tools.toolset import Combined

            tools = Combined((OWN, tools), *others, instead=instead)
            if selection is not None and (excluded := selection.excluded):
                from linnet.core.permissions.tool_selection import matches
                from linnet.tools.toolset import Selected

                tools = Selected(tools, lambda name: not matches(name, excluded), self.resources.tools)
        if chain is None:
            return tools
        from linnet.extensions.hooked import Hooked
        from linnet.tools.toolset import Selected

        self._everything = tools
        # Outermost: the gate sees what will really run.
        return Hooked(Selected(tools, self.is_active) if chain.hears_all else tools, chain)

    def activate(self, names: Collection[str] | None) -> None:
        """Offer the model these tools from the next step on, and no others; None for all that are offered at first."""
        self._heard_of |= {spec.name for spec, _ in self.all_specs()}
        self._active = None if names is None else frozenset(names)

    def join(self, names: Collection[str]) -> None:
        """Take note of the tools that extensions have by now: those that are new are active, unless they say no."""
        fresh = [name for name in names if name not in self._heard_of]
        self._heard_of |= set(names)
        if self._active is not None:
            self._active |= {name for name in fresh if not self._is_hidden(name)}

    def _is_hidden(self, name: str) -> bool:
        return any(name in each.hidden for each in (self.chain.detailed if self.chain is not None else ()))

    def is_active(self, name: str) -> bool:
        """Return whether the model is offered the tool of this name, if there is one."""
        if self._active is not None:
            return name in self._active
        return not self._is_hidden(name)

    def all_specs(self) -> "list[tuple[ToolSpec, str]]":
        """Return all tools, active or not, each with the path of the extension that brings it, if one does."""
        chain = self.chain
        theirs = [
            (spec, each.path)
            for each in (chain.extensions if chain is not None else ())
            if each.tools is not None
            for spec in each.tools.specs
        ]
        names = {spec.name for spec, _ in theirs}
        _ = self.tools  # Which builds what follows, if it is not.
        everything = self._everything.specs if self._everything is not None else ()
        return [*((spec, "") for spec in everything if spec.name not in names), *theirs]

    def _selected(self, tools: "Toolset", settings: Settings) -> "Toolset":
        """Return those of an extension's tools that were asked for."""
        selection = settings.selection
        if selection is None or selection.allowed is None or settings.zot_home is not None:
            return tools
        from linnet.tools.toolset import Selected

        return Selected(tools, selection.offers, self.resources.tools)

    def denies(self, call: "ToolCall") -> bool:
        """Return whether this call of one of linnet's tools may not run, and nobody would be asked about it."""
        settings = self._live.now
        mode = self._mode or settings.permission
        return self._has_gate(settings, mode) and self._gate(settings).denies(call, settings.cwd)

    def _guarded(self, tools: "Toolset", settings: Settings, mode: "Mode", *, own: bool = False) -> "Toolset":
        """Return these tools behind the gate, if there is one. Each owner's have it right in front, so that it knows
        whose tool it is about to let run.
        """
        around = self._around
        tools = tools if around is None else around.behind_gate(tools, own=own)
        if self._has_gate(settings, mode):
            from linnet.tools.toolset import Guarded

            tools = Guarded(tools, self._gate(settings), own=own)
        return tools if around is None else around.before_gate(tools, own=own)

    def _has_gate(self, settings: Settings, mode: "Mode") -> bool:
        """Return whether calls pass a gate. If there was one before, they do: what was denied stays so."""
        asked = mode != "auto" or bool(settings.rules) or settings.permission_callback is not None
        return asked or self._permissions is not None

    def _gate(self, settings: Settings) -> "Permissions":
        """Return the one gate for these settings: it remembers what was allowed."""
        from linnet.runtime.tools.permission import Called, Permissions, PlacedRules

        if self._permissions is None or self._permissions[0] != settings.edition:
            callback, rules = settings.permission_callback, settings.rules
            placed = self._placed.get(rules) or PlacedRules(rules, settings.cwd)
            self._placed[rules] = placed
            gate = Permissions(
                lambda: self._mode or settings.permission,
                placed,
                self._questions,
                None if callback is None else Called(callback, self.resources.foreign),
                settings.question_timeout,
            )
            self._permissions = settings.edition, gate
        return self._permissions[1]
