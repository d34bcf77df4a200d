"""What a client may ask, and what it is answered, in no dialect's words."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from linnet.core.events import Compaction, QueueMode
from linnet.core.messages import BashRun, Image, Message, StopReason, Usage
from linnet.core.models import Model, Reasoning
from linnet.core.questions import Given, Question, ToolReturned
from linnet.core.sessions import OutlineEntry, SessionInfo
from linnet.core.toolspec import ToolSpec


class Hello(Struct, frozen=True):
    token: str


class Prompt(Struct, frozen=True):
    """`when_busy`: wait for one's turn, be refused, or be said to the agent that is working."""

    text: str
    images: tuple[Image, ...] = ()
    when_busy: Literal["wait", "refuse", "steer", "follow_up"] = "wait"


class Compact(Struct, frozen=True):
    """`at_once`: abort what runs instead of waiting for it."""

    instructions: str = ""
    at_once: bool = False


class NewSession(Struct, frozen=True):
    """Aborts what runs. `parent` is the session this one came from."""

    parent: str | None = None


class SwitchSession(Struct, frozen=True):
    """Aborts what runs. `session` is a path, or the beginning of an id."""

    session: str


class Branch(Struct, frozen=True):
    """A session of its own, which goes on from before this message of the user's. Aborts what runs."""

    entry: str


class CloneSession(Struct, frozen=True):
    """The same conversation in a session of its own. Aborts what runs."""


class Navigate(Struct, frozen=True):
    """Go on from another entry of the same session; from the very beginning if none is given. Aborts what runs."""

    entry: str | None


class Bash(Struct, frozen=True):
    command: str


class ExportHtml(Struct, frozen=True):
    """To this file, or one that is named after the session."""

    path: str | None = None


class ListSessions(Struct, frozen=True):
    """Of the folder that is worked in, or of all."""

    everywhere: bool = False


class Abort(Struct, frozen=True):
    pass


class AbortBash(Struct, frozen=True):
    pass


class AbortRetry(Struct, frozen=True):
    pass


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
    pass


class GetEntries(Struct, frozen=True):
    """Those after this one, or all."""

    since: str | None = None


class AnswerQuestion(Struct, frozen=True):
    """`question` is the id it was asked with."""

    question: str
    given: Given


class ReturnTool(Struct, frozen=True):
    """What came of a tool that the client was asked to run."""

    question: str
    returned: ToolReturned


class ReportToolProgress(Struct, frozen=True):
    """`text` is new output of a tool that the client runs."""

    question: str
    text: str


class SetTools(Struct, frozen=True):
    """These are the tools that the client runs, instead of those it declared before."""

    tools: tuple[ToolSpec, ...]


class SetSessionName(Struct, frozen=True):
    name: str


class Clear(Struct, frozen=True):
    pass


class SetModel(Struct, frozen=True):
    """Without a provider: one of the present provider's."""

    model: str
    provider: str | None = None


class CycleModel(Struct, frozen=True):
    pass


class GetModels(Struct, frozen=True):
    """Of the present provider, or of every provider there is a key for."""

    everywhere: bool = False


class SetThinking(Struct, frozen=True):
    level: Reasoning


class CycleThinking(Struct, frozen=True):
    pass


class SetSteeringMode(Struct, frozen=True):
    mode: QueueMode


class SetFollowUpMode(Struct, frozen=True):
    mode: QueueMode


class SetAutoCompaction(Struct, frozen=True):
    enabled: bool


class SetAutoRetry(Struct, frozen=True):
    enabled: bool


class Ping(Struct, frozen=True):
    pass


Move: TypeAlias = NewSession | SwitchSession | Branch | CloneSession | Navigate
"""Leads to another place to go on from."""

Work: TypeAlias = Prompt | Compact | Move
"""Takes its turn: one at a time, in order."""

Background: TypeAlias = Bash | ExportHtml | ListSessions
"""Takes its time, beside whatever else runs."""

Control: TypeAlias = Abort | AbortBash | AbortRetry | Clear | AnswerQuestion | ReturnTool | ReportToolProgress
"""Acts at once on what runs."""

Setting: TypeAlias = (
    SetModel
    | CycleModel
    | SetThinking
    | CycleThinking
    | SetSteeringMode
    | SetFollowUpMode
    | SetAutoCompaction
    | SetAutoRetry
    | SetSessionName
    | SetTools
)
"""Changes what holds from now on; answered at once."""

Query: TypeAlias = (
    Hello
    | Ping
    | GetState
    | GetMessages
    | GetStats
    | GetLastText
    | GetModels
    | GetBranchMessages
    | GetTree
    | GetEntries
)
"""Changes nothing; answered at once."""

Command: TypeAlias = Work | Background | Control | Setting | Query


class Greeting(Struct, frozen=True):
    version: str
    provider: str
    model: str


class Accepted(Struct, frozen=True):
    """It will be seen to."""


class Started(Struct, frozen=True):
    pass


class Done(Struct, frozen=True):
    """A prompt has been seen to, one way or the other. `error` says why it failed, if it did."""

    stop: StopReason
    error: str = ""


class State(Struct, frozen=True, kw_only=True):
    """`messages` is the conversation itself: a dialect counts it as it would list it.

    `busy`: something runs. `streaming`: the agent is at work, or about to try again. `compacting`: as it says.
    `session_error`: why what was said last is not on disk, if it should be. `waiting_for`: questions that nobody has
    answered yet, by their ids.
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
    pending: int
    session_id: str
    session_file: str | None = None
    session_name: str = ""
    session_error: str = ""
    waiting_for: Sequence[tuple[str, Question]] = ()


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
    | Exported
    | BashDone
    | Pong
    | Ok
)
