"""The tools of one program, as a toolset."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from linnet.core.messages import ToolCall
from linnet.core.toolspec import ToolSpec
from linnet.extensions.programs import facts
from linnet.extensions.programs.tool_results import failed
from linnet.tools.context import ToolContext
from linnet.tools.spec import ToolOutput

if TYPE_CHECKING:
    from linnet.extensions.programs.exchange import Exchange


class ProgramTools:
    """Those that it has registered by now. One that is gone offers none, and says so if it is called all the same."""

    def __init__(self, exchange: "Exchange") -> None:
        self._exchange = exchange

    @property
    def specs(self) -> Sequence[ToolSpec]:
        machine = self._exchange.machine
        return () if machine.phase in ("closing", "gone") else tuple(machine.tools.values())

    def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        """Raises Cancelled, and nothing else."""
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
