"""What an extension may do to the session it belongs to. The runtime implements it."""

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


class Host(Protocol):
    """All of it may be used from any thread, and none of it under the session's lock."""

    @property
    def cwd(self) -> str: ...

    @property
    def home(self) -> str:
        """Where linnet keeps what is the user's own."""

    @property
    def flags(self) -> Mapping[str, Any]:
        """What the command line said in flags that extensions have registered."""

    @property
    def processes(self) -> "Processes":
        """What starts children, and sees that none is left."""

    @property
    def session_id(self) -> str: ...

    @property
    def session_file(self) -> str | None: ...

    @property
    def model(self) -> Model: ...

    @property
    def busy(self) -> bool:
        """Whether the agent is at work."""

    def ask(self, question: Question, cancel: Cancel, timeout: float | None = None) -> Reply | None:
        """Put it to the user, and wait. None is no answer. Raises Cancelled."""

    def show(self, shown: Shown) -> None:
        """Tell whoever drives the agent, and wait while they are far behind."""

    def say(self, text: str, how: Saying, kind: str = "", details: Any = None) -> None:
        """To the agent. One that works hears it when `how` says; one that does not begins to work, unless it is a note,
        which it will be shown with the next prompt. With a `kind` it is nothing that the user said. Raises LinnetError.
        """

    def run(self, command: CoreCommand, cancel: Cancel) -> Answer:
        """What a client could have asked for, and what it is answered. Raises LinnetError; Cancelled if there is an
        abort before the answer.
        """

    def abort(self) -> None:
        """What the agent does now. Returns at once."""

    def keep(self, owner: str, data: Any) -> None:
        """Plain JSON, in the session, behind what was said last. Raises SessionError if that cannot be written."""

    def kept(self, owner: str) -> Any:
        """What was kept last on the way to where the conversation stands; None if nothing was."""

    def owner(self, tool: str, path: str) -> str:
        """Who but the extension at this path has a tool of this name: linnet itself, or the path of another extension
        that was loaded before; empty if nobody has.
        """

    def failed(self, path: str, event: str, error: str) -> None:
        """Tell whoever drives the agent that an extension did. Returns at once."""
