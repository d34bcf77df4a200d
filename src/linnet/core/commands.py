"""What a client may ask, and what it is answered, in no dialect's words."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from linnet.core.events import Compaction
from linnet.core.messages import BashRun, Image, Message, Usage
from linnet.core.models import Model, Reasoning
from linnet.core.queues import Mode


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


class Bash(Struct, frozen=True):
    command: str


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
    mode: Mode


class SetFollowUpMode(Struct, frozen=True):
    mode: Mode


class SetAutoCompaction(Struct, frozen=True):
    enabled: bool


class SetAutoRetry(Struct, frozen=True):
    enabled: bool


class Ping(Struct, frozen=True):
    pass


Work: TypeAlias = Prompt | Compact | NewSession  # What takes its turn; one at a time.
Query: TypeAlias = (
    Hello
    | Abort
    | AbortBash
    | AbortRetry
    | GetState
    | GetMessages
    | GetStats
    | GetLastText
    | Clear
    | SetModel
    | CycleModel
    | GetModels
    | SetThinking
    | CycleThinking
    | SetSteeringMode
    | SetFollowUpMode
    | SetAutoCompaction
    | SetAutoRetry
    | Ping
)
Command: TypeAlias = Work | Bash | Query


class Greeting(Struct, frozen=True):
    version: str
    provider: str
    model: str


class Accepted(Struct, frozen=True):
    """It will be seen to."""


class Started(Struct, frozen=True):
    pass


class State(Struct, frozen=True, kw_only=True):
    """`messages` is the conversation itself: a dialect counts it as it would list it.

    `busy`: something runs. `streaming`: the agent is at work, or about to try again. `compacting`: as it says.
    """

    model: Model
    cwd: str
    busy: bool
    streaming: bool
    compacting: bool
    spent: Usage
    messages: Sequence[Message]
    thinking: Reasoning
    steering_mode: Mode
    follow_up_mode: Mode
    auto_compaction: bool
    pending: int
    session_id: str
    session_file: str | None = None


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
    """Nothing if there is no other."""

    model: Model | None
    thinking: Reasoning = "off"


class ModelList(Struct, frozen=True):
    models: Sequence[Model]


class ThinkingCycled(Struct, frozen=True):
    """Nothing if the model does not think."""

    level: Reasoning | None


class Compacted(Struct, frozen=True):
    result: Compaction


class SessionOpened(Struct, frozen=True):
    cancelled: bool = False


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
    | BashDone
    | Pong
    | Ok
)
