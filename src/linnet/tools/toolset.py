"""Tools that come together: something with specs, that runs a call. Wrapped around or put beside each other."""

from collections.abc import Sequence
from typing import Protocol

from linnet.core.messages import Text, ToolCall
from linnet.core.toolspec import ToolSpec
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
    restart; of a name that two have, only the first one's is there.
    """

    def __init__(self, first: Toolset, *others: Toolset, before: Sequence[Toolset] = ()) -> None:
        """What no toolset has is given to the first, which says that it does not know it. Those `before` it may have
        tools of the same name, which are then used instead.
        """
        self._first = first
        self._all = (*before, first, *others)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        found: dict[str, ToolSpec] = {}
        for toolset in self._all:
            for spec in toolset.specs:
                found.setdefault(spec.name, spec)
        return tuple(found[name] for name in sorted(found))

    def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        for toolset in self._all:
            if any(spec.name == call.name for spec in toolset.specs):
                return toolset.run(call, context)
        return self._first.run(call, context)


class Gate(Protocol):
    def refusal(self, call: ToolCall, context: ToolContext) -> str:
        """Why the call may not run, for the model to read; empty if it may. Raises Cancelled."""


class Guarded:
    """A toolset behind a gate. Invariant: a call that the gate refused has not run, whatever is racing."""

    def __init__(self, inner: Toolset, gate: Gate) -> None:
        self._inner = inner
        self._gate = gate

    @property
    def specs(self) -> Sequence[ToolSpec]:
        return self._inner.specs

    def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        reason = self._gate.refusal(call, context)
        if reason:
            return refused(reason)
        context.cancel.check()
        return self._inner.run(call, context)


def refused(reason: str) -> ToolOutput:
    return ToolOutput((Text(reason),), is_error=True)
