"""Puts a toolset behind extensions: they are asked about each call, and about its result."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from linnet.core.extensions.hooks import Block, ToolCalling, ToolReturning
from linnet.core.messages import ToolCall
from linnet.core.toolspec import ToolSpec
from linnet.extensions.chain import Chain
from linnet.tools.context import ToolContext
from linnet.tools.spec import ToolOutput
from linnet.tools.toolset import Toolset, refused

BLOCKED = "Tool execution was blocked by an extension"


class Hooked:
    """A toolset behind extensions. Invariant: a call that one of them blocked has not run.

    They are not asked about a call that cannot run: of a tool that is not there, or with arguments that are no object.
    """

    def __init__(self, inner: Toolset, chain: Chain) -> None:
        self._inner = inner
        self._chain = chain

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """The tools of the toolset."""
        return self._inner.specs

    def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        """Run the call as extensions changed it, and return its output as they changed that. Raises Cancelled."""
        chain, cancel = self._chain, context.cancel
        if call.unparsed or not any(spec.name == call.name for spec in self._inner.specs):
            return self._inner.run(call, context)
        if chain.handles("tool_call"):
            outcome = chain.ask(ToolCalling(call.id, call.name, _copied(call.args)), cancel)
            if outcome.stop is not None:
                reason = outcome.stop.reason if isinstance(outcome.stop, Block) else ""
                return refused(reason or BLOCKED)
            cancel.check()  # Somebody may have thought about it for long.
            call = replace(call, args=outcome.event.args)
        output = self._inner.run(call, context)
        context.ended()  # If an abort comes while extensions are asked about it, it has run all the same.
        if not chain.handles("tool_result"):
            return output
        asked = ToolReturning(
            call.id, call.name, _copied(call.args), output.content, output.is_error, _copied(output.details)
        )
        after = chain.ask(asked, cancel).event
        return ToolOutput(after.content, after.is_error, after.details, output.ends_run)


def _copied(value: Any) -> Any:
    """Return a copy of plain JSON, which a handler may change without changing the conversation."""
    if isinstance(value, dict):
        return type(value)((key, _copied(each)) for key, each in value.items())
    return [_copied(each) for each in value] if isinstance(value, list) else value
