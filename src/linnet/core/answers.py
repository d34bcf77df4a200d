"""What a command is answered, in no dialect's words."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from msgspec import UNSET, Struct

from linnet.core.events import Compaction, QueueMode
from linnet.core.messages import BashRun, Message, StopReason, Usage
from linnet.core.models import Model, Reasoning
from linnet.core.questions import QuestionAsked
from linnet.core.sessions import OutlineEntry, SessionInfo
from linnet.core.slash import SlashCommand
from linnet.errors import LinnetError


class Greeting(Struct, frozen=True):
    version: str
    provider: str
    model: str


class Accepted(Struct, frozen=True):
    """It will be seen to."""


class Started(Struct, frozen=True):
    pass


class Done(Struct, frozen=True):
    """A prompt has been seen to, one way or the other. `error` says why it failed, if it did; `failure` is what was
    raised, if anything was. `value` is the answer in the form that was asked for, if one was and it fits.
    """

    stop: StopReason
    error: str = ""
    failure: LinnetError | None = None
    value: Any = UNSET

    @property
    def code(self) -> str | None:
        """One word for programs; None if all went well."""
        if self.failure is not None:
            return self.failure.code
        return None if self.stop == "end" else LinnetError.code if self.stop == "error" else self.stop


class SandboxState(Struct, frozen=True):
    """What keeps commands in, and whether they may use the network."""

    engine: str
    network: bool


class State(Struct, frozen=True, kw_only=True):
    """`messages` is the conversation itself: a dialect counts it as it would list it.

    `busy`: something runs. `streaming`: the agent is at work, or about to try again. `compacting`: as it says.
    `session_error`: why what was said last is not on disk, if it should be. `waiting_for`: questions that nobody has
    answered yet, each with the seconds that are left for it. `sandbox`: None if commands run without.
    """

    model: Model
    cwd: str
    busy: bool
    streaming: bool
    compacting: bool
    spent: Usage
    messages: Sequence[Message]
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
    waiting_for: Sequence[QuestionAsked] = ()
    sandbox: SandboxState | None = None


class Transcript(Struct, frozen=True):
    messages: Sequence[Message]


class Stats(Struct, frozen=True):
    messages: Sequence[Message]
    spent: Usage
    session_id: str
    session_file: str | None = None


class LastText(Struct, frozen=True):
    text: str | None


class ModelChosen(Struct, frozen=True):
    model: Model


class ModelCycled(Struct, frozen=True):
    """`model` is None if there is no other."""

    model: Model | None
    thinking: Reasoning = "off"


class ModelList(Struct, frozen=True):
    models: Sequence[Model]


class ThinkingCycled(Struct, frozen=True):
    """`level` is None if the model does not think."""

    level: Reasoning | None


class Compacted(Struct, frozen=True):
    result: Compaction


class SessionOpened(Struct, frozen=True):
    """`remark`: what is not as one might expect."""

    cancelled: bool = False
    remark: str = ""


class Branched(Struct, frozen=True):
    """`text` is the message that was branched from, to be asked again or otherwise."""

    text: str
    cancelled: bool = False


class Navigated(Struct, frozen=True):
    leaf: str | None
    cancelled: bool = False


class BranchMessages(Struct, frozen=True):
    """Ids of entries, and what the user said there."""

    messages: Sequence[tuple[str, str]]


class Outline(Struct, frozen=True):
    """In the order of the file. `leaf` is where the conversation stands."""

    entries: Sequence[OutlineEntry]
    leaf: str | None


class EntryList(Struct, frozen=True):
    """Entries as they stand in the file, in its order."""

    lines: Sequence[bytes]
    leaf: str | None


class SessionList(Struct, frozen=True):
    """Newest first. `current` is the file of the one that is open."""

    sessions: Sequence[SessionInfo]
    current: str | None = None


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
    | State
    | Transcript
    | Stats
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
