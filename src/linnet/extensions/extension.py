"""What an extension is to the runtime, in whatever language it is written."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from linnet.core.cancel import Cancel
from linnet.core.extensions import extension_events, hooks
from linnet.core.slash import Location

if TYPE_CHECKING:
    from linnet.tools.toolset import Toolset


class ExtensionCommand(Struct, frozen=True):
    """What a user may type as `/name arguments`."""

    name: str
    description: str = ""


class Extension(Protocol):
    """Loaded, and given its host. What it offers may change at any time; it is asked for it each time it is needed.

    Invariant: nothing that it does wrong leaves it, but as an exception from `ask`, `run_command` and its tools.
    """

    @property
    def name(self) -> str:
        """A word for it, which no other has: what it shows and keeps is told apart by it."""

    @property
    def path(self) -> str:
        """Where it is from: what `hook_error` names."""

    @property
    def location(self) -> Location: ...

    @property
    def commands(self) -> Sequence[ExtensionCommand]: ...

    @property
    def tools(self) -> "Toolset | None":
        """None if it has no tools."""

    @property
    def replaces_tools(self) -> bool:
        """Whether a tool of its own is used instead of linnet's of the same name. Otherwise linnet's is."""

    @property
    def asked(self) -> Collection[hooks.Name]:
        """What it wants to be asked about."""

    @property
    def told(self) -> Collection[extension_events.Name]:
        """What it wants to be told of."""

    def wait_ready(self, patience: float, hurry: Cancel) -> None:
        """Until it has said what it offers, or until `hurry` is set: nobody wants to wait any more. Called once, before
        anything else. Raises what keeps it from being used; TimeoutError when the time is over.
        """

    def ask(self, event: hooks.Hook, cancel: Cancel, patience: float) -> hooks.Decision | None:
        """None if it has nothing to say about it. It has so many seconds, not counted while it waits for the user.

        Raises Cancelled as soon as there is an abort, TimeoutError when the time is over, and whatever goes wrong.
        """

    def tell(self, event: extension_events.Observed) -> None:
        """Returns at once; its handlers hear one event at a time, in order. Called under the session's lock. Never
        raises.
        """

    def run_command(self, name: str, arguments: str, cancel: Cancel) -> None:
        """To its end. Raises Cancelled as soon as there is an abort, and whatever goes wrong."""

    def close(self, patience: float) -> None:
        """It was told that the session ends. Wait no longer than so many seconds for it to have heard that, then leave
        nothing of it behind that can be ended. Idempotent.
        """
