"""The toolset of an extension in Python."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from linnet.concurrency.loop import Loop
from linnet.core.messages import ToolCall
from linnet.core.toolspec import ToolSpec
from linnet.errors import BadInput, Cancelled, ToolFailed
from linnet.extensions.host import Host
from linnet.extensions.python.context import Context
from linnet.extensions.python.workers import Call, Workers
from linnet.tools.context import ToolContext
from linnet.tools.functions.function import output
from linnet.tools.spec import ToolOutput, check_args, failed

if TYPE_CHECKING:
    from linnet.tools.functions.function import FunctionTool


class ToolCallContext(Context):
    """The Context of a tool, which may also show what it does while it runs."""

    def __init__(self, host: Host, owner: str, call: Call[Any], context: ToolContext, call_id: str) -> None:
        super().__init__(host, owner, call)
        self._context = context
        self.call_id = call_id

    def progress(self, text: str) -> None:
        """Show new output while the tool runs."""
        self._context.progress(text)


class ExtensionTools:
    """A toolset. A tool may take as long as it likes; an abort is not kept waiting by one that does not notice it."""

    def __init__(self, tools: Sequence["FunctionTool"], host: Host, owner: str, workers: Workers, loop: Loop) -> None:
        self._tools = {tool.spec.name: tool for tool in tools}
        self._host = host
        self._owner = owner
        self._workers = workers
        self._loop = loop

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools, in the order in which they were registered."""
        return tuple(tool.spec for tool in self._tools.values())

    def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        """Call the function in a worker's thread and return its output. Raises only Cancelled."""
        try:
            return self._workers.call(lambda waiting: self._run(call, context, waiting), context.cancel, None)
        except Cancelled:
            context.cancel.check()
            return failed(f"{call.name} was cancelled")
        except (ToolFailed, BadInput) as failure:
            return failed(failure)
        except Exception as fault:
            context.cancel.check()  # What it raised because it was interrupted is no failure of its own.
            return failed(f"{type(fault).__name__}: {fault}")

    def _run(self, call: ToolCall, context: ToolContext, waiting: Call[Any]) -> ToolOutput:
        """Check the arguments, and call the function. Raises whatever goes wrong."""
        check_args(call)
        own = ToolCallContext(self._host, self._owner, waiting, context, call.id)
        tool = self._tools[call.name]
        if not tool.is_async:
            bound = tool.bound(call.args, own)
            context.begin()
            return output(bound())
        from linnet.extensions.python.awaited import AsyncContext, awaited

        bound = tool.bound(call.args, AsyncContext(own))
        context.begin()
        return output(awaited(bound, waiting, self._loop))
