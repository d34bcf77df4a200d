"""The interface by which an extension acts on its session. The runtime implements it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from linnet.core.cancel import Cancel
from linnet.core.commands import Answer
from linnet.core.commands import Command as CoreCommand
from linnet.core.models import Model
from linnet.core.questions import Question, Reply
from linnet.core.ui_events import Shown

if TYPE_CHECKING:
    from linnet.processes.process import Processes

Saying: TypeAlias = Literal["prompt", "steer", "follow_up", "note"]
"""When an agent that works hears what is said: see `Host.say`."""


class Host(Protocol):
    """The session of an extension. Any thread may use it, and none that holds the session's lock."""

    @property
    def cwd(self) -> str:
        """The working folder."""

    @property
    def home(self) -> str:
        """The folder where linnet keeps what is the user's own."""

    @property
    def flags(self) -> Mapping[str, Any]:
        """The values that the command line gives for flags that extensions have registered."""

    @property
    def processes(self) -> "Processes":
        """What starts children, and sees that none is left."""

    @property
    def session_id(self) -> str:
        """The id of the session, which changes when another one is opened."""

    @property
    def session_file(self) -> str | None:
        """The file of the session; None if it is in memory only."""

    @property
    def model(self) -> Model:
        """The model that is chosen now."""

    @property
    def busy(self) -> bool:
        """Whether the agent is at work."""

    def ask(self, question: Question, cancel: Cancel, timeout: float | None = None) -> Reply | None:
        """Put a question to the user, wait, and return the reply; None is no answer. Raises Cancelled."""

    def show(self, shown: Shown) -> None:
        """Show something to whoever drives the agent; wait while they are far behind with reading."""

    def say(self, text: str, how: Saying, kind: str = "", details: Any = None) -> None:
        """Say something to the agent. One that works hears it when `how` says; one that does not begins to work, unless
        it is a note, which is shown to the model with the next prompt. With a `kind` it is an entry of that kind, and
        nothing that the user said. Raises LinnetError.
        """

    def run(self, command: CoreCommand, cancel: Cancel) -> Answer:
        """Carry out a command as if a client had sent it, and return the answer. Raises LinnetError; Cancelled if there
        is an abort before the answer.
        """

    def abort(self) -> None:
        """Abort what the agent does now. Returns at once."""

    def keep(self, owner: str, data: Any) -> None:
        """Keep plain JSON in the session, after what was said last. Raises SessionError if that cannot be written."""

    def kept(self, owner: str) -> Any:
        """Return what this owner kept last on the branch where the conversation stands; None if nothing."""

    def owner(self, tool: str, path: str) -> str:
        """Return who but the extension at this path has a tool of this name: linnet itself, or the path of another
        extension that was loaded before; nothing if nobody has.
        """

    def failed(self, path: str, event: str, error: str) -> None:
        """Tell whoever drives the agent that an extension failed. Returns at once."""
