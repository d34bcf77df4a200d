"""The commands that a client may send, and how each kind of them is treated. `answers` has what they are answered with.

Each dialect in `wire` decodes its protocol's lines to these.
"""

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct

from linnet.core.answers import Accepted as Accepted
from linnet.core.answers import AgentState as AgentState
from linnet.core.answers import Answer as Answer
from linnet.core.answers import BashDone as BashDone
from linnet.core.answers import Branched as Branched
from linnet.core.answers import BranchMessages as BranchMessages
from linnet.core.answers import CommandList as CommandList
from linnet.core.answers import Compacted as Compacted
from linnet.core.answers import ContextUse as ContextUse
from linnet.core.answers import Done as Done
from linnet.core.answers import EntryList as EntryList
from linnet.core.answers import EntryTree as EntryTree
from linnet.core.answers import Exported as Exported
from linnet.core.answers import Greeting as Greeting
from linnet.core.answers import LastText as LastText
from linnet.core.answers import ModelChosen as ModelChosen
from linnet.core.answers import ModelCycled as ModelCycled
from linnet.core.answers import ModelList as ModelList
from linnet.core.answers import Navigated as Navigated
from linnet.core.answers import Ok as Ok
from linnet.core.answers import Outline as Outline
from linnet.core.answers import Pong as Pong
from linnet.core.answers import QueueCleared as QueueCleared
from linnet.core.answers import SandboxState as SandboxState
from linnet.core.answers import SessionList as SessionList
from linnet.core.answers import SessionOpened as SessionOpened
from linnet.core.answers import SessionStats as SessionStats
from linnet.core.answers import Started as Started
from linnet.core.answers import ThinkingCycled as ThinkingCycled
from linnet.core.answers import ThinkingLevels as ThinkingLevels
from linnet.core.answers import Transcript as Transcript
from linnet.core.events import JobStarted, QueueMode
from linnet.core.form import Form
from linnet.core.inputs import Input
from linnet.core.messages import Image, Sent, Usage
from linnet.core.models import Reasoning
from linnet.core.questions import Given, ToolReturned
from linnet.core.setting_names import Mode
from linnet.core.slash import Fetch, RunNamed

if TYPE_CHECKING:
    from linnet.core.left_off import LeftOff
    from linnet.core.toolspec import ToolSpec


class Hello(Struct, frozen=True):
    """Ask who is there. The server checks the token before this is answered."""

    token: str


class Prompt(Struct, frozen=True):
    """Say something to the agent. For `kind`, `details`, `meant`, `sent` and `display`, see Input."""

    text: str
    images: tuple[Image, ...] = ()
    when_busy: Literal["wait", "refuse", "steer", "follow_up"] = "wait"
    """Wait for one's turn, be refused, or be said to the agent that is working."""
    when_idle: Literal["begin", "refuse"] = "begin"
    """Begin, or be refused because there is no agent working that it could be said to."""
    slash: Literal["at_once", "in_turn", "refuse", "text"] = "in_turn"
    """What becomes of `/name` if an extension has a command of that name: it is run at once, beside whatever else runs;
    it is run when its turn comes; it is refused; or it is text like any other.
    """
    kind: str = ""
    details: Any = None
    form: Form | None = None
    """What the answer is to have; only for a prompt that is not said to an agent that is working."""
    meant: RunNamed | Fetch | None = None
    sent: Sent | None = None
    shown_first: bool = False
    """If it is queued, that is told before it is answered; otherwise after."""
    display: bool = True

    def as_input(self, time: int) -> Input:
        """Return what the prompt says as an input that came at this time, in milliseconds since 1970."""
        return Input(self.text, self.images, time, self.kind, self.details, self.meant, self.sent, self.display)

    def started(self, spent: Usage) -> JobStarted:
        """Return the event that tells that the job begins; `spent` is what the session has cost."""
        return JobStarted("prompt", self.as_input(0), spent)


class TakeUp(Prompt, frozen=True, kw_only=True):
    """See a prompt to its end that another process began and left off. Its `form` is that of the prompt.

    No protocol has this command. It is refused, as a prompt that fails, where the conversation does not end with what
    was left off.
    """

    text: str = ""
    left_off: "LeftOff | None" = None
    """Where it was left off. None for what the conversation alone can tell: each call without a result may have begun.
    """

    def started(self, spent: Usage) -> JobStarted:
        return JobStarted("prompt", None, spent, taken_up=True)


class Compact(Struct, frozen=True):
    """Replace the older part of the conversation by a summary."""

    instructions: str = ""
    at_once: bool = False
    """Abort what runs instead of waiting for it."""

    def started(self, spent: Usage) -> JobStarted:
        """Return the event that tells that the job begins; `spent` is what the session has cost."""
        return JobStarted("compact", spent=spent)


class NewSession(Struct, frozen=True):
    """Begin a session. Aborts what runs."""

    parent: str | None = None
    """The session that the new one comes from."""


class SwitchSession(Struct, frozen=True):
    """Go on in another session. Aborts what runs."""

    session: str
    """A path, or the beginning of an id."""


class Branch(Struct, frozen=True):
    """Begin a session that goes on from before this message of the user's. Aborts what runs."""

    entry: str


class CloneSession(Struct, frozen=True):
    """Go on with the same conversation in a session of its own. Aborts what runs."""


class Navigate(Struct, frozen=True):
    """Go on from another entry of the same session; from the very beginning if none is given. Aborts what runs."""

    entry: str | None


class Bash(Struct, frozen=True):
    """Run a shell command for the client."""

    command: str
    private: bool = False
    """The model is never told of it."""
    request: bytes | None = None
    """The id of the command in the client's own JSON, empty if it has none, to tell what it prints as it does so; None
    if nobody wants to know.
    """


class ExportHtml(Struct, frozen=True):
    """Write the session as a page, to this file or one that is named after the session."""

    path: str | None = None


class ListSessions(Struct, frozen=True):
    """List the sessions of the folder that is worked in, or of all folders."""

    everywhere: bool = False


class RunCommand(Struct, frozen=True):
    """Run a command of an extension's, beside whatever else runs."""

    name: str
    arguments: str = ""


class Reload(Struct, frozen=True):
    """Read the extensions again. Refused while the agent is at work."""


class Abort(Struct, frozen=True):
    """Cut short the prompt or compaction that runs."""

    keep: bool = False
    """Leave what waits to be said to the agent, for the next prompt; otherwise it is dropped."""
    wait: bool = False
    """Be answered when what was cut short has ended; otherwise at once."""


class ClearQueue(Struct, frozen=True):
    """Take away what waits to be said to the agent."""


class AbortBash(Struct, frozen=True):
    """End the shell commands that run for the client."""


class AbortRetry(Struct, frozen=True):
    """Give up waiting to try a failed run again."""


class GetState(Struct, frozen=True):
    pass


class GetMessages(Struct, frozen=True):
    pass


class GetStats(Struct, frozen=True):
    pass


class GetLastText(Struct, frozen=True):
    pass


class GetBranchMessages(Struct, frozen=True):
    pass


class GetTree(Struct, frozen=True):
    whole: bool = False
    """With all that the entries say, as an EntryTree; otherwise as an Outline."""


class GetEntries(Struct, frozen=True):
    """Return the entries after this one, or all."""

    since: str | None = None


class GetCommands(Struct, frozen=True):
    """Return what a user may type as `/name`: commands of extensions, templates, skills."""


class AnswerQuestion(Struct, frozen=True):
    """Answer a question."""

    question: str  # The id it was asked with, here and below.
    given: Given


class ReturnTool(Struct, frozen=True):
    """Return what came of a tool that the client was asked to run."""

    question: str
    returned: ToolReturned


class ReportToolProgress(Struct, frozen=True):
    """Report new output of a tool that the client runs."""

    question: str
    text: str


class SetTools(Struct, frozen=True):
    """Declare the tools that the client runs, instead of those it declared before."""

    tools: "tuple[ToolSpec, ...]"


class SetSessionName(Struct, frozen=True):
    name: str


class Clear(Struct, frozen=True):
    """Forget the conversation, and go on from an empty one."""


class SetModel(Struct, frozen=True):
    """Choose a model; without a provider, one of the present provider's."""

    model: str
    provider: str | None = None
    save: bool = False  # In the user's settings too, here and below.


class CycleModel(Struct, frozen=True):
    pass


class GetModels(Struct, frozen=True):
    """List the models of the present provider, or of every provider there is a key for."""

    everywhere: bool = False


class GetThinkingLevels(Struct, frozen=True):
    """List the levels of thinking that the present model has."""


class SetThinking(Struct, frozen=True):
    level: Reasoning
    save: bool = False


class CycleThinking(Struct, frozen=True):
    pass


class SetPermission(Struct, frozen=True):
    """Choose what happens to tool calls that no rule matches. No protocol but ACP has this command."""

    mode: Mode


class SetSteeringMode(Struct, frozen=True):
    mode: QueueMode
    save: bool = False


class SetFollowUpMode(Struct, frozen=True):
    mode: QueueMode
    save: bool = False


class SetAutoCompaction(Struct, frozen=True):
    enabled: bool
    save: bool = False


class SetAutoRetry(Struct, frozen=True):
    enabled: bool
    save: bool = False


class Trust(Struct, frozen=True):
    """Use what the project brings: for as long as this process lives, for good, or never. Takes effect between runs."""

    answer: Literal["once", "always", "never"]


class Ping(Struct, frozen=True):
    pass


Move: TypeAlias = NewSession | SwitchSession | Branch | CloneSession | Navigate
"""Commands that lead to another place to go on from."""

Work: TypeAlias = Prompt | Compact | Move
"""Commands that take their turn: one at a time, in the order they came."""

Background: TypeAlias = Bash | ExportHtml | ListSessions | RunCommand | Reload
"""Commands that take their time, beside whatever else runs."""

Interruption: TypeAlias = Abort | AbortBash | AbortRetry
"""Commands that end what runs."""

Control: TypeAlias = Interruption | ClearQueue | Clear | AnswerQuestion | ReturnTool | ReportToolProgress
"""Commands that act at once on what runs."""

Setting: TypeAlias = (
    SetModel
    | CycleModel
    | SetThinking
    | CycleThinking
    | SetPermission
    | SetSteeringMode
    | SetFollowUpMode
    | SetAutoCompaction
    | SetAutoRetry
    | SetSessionName
    | SetTools
)
"""Commands that change what holds from now on, and are answered at once."""

Query: TypeAlias = (
    Hello
    | Ping
    | GetState
    | GetMessages
    | GetStats
    | GetLastText
    | GetModels
    | GetThinkingLevels
    | GetBranchMessages
    | GetTree
    | GetEntries
    | GetCommands
)
"""Commands that change nothing, and are answered at once."""

Ordered: TypeAlias = Work | RunCommand | Bash | ClearQueue | GetCommands | GetModels | SetModel | CycleModel | Reload
"""Commands that wait until the extensions are loaded, where there are any, and are seen to in the order they came."""

Command: TypeAlias = Work | Background | Control | Setting | Query | Trust
