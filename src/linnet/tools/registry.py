"""The toolset of linnet's own tools."""

from collections.abc import Iterable
from typing import Any

from linnet.core.messages import ToolCall
from linnet.core.toolspec import ToolSpec
from linnet.errors import Cancelled, ToolFailed, ToolNotRun
from linnet.logs import broke
from linnet.tools.context import ToolContext
from linnet.tools.spec import Tool, ToolOutput, check_args, failed


class Registry:
    """A toolset of Tools. Invariant: `specs` is sorted by name, so that a vendor's prompt cache survives a restart."""

    def __init__(self, tools: Iterable[Tool[Any]]) -> None:
        self._tools = {tool.spec.name: tool for tool in sorted(tools, key=lambda tool: tool.spec.name)}
        self.specs: tuple[ToolSpec, ...] = tuple([tool.spec for tool in self._tools.values()])

    def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        """Run the call and return its output; what goes wrong is output for the model. Raises only Cancelled."""
        tool = self._tools.get(call.name)
        try:
            if tool is None:
                pi = context.wording != "zot"
                raise ToolNotRun(f"Tool {call.name} not found" if pi else f'unknown tool "{call.name}"')
            check_args(call)
            return tool.run(call.args, context)
        except ToolFailed as failure:
            return failed(failure)
        except Cancelled:
            raise
        except Exception as fault:
            broke(__name__, f"the {call.name} tool broke")
            return failed(f"{call.name} failed: {type(fault).__name__}: {fault}")
