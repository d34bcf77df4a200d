"""Has a call begin only once that is committed, so that nobody who takes the agent over can be wrong about it."""

from collections.abc import Sequence

from linnet.core.fleet.records import Effect
from linnet.core.messages import AssistantMessage, ToolCall
from linnet.core.toolspec import ToolSpec
from linnet.errors import Closed
from linnet.fleet.committer import Committer
from linnet.tools.context import ToolContext
from linnet.tools.spec import ToolOutput
from linnet.tools.toolset import Toolset, refused

READING = frozenset({"read", "grep", "find", "ls"})
"""Tools of ours that change nothing: they may be run again."""


class Ledger:
    """An `Around`. It hears of replies under the session's lock, before their calls can begin."""

    def __init__(self, committer: Committer) -> None:
        self._committer = committer
        self._reply = ""
        self._calls: tuple[ToolCall, ...] = ()

    def replied(self, id: str, message: AssistantMessage) -> None:
        """Take note of the reply whose calls come next."""
        self._reply, self._calls = id, tuple(message.calls)

    def behind_gate(self, tools: Toolset, *, own: bool) -> Toolset:
        return _Noted(tools, self, own=own)

    def before_gate(self, tools: Toolset, *, own: bool) -> Toolset:
        return tools

    def begin(self, call: ToolCall, context: ToolContext, *, repeatable: bool) -> None:
        """Commit that a call begins. Raises Cancelled, and Closed if this worker owns the agent no more."""
        effect = Effect(self.name(call), call.name, "begun", repeatable)
        self._committer.wait(self._committer.add(effect), context.cancel)
        context.cancel.check()

    def end(self, call_id: str) -> None:
        """Take note that a call has its result, which is told with it."""
        call = next((each for each in self._calls if each.id == call_id), None)
        if call is not None:
            self._committer.add(Effect(self.name(call), call.name, "done"))

    def name(self, call: ToolCall) -> str:
        """Return what names the call in the ledger: its reply and its place there, for models repeat ids."""
        return called(self._reply, self._calls, call)


def called(reply: str, calls: Sequence[ToolCall], call: ToolCall) -> str:
    """Return what names one of a reply's calls in the ledger."""
    place = next((at for at, each in enumerate(calls) if each is call), None)
    if place is None:
        place = next((at for at, each in enumerate(calls) if each.id == call.id), len(calls))
    return f"{reply}/{place}"


class _Noted:
    """Tools whose calls are noted. Invariant: what was refused, or is not ours any more, has not run."""

    def __init__(self, inner: Toolset, ledger: Ledger, *, own: bool) -> None:
        self._inner = inner
        self._ledger = ledger
        self._own = own

    @property
    def specs(self) -> Sequence[ToolSpec]:
        return self._inner.specs

    def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        try:
            self._ledger.begin(call, context, repeatable=self._own and call.name in READING)
        except Closed as error:  # Nothing of the run is written any more, this neither.
            return refused(str(error))
        return self._inner.run(call, context)
