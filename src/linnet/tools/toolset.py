"""Tools that come together: something with specs, that runs a call. Wrapped around or put beside each other."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from linnet.core.messages import Text, ToolCall
from linnet.core.toolspec import ToolSpec
from linnet.logs import warn
from linnet.tools.context import ToolContext
from linnet.tools.spec import ToolOutput


class Toolset(Protocol):
    @property
    def specs(self) -> Sequence[ToolSpec]:
        """Read before each step, so that tools may come and go in mid-conversation."""

    def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        """Raises only Cancelled: what goes wrong in a tool is for the model to read."""


class Combined:
    """Toolsets beside each other. Invariants: `specs` is sorted by name, so that a vendor's prompt cache survives a
    restart; of a name that two have, only the first one's is there, and somebody is told whose the other was.
    """

    def __init__(
        self, first: tuple[str, Toolset], *others: tuple[str, Toolset], instead: Sequence[Toolset] = ()
    ) -> None:
        """Each with its owner. What no toolset has is given to the first, which says that it does not know it. Tools of
        those in `instead` are used instead of others that have the same name, and that is how it should be.
        """
        self._first = first[1]
        self._all = (first, *others)
        self._instead = tuple(instead)
        self._told: set[str] = set()

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
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
        for toolset in (*self._instead, *(toolset for _, toolset in self._all)):
            if any(spec.name == call.name for spec in toolset.specs):
                return toolset.run(call, context)
        return self._first.run(call, context)

    def _tell(self, sentence: str) -> None:
        """Tools come and go, and this is read before each step: it is said once. Without a handler of the program's
        own, it is a line on stderr.
        """
        if sentence not in self._told:
            self._told.add(sentence)
            warn("linnet.tools", f"{sentence}; the first one is kept")


def clash(claims: Iterable[tuple[str, str]]) -> str:
    """Of names and whose they are: a sentence about the first that two claim, or nothing."""
    owners: dict[str, str] = {}
    for name, owner in claims:
        if name in owners:
            return taken(name, owners[name], owner)
        owners[name] = owner
    return ""


def taken(name: str, first: str, second: str) -> str:
    return f'the tool "{name}" is declared twice: by {first} and by {second}'


class Gate(Protocol):
    def refusal(self, call: ToolCall, context: ToolContext, *, own: bool) -> str:
        """Why the call may not run, for the model to read; empty if it may. `own`: the tool is linnet's. Raises
        Cancelled.
        """

    def finding(self, call: ToolCall) -> Callable[[str], bool] | None:
        """Of a search by linnet's own tools, which paths it may show; None if it may show all."""


class Guarded:
    """A toolset behind a gate. Invariant: a call that the gate refused has not run, whatever is racing.

    `own`: the tools are linnet's, so that it is known what they do.
    """

    def __init__(self, inner: Toolset, gate: Gate, *, own: bool) -> None:
        self._inner = inner
        self._gate = gate
        self._own = own

    @property
    def specs(self) -> Sequence[ToolSpec]:
        return self._inner.specs

    def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        reason = self._gate.refusal(call, context, own=self._own)
        if reason:
            return refused(reason)
        context.cancel.check()
        if self._own and (finding := self._gate.finding(call)) is not None:
            context = context.finding(finding)
        return self._inner.run(call, context)


def refused(reason: str) -> ToolOutput:
    """For the model a sentence; for clients a mark, since a refusal is no failure of the tool's."""
    return ToolOutput((Text(reason),), is_error=True, details={"denied": True})
