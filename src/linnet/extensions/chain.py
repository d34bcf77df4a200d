"""Asks and tells all extensions of a session, one after the other. A failure of one is reported, and stops no other."""

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from time import monotonic
from typing import Any, TypeVar

from linnet.core.cancel import Cancel
from linnet.core.events import Event
from linnet.core.extensions.extension_events import Name as Told
from linnet.core.extensions.extension_events import Observed
from linnet.core.extensions.hooks import Block, Decision, Hook, Name, Outcome, decided, folded
from linnet.core.messages import Message, Note
from linnet.errors import BadInput, Cancelled
from linnet.extensions.extension import Extension, ExtensionCommand, Hearing

Asked = TypeVar("Asked", bound=Hook)
PATIENCE = 10.0  # Seconds that an extension has for one question.
TOO_LONG = "took longer than {:g} s"
DENIED = "Denied: the extension {} could not be asked: {}"


class Chain:
    """The extensions of one session, in order. May be used by any thread.

    Invariants: handlers are asked in the order of the extensions, and each sees what those before it changed; a guard
    that fails says no; any other that fails has said nothing.
    """

    def __init__(
        self,
        extensions: Sequence[Extension],
        failed: Callable[[str, str, str], None],
        patience: float = PATIENCE,
    ) -> None:
        """`failed` is called with the path of an extension, the event and the error."""
        self.extensions = tuple(extensions)
        self._hearing = [each for each in extensions if isinstance(each, Hearing)]
        self.waiting: deque[Note] = deque()
        """Notes of extensions that are said after what the user says next."""
        self._failed = failed
        self._patience = patience

    def handles(self, name: Name) -> bool:
        """Return whether any extension wants to be asked about it."""
        return any(name in extension.asked for extension in self.extensions)

    def hears(self, name: Told) -> bool:
        """Return whether any extension wants to be told of it."""
        return any(name in extension.told for extension in self.extensions)

    @property
    def hears_passing(self) -> bool:
        """Whether any extension wants to be told of each piece of a reply, or of a tool's output."""
        return self.hears("message_update") or self.hears("tool_execution_update")

    def ask(self, event: Asked, cancel: Cancel) -> Outcome[Asked]:
        """Ask all who want it, and return what they decided. Not to be called under the session's lock.

        Raises Cancelled, and nothing else.
        """
        asked = (extension for extension in self.extensions if event.name in extension.asked)
        return folded(event, (partial(self._asked, extension, cancel) for extension in asked))

    def tell(self, event: Observed) -> None:
        """Tell all who want it. Returns at once; never raises."""
        for extension in self.extensions:
            if event.name in extension.told:
                extension.tell(event)

    def hear(self, event: Event) -> None:
        """Pass an event as it is to those who want that. Returns at once; never raises."""
        for extension in self._hearing:
            extension.hear(event)

    @property
    def detailed(self) -> Sequence[Hearing]:
        """Return those extensions that are told more, and say more about their tools."""
        return self._hearing

    def runs_alone(self, tool: str) -> bool:
        """Return whether no other call may run while this tool does."""
        return any(tool in extension.sequential for extension in self._hearing)

    @property
    def hears_all(self) -> bool:
        """Whether any extension wants the session's own events."""
        return bool(self._hearing)

    def ending(self, messages: Sequence[Message], cancel: Cancel) -> None:
        """Have those who want it hear that a run has ended, before anybody else does. Raises only Cancelled."""
        for extension in self._hearing:
            try:
                extension.ending(messages, cancel, self._patience)
            except Cancelled:
                raise
            except Exception as fault:
                cancel.check()
                self._failed(extension.path, "agent_end", explained(fault))

    def ended(self, message: Message, cancel: Cancel) -> Message:
        """Have those who want it hear the end of a message, and return it as they want it. Raises only Cancelled."""
        for extension in self._hearing:
            try:
                message = extension.ended(message, cancel, self._patience)
            except Cancelled:
                raise
            except Exception as fault:
                cancel.check()
                self._failed(extension.path, "message_end", explained(fault))
        return message

    def settling(self, messages: Sequence[Message], outcome: str, cancel: Cancel) -> tuple[list[Note], bool]:
        """Return notes to add before the agent is done with a prompt, and whether it goes on. Raises only Cancelled."""
        added: list[Note] = []
        goes_on = False
        for extension in self._hearing:
            try:
                notes, more = extension.settling([*messages, *added], outcome, cancel, self._patience)
            except Cancelled:
                raise
            except Exception as fault:
                cancel.check()
                self._failed(extension.path, "agent_before_settle", explained(fault))
            else:
                added += notes
                goes_on = goes_on or more
        return added, goes_on

    def headers(self, headers: dict[str, str], cancel: Cancel) -> dict[str, str | None]:
        """Return the headers with which a request is to be sent; None for one that is not. Raises only Cancelled."""
        after: dict[str, str | None] = {**headers}
        for extension in self._hearing:
            try:
                given = {name: value for name, value in after.items() if value is not None}
                after |= extension.headers(given, cancel, self._patience)
            except Cancelled:
                raise
            except Exception as fault:
                cancel.check()
                self._failed(extension.path, "before_provider_headers", explained(fault))
        return after

    def wants(self, name: str) -> bool:
        """Return whether any extension wants to be told of an event of pi's that is not the session's own."""
        return any(extension.wants(name) for extension in self._hearing)

    def told_of(self, name: str, payload: dict[str, Any]) -> None:
        """Tell them of it. Returns at once."""
        for extension in self._hearing:
            extension.told_of(name, payload)

    def settle(self) -> None:
        """Wait until those who are told more have heard all of it. Not to be called under the session's lock."""
        for extension in self._hearing:
            extension.settle(self._patience)

    def hints(self, tools: Collection[str]) -> list[str]:
        """Return what extensions say about those of their tools that the model has, for the system prompt."""
        return [line for extension in self._hearing for line in extension.hints(tools)]

    def close(self, patience: float) -> None:
        """Close all of them, who share `patience` seconds. Never raises."""
        deadline = monotonic() + patience
        for extension in self.extensions:
            extension.close(max(0.0, deadline - monotonic()))

    def commands(self) -> Iterator[tuple[Extension, ExtensionCommand]]:
        """Yield the commands that can be called; of a name that two have, the first one's."""
        seen: set[str] = set()
        for extension in self.extensions:
            for command in extension.commands:
                if command.name not in seen:
                    seen.add(command.name)
                    yield extension, command

    def has_command(self, name: str) -> bool:
        """Return whether any extension has a command of this name."""
        return any(command.name == name for _, command in self.commands())

    def run_command(self, name: str, arguments: str, cancel: Cancel) -> None:
        """Run a command to its end; a failure of it is reported. Raises Cancelled; BadInput if nobody has it."""
        for extension, command in self.commands():
            if command.name == name:
                self._run_command(extension, name, arguments, cancel)
                return
        raise BadInput(f"no extension has a command /{name}")

    def _run_command(self, extension: Extension, name: str, arguments: str, cancel: Cancel) -> None:
        try:
            extension.run_command(name, arguments, cancel)
        except Cancelled:
            raise
        except Exception as fault:
            cancel.check()
            self._failed(extension.path, "command", f"/{name}: {explained(fault)}")

    def _asked(self, extension: Extension, cancel: Cancel, event: Asked) -> Outcome[Asked]:
        """Ask one extension, and return what it decided; if it fails, that is reported. Raises only Cancelled."""
        cancel.check()
        try:
            decision: Decision | None = extension.ask(event, cancel, self._patience)
            return decided(event, decision)
        except Cancelled:
            cancel.check()
            error = "it was cancelled"
        except TimeoutError as fault:
            error = str(fault) or TOO_LONG.format(self._patience)
        except Exception as fault:
            cancel.check()  # What it raised because it was interrupted is no failure of its own.
            error = explained(fault)
        self._failed(extension.path, event.name, error)
        return Outcome(event, Block(DENIED.format(extension.name, error)) if event.guard else None)


def explained(fault: Exception) -> str:
    """Return the words of an exception, or its name if it has none."""
    return str(fault) or type(fault).__name__
