"""What a command is answered, in no dialect's words."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import UNSET, Struct

from linnet.core.events import Compaction, QueueMode
from linnet.core.messages import BashRun, Message, StopReason, Usage
from linnet.core.models import Model, Reasoning
from linnet.core.questions import QuestionAsked
from linnet.core.slash import SlashCommand
from linnet.errors import LinnetError

if TYPE_CHECKING:
    from linnet.core.session_info import OutlineEntry, SessionInfo


class Greeting(Struct, frozen=True):
    version: str
    provider: str
    model: str


class Accepted(Struct, frozen=True):
    """It will be seen to."""


class Started(Struct, frozen=True):
    pass


class Done(Struct, frozen=True):
    """A prompt has been seen to, one way or the other."""

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
    """What keeps commands in, whether they may use the network, and which hosts they reach if not."""

    engine: str
    network: bool
    hosts: tuple[str, ...] = ()


class AgentState(Struct, frozen=True, kw_only=True):
    """All that a client may want to know of an agent at a moment."""

    model: Model
    cwd: str
    busy: bool
    """Something runs."""
    streaming: bool
    """The agent is at work, or about to try again."""
    compacting: bool
    spent: Usage
    messages: Sequence[Message]
    """The conversation itself: a dialect counts it as it would list it."""
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
    """None if commands run without."""


class Transcript(Struct, frozen=True):
    messages: Sequence[Message]


class SessionStats(Struct, frozen=True):
    messages: Sequence[Message]
    spent: Usage
    session_id: str
    session_file: str | None = None


class LastText(Struct, frozen=True):
    text: str | None


class ModelChosen(Struct, frozen=True):
    model: Model


class ModelCycled(Struct, frozen=True):
    """The next model was chosen."""

    model: Model | None
    """None if there is no other."""
    thinking: Reasoning = "off"


class ModelList(Struct, frozen=True):
    models: Sequence[Model]


class ThinkingCycled(Struct, frozen=True):
    """The next level of thinking was chosen."""

    level: Reasoning | None
    """None if the model does not think."""


class Compacted(Struct, frozen=True):
    result: Compaction


class SessionOpened(Struct, frozen=True):
    """A session was begun or opened, unless that was `cancelled`."""

    cancelled: bool = False
    remark: str = ""
    """What is not as one might expect."""


class Branched(Struct, frozen=True):
    """The conversation goes on in a session of its own, unless that was `cancelled`."""

    text: str
    """The message that was branched from, to be asked again or otherwise."""
    cancelled: bool = False


class Navigated(Struct, frozen=True):
    leaf: str | None
    cancelled: bool = False


class BranchMessages(Struct, frozen=True):
    """Ids of entries, and what the user said there."""

    messages: Sequence[tuple[str, str]]


class Outline(Struct, frozen=True):
    """All entries of a session, in the order of its file."""

    entries: "Sequence[OutlineEntry]"
    leaf: str | None
    """Where the conversation stands; None at its beginning."""


class EntryList(Struct, frozen=True):
    """Entries as they stand in the file, in its order."""

    lines: Sequence[bytes]
    leaf: str | None


class SessionList(Struct, frozen=True):
    """Sessions, the newest first."""

    sessions: "Sequence[SessionInfo]"
    current: str | None = None
    """The file of the one that is open."""


class CommandList(Struct, frozen=True):
    """What a user may type as `/name`."""

    commands: Sequence[SlashCommand]


class Exported(Struct, frozen=True):
    path: str


class BashDone(Struct, frozen=True):
    run: BashRun


class Pong(Struct, frozen=True):
    pass


class Ok(Struct, frozen=True):
    """Done, and nothing more to say."""


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
    | ThinkingCycled
    | Compacted
    | SessionOpened
    | Branched
    | Navigated
    | BranchMessages
    | Outline
    | EntryList
    | SessionList
    | CommandList
    | Exported
    | BashDone
    | Pong
    | Ok
)
