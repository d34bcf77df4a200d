"""The interface between the runtime and an extension, in whatever language that is written."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from msgspec import Struct

from linnet.core.cancel import Cancel
from linnet.core.events import Event
from linnet.core.extensions import extension_events, hooks
from linnet.core.messages import Message, Note
from linnet.core.models import NOTHING
from linnet.core.slash import Location

if TYPE_CHECKING:
    from linnet.tools.toolset import Toolset


class ExtensionCommand(Struct, frozen=True):
    """A command that a user can type as `/name arguments`."""

    name: str
    description: str = ""


class AddedProvider(Struct, frozen=True):
    """A provider of models that an extension brings: a server, or a function."""

    name: str
    models: Sequence[Any]
    base_url: str = ""
    api: str = ""
    key_variable: str = ""
    stream: Callable[..., Any] | None = None
    key: str = ""
    """A key that the extension brings itself."""
    headers: Mapping[str, str] = NOTHING


class Extension(Protocol):
    """An extension that is loaded, and has its host. What it offers may change at any time, so nothing of it is kept.

    Invariant: a failure of its code leaves it only as an exception from `ask`, `run_command` and its tools.
    """

    @property
    def name(self) -> str:
        """Its name, which no other has: what it shows and keeps is told apart by it."""

    @property
    def path(self) -> str:
        """Where it is on disk, or its module: what `hook_error` names."""

    @property
    def location(self) -> Location:
        """Whether it is the user's or the project's, or was named."""

    @property
    def commands(self) -> Sequence[ExtensionCommand]:
        """The commands that it has now."""

    @property
    def providers(self) -> Sequence[AddedProvider]:
        """The providers of models that it brought when it was loaded."""

    @property
    def tools(self) -> "Toolset | None":
        """Its tools; None if it has none."""

    @property
    def replaces_tools(self) -> bool:
        """Whether a tool of its own is used instead of linnet's of the same name. Otherwise linnet's is."""

    @property
    def asked(self) -> Collection[hooks.Name]:
        """The hooks that it wants to be asked about."""

    @property
    def told(self) -> Collection[extension_events.Name]:
        """The events that it wants to be told of."""

    def wait_ready(self, patience: float, hurry: Cancel) -> None:
        """Wait until it has said what it offers, or until `hurry` is set: then nobody wants to wait any more.

        Called before anything else. Raises what keeps it from being used; TimeoutError after `patience` seconds.
        """

    def ask(self, event: hooks.Hook, cancel: Cancel, patience: float) -> hooks.Decision | None:
        """Ask it, and return what it decides; None if it has nothing to say about it.

        It has `patience` seconds, not counted while it waits for the user. Raises Cancelled as soon as there is an
        abort, TimeoutError when the time is over, and whatever goes wrong.
        """

    def tell(self, event: extension_events.Observed) -> None:
        """Tell it of an event; its handlers hear one at a time, in order.

        Called under the session's lock, so it returns at once. Never raises.
        """

    def run_command(self, name: str, arguments: str, cancel: Cancel) -> None:
        """Run a command of its to the end. Raises Cancelled as soon as there is an abort, and whatever goes wrong."""

    def close(self, patience: float) -> None:
        """Wait, `patience` seconds at most, until it has heard that the session ends, of which it was told before; then
        end all of it that can be ended. Idempotent.
        """


@runtime_checkable
class Hearing(Protocol):
    """An extension that is told of a session in more detail, and says more about its tools."""

    path: str
    hidden: Collection[str]
    """Those of its tools that are not active before an extension activates them."""
    sequential: Collection[str]
    """Those of its tools that run one at a time."""

    def hear(self, event: Event) -> None:
        """Take one of the session's own events. Called under the session's lock, so it returns at once."""

    def ending(self, messages: Sequence[Message], cancel: Cancel, patience: float) -> None:
        """Take note that a run has ended with these messages, which nobody was told yet: what is said to the agent
        before this returns, it goes on with. Raises Cancelled, and whatever goes wrong.
        """

    def ended(self, message: Message, cancel: Cancel, patience: float) -> Message:
        """Hear the end of a message that nobody was told yet, and return it as it is to be: of the same role, and with
        the same id if it has one. Raises Cancelled, and whatever goes wrong.
        """

    def settling(
        self, messages: Sequence[Message], outcome: str, cancel: Cancel, patience: float
    ) -> tuple[Sequence[Note], bool]:
        """Return notes to add before the agent is done with a prompt, of which this came, and whether it is to go on
        with them. Raises Cancelled, and whatever goes wrong.
        """

    def headers(self, headers: dict[str, str], cancel: Cancel, patience: float) -> dict[str, str | None]:
        """Return the headers with which a request is to be sent; None for one that is not to be sent. Given are those
        that the user has set, without secrets. Raises Cancelled, and whatever goes wrong.
        """

    def wants(self, name: str) -> bool:
        """Return whether it wants to be told of an event of pi's that is not the session's own."""

    def told_of(self, name: str, payload: dict[str, Any]) -> None:
        """Take such an event. Returns at once."""

    def settle(self, patience: float) -> None:
        """Wait until its handlers have heard all that it was told, `patience` seconds at most, not counted while one
        of them waits for the user. Never raises.
        """

    def hints(self, tools: Collection[str]) -> list[str]:
        """Return what the system prompt is to say of those of its tools that the model has."""
