"""Toolsets: objects that have specs and run calls, how several are combined, and how one is put behind permissions."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from linnet.core.messages import Text, ToolCall
from linnet.core.toolspec import ToolSpec
from linnet.logs import warn
from linnet.tools.context import ToolContext
from linnet.tools.spec import ToolOutput


class Toolset(Protocol):
    """Tools of one owner, such as an MCP server."""

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """The tools there are now. Read before each step, so that tools may come and go in mid-conversation."""

    def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        """Run the call and return its output. Raises only Cancelled: other failures are output for the model."""


class Combined:
    """Several toolsets as one.

    Invariants: `specs` is sorted by name, so that a vendor's prompt cache survives a restart; of a name that two have,
    only the first one's is there, and it is logged whose the other was.
    """

    def __init__(
        self, first: tuple[str, Toolset], *others: tuple[str, Toolset], instead: Sequence[Toolset] = ()
    ) -> None:
        """Each comes with the name of its owner. A call of a tool that no toolset has is given to the first, which says
        that it does not know it. Tools of those in `instead` replace others of the same name, and nothing is logged.
        """
        self._first = first[1]
        self._all = (first, *others)
        self._instead = tuple(instead)
        self._told: set[str] = set()

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools of all, by name."""
        found: dict[str, tuple[str, ToolSpec]] = {}
        for toolset in self._instead:
            for spec in toolset.specs:
                found.setdefault(spec.name, ("", spec))
        for owner, toolset in self._all:
            for spec in toolset.specs:
                if spec.name in found and not found[spec.name][0]:
                    continue
                if spec.name in found:
                    self._tell(taken(spec.name, found[spec.name][0], owner))
                else:
                    found[spec.name] = owner, spec
        return tuple([found[name][1] for name in sorted(found)])

    def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        """Run the call in the first toolset that has the tool. Raises Cancelled."""
        for toolset in (*self._instead, *(toolset for _, toolset in self._all)):
            if any(spec.name == call.name for spec in toolset.specs):
                return toolset.run(call, context)
        return self._first.run(call, context)

    def _tell(self, sentence: str) -> None:
        """Log a clash of names once, although `specs` is read before each step."""
        if sentence not in self._told:
            self._told.add(sentence)
            warn("linnet.tools", f"{sentence}; the first one is kept")


class Selected:
    """A toolset without some of its tools. A call of one that is left out is as one of a tool that nobody has."""

    def __init__(self, inner: Toolset, offers: Callable[[str], bool], without: Toolset | None = None) -> None:
        """`offers` says of a name whether it stays, at this moment; `without` answers calls of those that do not."""
        self._inner = inner
        self._offers = offers
        self._without = without

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """The tools that stay."""
        return tuple([spec for spec in self._inner.specs if self._offers(spec.name)])

    def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        """Run the call, if its tool stays. Raises Cancelled."""
        if self._offers(call.name):
            return self._inner.run(call, context)
        if self._without is not None:
            return self._without.run(call, context)
        if any(spec.name == call.name for spec in self._inner.specs):
            return ToolOutput((Text(f"Tool {call.name} not found"),), is_error=True, ran=False)
        return self._inner.run(call, context)  # Nobody has it, and that is what it says.


def clash(claims: Iterable[tuple[str, str]]) -> str:
    """Return a sentence about the first name that two claim, or nothing. A claim is a name and its owner."""
    owners: dict[str, str] = {}
    for name, owner in claims:
        if name in owners:
            return taken(name, owners[name], owner)
        owners[name] = owner
    return ""


def taken(name: str, first: str, second: str) -> str:
    """Return the sentence that says that two owners have a tool of this name."""
    return f'the tool "{name}" is declared twice: by {first} and by {second}'


class Around(Protocol):
    """Wraps the toolsets of a session: for clients that see to some of the work themselves."""

    def behind_gate(self, tools: Toolset, *, own: bool) -> Toolset:
        """Return these tools, wrapped: what the gate refuses does not come here. `own` is that of Gate."""

    def before_gate(self, tools: Toolset, *, own: bool) -> Toolset:
        """Return these tools, wrapped: the gate is inside, and what it shows comes from the same context."""


class Gate(Protocol):
    """Decides which calls may run."""

    def refusal(self, call: ToolCall, context: ToolContext, *, own: bool) -> str:
        """Return why the call may not run, for the model to read; nothing if it may. It may wait for an answer.

        `own` says that the tool is linnet's, so that it is known what it does. Raises Cancelled.
        """

    def finding(self, call: ToolCall) -> Callable[[str], bool] | None:
        """Return what tells which paths a search by one of linnet's tools may show; None if it may show all."""


class Guarded:
    """A toolset behind a gate. Invariant: a call that the gate refused has not run, whatever is racing."""

    def __init__(self, inner: Toolset, gate: Gate, *, own: bool) -> None:
        """`own` says that the tools are linnet's, so that it is known what they do."""
        self._inner = inner
        self._gate = gate
        self._own = own

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """All tools of the toolset: what is refused is told when it is called."""
        return self._inner.specs

    def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        """Run the call if the gate lets it, and return its output or the refusal. Raises Cancelled."""
        reason = self._gate.refusal(call, context, own=self._own)
        if reason:
            return refused(reason)
        context.cancel.check()  # The gate may have waited for somebody's answer.
        if self._own and (finding := self._gate.finding(call)) is not None:
            context = context.finding(finding)
        return self._inner.run(call, context)


def refused(reason: str) -> ToolOutput:
    """Return the output of a refused call: a sentence for the model, and a mark for clients, since it is no failure."""
    return ToolOutput((Text(reason),), is_error=True, details={"denied": True}, ran=False)
