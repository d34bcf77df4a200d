"""What commands are answered with. Each dialect in `wire` puts these into the words of its protocol."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import UNSET, Struct

from linnet.core.events import Compaction, QueueMode
from linnet.core.inputs import Input
from linnet.core.messages import BashRun, Message, StopReason, Usage
from linnet.core.models import Model, Reasoning
from linnet.core.questions import QuestionAsked
from linnet.core.slash import SlashCommand
from linnet.errors import LinnetError

if TYPE_CHECKING:
    from linnet.core.session_info import OutlineEntry, SessionInfo, Tally, TreeEntry


class Greeting(Struct, frozen=True):
    """Answers Hello: who is there."""

    version: str
    provider: str
    model: str


class Accepted(Struct, frozen=True):
    """A command that takes its time will be seen to."""

    queued: bool = False
    """It waits to be said to the agent that is working."""


class Started(Struct, frozen=True):
    """A prompt's turn has come."""


class Done(Struct, frozen=True):
    """A prompt has ended, well or not."""

    stop: StopReason
    error: str = ""
    """Why it failed, if it did."""
    failure: LinnetError | None = None
    """What was raised, if anything was."""
    value: Any = UNSET
    """The answer in the form that was asked for, if one was and it fits."""

    @property
    def code(self) -> str | None:
        """Return one word for programs that says what went wrong; None if all went well."""
        if self.failure is not None:
            return self.failure.code
        return None if self.stop == "end" else LinnetError.code if self.stop == "error" else self.stop


class SandboxState(Struct, frozen=True, omit_defaults=True):
    """The sandbox that commands run in."""

    engine: str
    network: bool
    """Commands may use the network as if there were no sandbox."""
    hosts: tuple[str, ...] = ()
    """The hosts that commands reach where they may not use the network."""


class AgentState(Struct, frozen=True, kw_only=True):
    """The state of an agent at the moment it was asked for."""

    model: Model
    cwd: str
    busy: bool
    """A prompt, a compaction or a move runs."""
    streaming: bool
    """The agent is at work, or about to try again."""
    prompting: bool = False
    """A prompt has begun and is not over, with all that follows from it by itself."""
    compacting: bool
    spent: Usage
    messages: Sequence[Message]
    """The conversation itself: a dialect counts it as it would list it."""
    system_messages: int = 0
    """So many of the messages are SystemMessage."""
    thinking: Reasoning
    steering_mode: QueueMode
    follow_up_mode: QueueMode
    auto_compaction: bool
    auto_retry: bool = False
    pending: int
    session_id: str
    session_file: str | None = None
    session_name: str = ""
    session_error: str = ""
    """Why what was said last is not on disk, if it should be."""
    waiting_for: Sequence[QuestionAsked] = ()
    """Questions that nobody has answered yet, each with the seconds that are left for it."""
    sandbox: SandboxState | None = None
    """None if commands run without one."""


class Transcript(Struct, frozen=True):
    """Answers GetMessages."""

    messages: Sequence[Message]


class ContextUse(Struct, frozen=True):
    """How much of what a model can read is used."""

    tokens: int | None
    """None after a compaction, until a model has counted what is left."""
    window: int


class SessionStats(Struct, frozen=True):
    """Answers GetStats. A dialect counts the messages as it needs them."""

    messages: Sequence[Message]
    spent: Usage
    session_id: str
    session_file: str | None = None
    tally: "Tally | None" = None
    """What was said on all branches; None where only the messages count."""
    context: ContextUse | None = None
    """How full the model's context is; None where nobody asks."""


class LastText(Struct, frozen=True):
    """Answers GetLastText."""

    text: str | None


class ModelChosen(Struct, frozen=True):
    """Answers SetModel."""

    model: Model


class ModelCycled(Struct, frozen=True):
    """The next model was chosen."""

    model: Model | None
    """None if there is no other."""
    thinking: Reasoning = "off"
    scoped: bool = False
    """Only some models are gone round."""


class ModelList(Struct, frozen=True):
    """Answers GetModels."""

    models: Sequence[Model]


class ThinkingLevels(Struct, frozen=True):
    """Answers GetThinkingLevels, the lowest first."""

    levels: Sequence[Reasoning]


class ThinkingCycled(Struct, frozen=True):
    """The next level of thinking was chosen."""

    level: Reasoning | None
    """None if the model does not think."""


class Compacted(Struct, frozen=True):
    """The conversation was compacted as it was asked for."""

    result: Compaction


class QueueCleared(Struct, frozen=True):
    """Answers ClearQueue: what was waiting, and will not be said."""

    steering: Sequence[Input]
    follow_ups: Sequence[Input]


class SessionOpened(Struct, frozen=True):
    """A session was begun or opened, unless that was `cancelled`."""

    cancelled: bool = False
    """An extension called it off; nothing has changed. The same holds below."""
    remark: str = ""
    """A sentence about what is not as one might expect."""


class Branched(Struct, frozen=True):
    """The conversation goes on in a session of its own, unless that was `cancelled`."""

    text: str
    """The message that was branched from, to be asked again or otherwise."""
    cancelled: bool = False


class Navigated(Struct, frozen=True):
    """The conversation goes on from another entry of the same session, unless that was `cancelled`."""

    leaf: str | None
    cancelled: bool = False


class BranchMessages(Struct, frozen=True):
    """The messages of the user's that a branch may begin at."""

    messages: Sequence[tuple[str, str]]
    """The id of each entry, and what the user said there."""


class Outline(Struct, frozen=True):
    """All entries of a session, in the order of its file."""

    entries: "Sequence[OutlineEntry]"
    leaf: str | None
    """Where the conversation stands; None at its beginning."""


class EntryTree(Struct, frozen=True):
    """All entries of a session as they are in its file, in its order, with their places in the tree."""

    entries: "Sequence[TreeEntry]"
    leaf: str | None


class EntryList(Struct, frozen=True):
    """Entries of a session as they stand in its file, in its order."""

    lines: Sequence[bytes]
    leaf: str | None


class SessionList(Struct, frozen=True):
    """Sessions, the newest first."""

    sessions: "Sequence[SessionInfo]"
    current: str | None = None
    """The file of the one that is open."""


class CommandList(Struct, frozen=True):
    """Answers GetCommands: what a user may type as `/name`."""

    commands: Sequence[SlashCommand]


class Exported(Struct, frozen=True):
    """The session was written as a page to `path`."""

    path: str


class BashDone(Struct, frozen=True):
    """A shell command that the client asked for has ended."""

    run: BashRun


class Pong(Struct, frozen=True):
    """Answers Ping."""


class Ok(Struct, frozen=True):
    """The command was carried out, and there is nothing more to say."""


Answer: TypeAlias = (
    Greeting
    | Accepted
    | Started
    | Done
    | AgentState
    | Transcript
    | SessionStats
    | LastText
    | ModelChosen
    | ModelCycled
    | ModelList
    | ThinkingLevels
    | ThinkingCycled
    | Compacted
    | QueueCleared
    | SessionOpened
    | Branched
    | Navigated
    | BranchMessages
    | Outline
    | EntryTree
    | EntryList
    | SessionList
    | CommandList
    | Exported
    | BashDone
    | Pong
    | Ok
)
