"""The Extension that is written for pi: one of those that the host in Node carries."""

import time
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from linnet.core.extensions import extension_events, hooks
from linnet.core.messages import Message, Note
from linnet.core.toolspec import MOST_TOOLS, ToolSpec, excess, name_problem
from linnet.errors import ConfigError
from linnet.extensions.extension import AddedProvider, ExtensionCommand
from linnet.extensions.node import frames, questions
from linnet.extensions.node.link import HostFailed, Link
from linnet.extensions.node.node_tools import NodeTools

if TYPE_CHECKING:
    from linnet.core.cancel import Cancel
    from linnet.core.events import Event
    from linnet.core.slash import Location
    from linnet.extensions.node.carrier import Carrier
    from linnet.tools.toolset import Toolset

NO_PARAMETERS = {"type": "object", "properties": {}}


class NodeExtension:
    """An Extension. What it offers is what the host said last; a guard whose host is gone says no."""

    replaces_tools = True

    def __init__(self, index: int, name: str, path: str, location: "Location", carrier: "Carrier") -> None:
        self.index = index
        self.name = name
        self.path = path
        self.location = location
        self.offers = frames.Offers(index)
        self.specs: Sequence[ToolSpec] = ()
        self.hidden: frozenset[str] = frozenset()
        """Those of its tools that are not active before an extension activates them."""
        self.sequential: frozenset[str] = frozenset()
        """Those of its tools that run one at a time."""
        self.failure = ""
        """Why it could not be loaded."""
        self.tools: Toolset = NodeTools(self)
        self._carrier = carrier

    @property
    def link(self) -> Link:
        """Return the way to the host."""
        return self._carrier.link

    def take(self, offers: frames.Offers) -> list[str]:
        """Take what it offers now. Returns a sentence about each tool that cannot be offered."""
        self.offers = offers
        problems: list[str] = []
        specs: list[ToolSpec] = []
        for tool in offers.tools:
            schema = tool.parameters if isinstance(tool.parameters, dict) else NO_PARAMETERS
            problem = name_problem(tool.name) or excess(tool.description, schema)
            if problem or len(specs) >= MOST_TOOLS:
                problems.append(f'the tool "{tool.name}" is refused: {problem or f"more than {MOST_TOOLS}"}')
            else:
                specs.append(ToolSpec(tool.name, tool.description, {"type": "object", "properties": {}, **schema}))
        self.specs = tuple(specs)
        self.hidden = frozenset(tool.name for tool in offers.tools if tool.hidden)
        self.sequential = frozenset(tool.name for tool in offers.tools if tool.sequential)
        return problems

    @property
    def providers(self) -> Sequence[AddedProvider]:
        """The providers of models that it has registered; one that makes no sense is reported, and left out."""
        if not self.offers.providers:
            return ()
        from linnet.extensions.node.node_providers import added

        found: list[AddedProvider] = []
        for offered in self.offers.providers:
            try:
                found.append(added(offered, self, self._carrier.host))
            except (ConfigError, ValueError) as error:
                self._carrier.host.failed(self.path, "registerProvider", str(error))
        return found

    def hints(self, tools: Collection[str]) -> list[str]:
        """Return what the system prompt is to say of those of its tools that the model has."""
        lines: list[str] = []
        for tool in self.offers.tools:
            if tool.name in tools:
                lines += [f"{tool.name}: {tool.prompt_snippet}"] if tool.prompt_snippet else []
                lines += tool.prompt_guidelines or []
        return lines

    @property
    def commands(self) -> Sequence[ExtensionCommand]:
        """The commands that it has registered by now; none when the host is gone."""
        gone = bool(self.link.how)
        return [] if gone else [ExtensionCommand(each.name, each.description) for each in self.offers.commands]

    @property
    def asked(self) -> Collection[hooks.Name]:
        """The hooks that it wants to be asked about, also when the host is gone."""
        return {questions.HOOKS[event] for event in self.offers.events if event in questions.HOOKS}

    @property
    def told(self) -> Collection[extension_events.Name]:
        """What the host must know to begin and to end; all else it hears of with `hear`."""
        return ("session_start", "session_shutdown")

    def wait_ready(self, patience: float, hurry: "Cancel") -> None:
        """Wait until it is loaded. Raises ConfigError if it could not be, and TimeoutError."""
        self._carrier.wait_ready(self, patience, hurry)

    def ask(self, event: hooks.Hook, cancel: "Cancel", patience: float) -> hooks.Decision | None:
        """Ask its handlers, and return what they decide."""
        name, payload = self._carrier.question(event)
        if name not in self.offers.events and not (name == "context" and "context_with_system" in self.offers.events):
            return None
        try:
            answer = self.link.ask(lambda number: frames.Ask(number, self.index, name, payload), cancel, patience)
        except HostFailed as fault:
            cancel.check()
            if not isinstance(event, hooks.ToolCalling) or self.link.how:
                raise
            # As pi has it: what a handler throws is why the tool does not run.
            return hooks.Block(f"Extension failed, blocking execution: {fault}" if fault.thrown else str(fault))
        return questions.decision(event, answer or {}, time.time_ns() // 1_000_000)

    def tell(self, event: extension_events.Observed) -> None:
        """Have the host begin, or go on in another session, or end. Returns at once."""
        self._carrier.tell(self, event)

    def hear(self, event: "Event") -> None:
        """Tell all extensions of the host what happened. Returns at once."""
        self._carrier.hear(self, event)

    def ending(self, messages: Sequence[Message], cancel: "Cancel", patience: float) -> None:
        """Tell all extensions of the host that a run has ended, and wait until they have heard it."""
        self._carrier.ending(self, messages, cancel, patience)

    def ended(self, message: Message, cancel: "Cancel", patience: float) -> Message:
        """Have all extensions of the host hear the end of a message, and return it as they want it."""
        return self._carrier.ended(self, message, cancel, patience)

    def settling(
        self, messages: Sequence[Message], outcome: str, cancel: "Cancel", patience: float
    ) -> tuple[Sequence[Note], bool]:
        """Return what all extensions of the host add before the agent is done, and whether it is to go on."""
        return self._carrier.settling(self, messages, outcome, cancel, patience)

    def headers(self, headers: dict[str, str], cancel: "Cancel", patience: float) -> dict[str, str | None]:
        """Return the headers that all extensions of the host want a request to have."""
        return self._carrier.headers(self, headers, cancel, patience)

    def wants(self, name: str) -> bool:
        """Return whether an extension of the host wants to be told of this event."""
        return self._carrier.wants(name)

    def told_of(self, name: str, payload: dict[str, Any]) -> None:
        """Tell all extensions of the host of something that is no event of the session."""
        self._carrier.told_of(self, name, payload)

    def settle(self, patience: float) -> None:
        """Wait until the handlers of all extensions have heard what they were told."""
        self._carrier.settle(self, patience)

    def run_command(self, name: str, arguments: str, cancel: "Cancel") -> None:
        """Have it run a command, which may take as long as it likes."""
        try:
            self.link.ask(lambda number: frames.RunCommand(number, self.index, name, arguments), cancel, None)
        except HostFailed:
            cancel.check()
            if not self._carrier.closed:
                raise
            # It had extensions read again, or the agent end, and nobody is left to say that it is done.

    def close(self, patience: float) -> None:
        """Let go of it; with the last that is closed, end the host and all it started."""
        self._carrier.close(self, patience)
