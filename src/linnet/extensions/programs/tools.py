"""The toolset of an extension that is a program."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from linnet.core.messages import ToolCall
from linnet.core.toolspec import ToolSpec
from linnet.extensions.programs import facts
from linnet.tools.context import ToolContext
from linnet.tools.spec import ToolOutput, failed

if TYPE_CHECKING:
    from linnet.extensions.programs.exchange import Exchange


class ProgramTools:
    """The tools that a program has registered by now; none when it is gone. A call of such a tool says so."""

    def __init__(self, exchange: "Exchange") -> None:
        self._exchange = exchange

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """The tools, in the order in which they were registered."""
        machine = self._exchange.machine
        return () if machine.phase in ("closing", "gone") else tuple(machine.tools.values())

    def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        """Have the program run the call, and return its output. Raises Cancelled, and nothing else."""
        if call.unparsed:
            return failed(f"invalid args: not a JSON object: {call.unparsed[:200]}")
        exchange = self._exchange
        context.begin()
        output = exchange.ask(
            lambda number: facts.CallAsked(number, call.name, call.args),
            exchange.patience.call,
            context.cancel,
            context.progress,
        )
        assert isinstance(output, ToolOutput)
        return output
