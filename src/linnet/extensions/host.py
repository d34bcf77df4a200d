"""The interface by which an extension acts on its session. The runtime implements it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from msgspec import Struct

from linnet.core.cancel import Cancel
from linnet.core.commands import Answer, Query, Setting
from linnet.core.commands import Command as CoreCommand
from linnet.core.deltas import Delta
from linnet.core.messages import AssistantMessage, Image, Message, Note, ToolCall
from linnet.core.models import Model, Reasoning
from linnet.core.questions import Question, Reply
from linnet.core.toolspec import ToolSpec
from linnet.core.ui_events import Shown

if TYPE_CHECKING:
    from linnet.processes.process import Processes
    from linnet.tools.spec import ToolOutput

Saying: TypeAlias = Literal["prompt", "steer", "follow_up", "note"]
"""When an agent that works hears what is said: see `Host.say`."""


Delivery: TypeAlias = Literal["", "steer", "follow_up", "next"]
"""When an agent that works hears a note: as the command `steer`, as `follow_up`, or with what is said next."""


class KnownTool(Struct, frozen=True):
    """A tool of a session."""

    spec: ToolSpec
    owner: str
    """The path of the extension that brings it; empty for all others."""
    active: bool
    """Whether the model is offered it."""


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


class PiHost(Host, Protocol):
    """A session as extensions for pi need it: they ask more about it, and do more to it."""

    @property
    def mode(self) -> Literal["rpc", "print"]:
        """How the agent is driven: by a client, or for one prompt."""

    @property
    def answerable(self) -> bool:
        """Whether there is somebody who may answer questions."""

    @property
    def trusted(self) -> bool:
        """Whether what the project brings is used, if it brings anything."""

    @property
    def thinking(self) -> Reasoning:
        """The level of thinking that is set."""

    def query(self, query: Query) -> Answer:
        """Answer a question about the session at once, whatever else waits. Raises LinnetError."""

    def set(self, setting: Setting) -> Answer:
        """Set something at once, whatever else waits. Raises LinnetError."""

    def add(self, note: Note, deliver: Delivery, *, begin: bool) -> None:
        """Add a note to the conversation: now, if the agent does not work, or else when `deliver` says. With `begin`,
        an agent that does not work begins to. Raises LinnetError.
        """

    def say_as_user(self, text: str, images: Sequence[Image], how: Saying, *, expand: bool) -> None:
        """Say something as the user; with `expand`, a `/name` in it means what it would mean to a client."""

    @property
    def keeps_entries(self) -> bool:
        """Whether there is a session, on disk or in memory, that has entries."""

    def label(self, entry: str, label: str) -> None:
        """Label an entry of the session; an empty label takes it away. Raises LinnetError."""

    def tools(self) -> Sequence[KnownTool]:
        """Return all tools of the session."""

    def activate(self, names: Sequence[str]) -> None:
        """Have the model offered these tools from the next step on, and no others. Unknown names do not matter."""

    @property
    def reloaded(self) -> bool:
        """Whether the session went on before its extensions were read again."""

    def discovered(self, skills: Sequence[str], templates: Sequence[str]) -> None:
        """Look for skills and templates in these files and folders, too."""

    def offers_changed(self) -> None:
        """Take note that an extension offers other tools than before."""

    def own_tool(self, name: str) -> ToolSpec:
        """Return what linnet's own tool of this name tells the model. Raises BadInput if there is none."""

    def run_own_tool(self, call: ToolCall, cwd: str, cancel: Cancel) -> "ToolOutput":
        """Run one of linnet's own tools in this folder, without asking anybody. Raises Cancelled."""

    def run_tool(self, call: ToolCall, cancel: Cancel) -> "ToolOutput":
        """Run any tool of the session, as if the model had called it. Raises Cancelled."""

    def system_prompt(self) -> str:
        """Return the system prompt as it is now."""

    def context_files(self) -> Sequence[tuple[str, str]]:
        """Return the paths and the words of the files of instructions that the model is shown."""

    def skills(self) -> Sequence[tuple[str, str]]:
        """Return the names and descriptions of skills."""

    def models(self, *, usable: bool) -> Sequence[Model]:
        """Return all models that are known, or those that can be used."""

    def find_model(self, provider: str, id: str) -> Model | None:
        """Return that model; None if it is not known."""

    def usable(self, provider: str) -> bool:
        """Return whether there is what it takes to ask this provider's models."""

    def complete(
        self, provider: str, id: str, system: str, messages: Sequence[Message], cancel: Cancel
    ) -> AssistantMessage:
        """Ask a model something that is no part of the conversation. Returns the reply, however it ended."""

    def relay(self, request: Any, cancel: Cancel) -> Iterator[Sequence[Delta]]:
        """Have the model of a request asked, and yield the reply. Raises ProviderError, ConfigError, Cancelled."""

    def wait_idle(self, cancel: Cancel) -> None:
        """Wait until no job is active. Raises Cancelled."""

    def shut_down(self) -> None:
        """End the agent as soon as it has nothing left to do. Returns at once."""
