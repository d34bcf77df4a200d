"""The Extension that is written in Python: calls its handlers, commands and tools in threads of its own."""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from linnet.concurrency.loop import Loop
from linnet.core.cancel import Cancel
from linnet.core.extensions import extension_events, hooks
from linnet.core.extensions.hooks import Decision, Misfit, Outcome, decided, folded
from linnet.core.slash import Location
from linnet.errors import Cancelled
from linnet.extensions.chain import explained
from linnet.extensions.extension import ExtensionCommand
from linnet.extensions.host import Host
from linnet.extensions.python.api import ASKED, TOLD, Linnet
from linnet.extensions.python.context import Context
from linnet.extensions.python.mailbox import Mailbox
from linnet.extensions.python.workers import Call, Workers

if TYPE_CHECKING:
    from linnet.tools.toolset import Toolset

_CO_COROUTINE = 0x80  # As `inspect` has it, which costs 6 ms to import.


class PythonExtension:
    """An Extension. Each call of a handler has a thread; one that hangs keeps its thread, and holds up no other."""

    replaces_tools = True

    def __init__(self, registered: Linnet, location: Location, host: Host, patience: float) -> None:
        """`patience` are the seconds that a handler has for an event that it is told of."""
        self.name = registered.name
        self.path = registered.path
        self.location = location
        self.commands: Sequence[ExtensionCommand] = [
            ExtensionCommand(name, text) for name, (text, _) in registered._commands.items()
        ]
        self.providers = tuple(registered._providers.values())
        self._commands = registered._commands
        self._handlers = registered._handlers
        self._host = host
        self._patience = patience
        self._workers = Workers()
        self._loop = Loop()
        self._mailbox = Mailbox(self._workers, self._deliver)
        self.asked = cast("Collection[hooks.Name]", frozenset(self._handlers) & frozenset(ASKED))
        self.told = cast("Collection[extension_events.Name]", frozenset(self._handlers) & frozenset(TOLD))
        self.tools: Toolset | None = None
        if registered._tools:
            from linnet.extensions.python.tools import ExtensionTools

            self.tools = ExtensionTools(registered._tools, host, self.name, self._workers, self._loop)

    def wait_ready(self, patience: float, hurry: Cancel) -> None:
        """Return at once: it registered all it offers when it was loaded."""

    def ask(self, event: hooks.Hook, cancel: Cancel, patience: float) -> Decision | None:
        """Ask its handlers one after the other, each of which sees what those before it changed."""

        def asked(handler: Callable[..., Any], event: hooks.Hook) -> Outcome[hooks.Hook]:
            return decided(event, _decision(event.name, self._call(handler, event, cancel, patience)))

        outcome = folded(event, (partial(asked, handler) for handler in self._handlers[event.name]))
        if outcome.stop is not None:
            return outcome.stop
        after = {name: getattr(outcome.event, name) for name in event.replaceable}
        changes = {name: value for name, value in after.items() if value is not getattr(event, name)}
        return hooks.Replace(changes) if changes else None

    def tell(self, event: extension_events.Observed) -> None:
        """Put the event into the mailbox of its handlers."""
        self._mailbox.put(event)

    def run_command(self, name: str, arguments: str, cancel: Cancel) -> None:
        """Call the function of a command, which may take as long as it likes."""
        _, function = self._commands[name]
        self._call(function, arguments, cancel, None)

    def close(self, patience: float) -> None:
        """Wait until its handlers have heard all, then end its threads; one that hangs is left."""
        self._mailbox.wait(patience)
        self._workers.close()
        self._loop.close(min(patience, 0.2))

    def _deliver(self, event: extension_events.Observed) -> None:
        """Call the handlers of an event that happened; a failure is reported. Called by the mailbox's thread."""
        for handler in self._handlers[event.name]:
            try:
                self._call(handler, event, None, self._patience)
            except Cancelled:
                return
            except Exception as fault:
                self._host.failed(self.path, event.name, explained(fault))

    def _call(self, function: Callable[..., Any], about: Any, cancel: Cancel | None, patience: float | None) -> Any:
        """Call a function in a thread, and return what it returns. Raises as `Workers.call`."""
        return self._workers.call(lambda call: self._called(function, about, call), cancel, patience)

    def _called(self, function: Callable[..., Any], about: Any, call: Call[Any]) -> Any:
        """Call a function with its context, in this thread, or in the loop if it is asynchronous."""
        context = Context(self._host, self.name, call)
        if not is_async(function):
            return function(about, context)
        from linnet.extensions.python.awaited import AsyncContext, awaited

        return awaited(lambda: function(about, AsyncContext(context)), call, self._loop)


def is_async(function: Callable[..., Any]) -> bool:
    """Return whether a function is `async def`."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return code is not None and bool(code.co_flags & _CO_COROUTINE)


def _decision(name: str, returned: Any) -> Decision | None:
    """Return the decision that a handler returned. Raises Misfit if it is none."""
    if returned is None or isinstance(returned, Decision):
        return returned
    raise Misfit(
        f"a handler of {name} returned {returned!r:.100}; it may return block, cancel, handled, replace or None"
    )
