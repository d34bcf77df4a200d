"""What happened, in order. Stores, dialects and monitors see nothing else.

A run is the agent at work: RunStarted … RunEnded. It takes steps, one model call each: StepStarted, the reply in
pieces, ReplyEnded, the tools it asked for, StepEnded. A prompt takes one run, or more if some fail and are tried again,
and perhaps a compaction; a compaction that was asked for takes none. Either way the last event is Settled.
"""

from typing import Literal, TypeAlias

from msgspec import Struct

from linnet.core.messages import (
    AssistantMessage,
    BashRun,
    Message,
    ReplyPart,
    StopReason,
    Summary,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)

PartKind: TypeAlias = Literal["text", "thinking", "tool_call"]
JobKind: TypeAlias = Literal["prompt", "compact"]
CompactReason: TypeAlias = Literal["manual", "threshold", "overflow"]


class RunStarted(Struct, frozen=True):
    pass


class UserSaid(Struct, frozen=True):
    message: UserMessage


class StepStarted(Struct, frozen=True):
    """`step` counts the run's model calls from 1."""

    step: int


class ReplyStarted(Struct, frozen=True):
    """The model has begun to answer. Absent when the request itself failed."""

    api: str
    provider: str
    model: str
    time: int


class PartStarted(Struct, frozen=True):
    """`call_id` and `name` are set for a tool call."""

    index: int
    kind: PartKind
    call_id: str = ""
    name: str = ""


class TextGrew(Struct, frozen=True, gc=False):
    """Concatenating every `text` of a part yields its final text."""

    index: int
    text: str


class ThinkingGrew(Struct, frozen=True, gc=False):
    index: int
    text: str


class CallGrew(Struct, frozen=True, gc=False):
    """`text` is a piece of the arguments' JSON."""

    index: int
    call_id: str
    text: str


class PartEnded(Struct, frozen=True):
    index: int
    part: ReplyPart


class ReplyEnded(Struct, frozen=True):
    """An aborted or failed reply ends too, with what it had. `total` is the usage so far, this reply included."""

    message: AssistantMessage
    total: Usage


class ToolStarted(Struct, frozen=True):
    call: ToolCall


class ToolProgressed(Struct, frozen=True):
    """`text` is new output since the last one; whole characters, never half of one."""

    call_id: str
    name: str
    text: str


class ToolFinished(Struct, frozen=True):
    result: ToolResult


class StepEnded(Struct, frozen=True):
    message: AssistantMessage
    results: tuple[ToolResult, ...]


class Interrupted(Struct, frozen=True):
    """An abort found the run with no reply open that could have ended with it; `message` is the reply there was not."""

    message: AssistantMessage


class RunEnded(Struct, frozen=True):
    """`messages` are those of this run. A run that failed may be followed by another that tries again."""

    stop: StopReason
    error: str
    messages: tuple[Message, ...]


class RetryScheduled(Struct, frozen=True):
    """The run that just failed is tried again in so many milliseconds. Its last reply is forgotten."""

    attempt: int
    max_attempts: int
    delay_ms: int
    error: str


class RetryEnded(Struct, frozen=True):
    success: bool
    attempt: int
    error: str = ""


class CompactionStarted(Struct, frozen=True):
    reason: CompactReason


class Compaction(Struct, frozen=True):
    """`summary` stands for everything but the newest `kept` messages, the first of which is `first_kept`."""

    summary: Summary
    kept: int
    first_kept: str
    read_files: tuple[str, ...]
    modified_files: tuple[str, ...]
    total: Usage


class CompactionEnded(Struct, frozen=True):
    """Without a result it was aborted, or failed for the reason that `error` gives."""

    reason: CompactReason
    result: Compaction | None
    aborted: bool = False
    will_retry: bool = False
    error: str = ""
    total: Usage | None = None  # What was spent on one that came to nothing counts too.


class BashRan(Struct, frozen=True):
    run: BashRun


class QueueChanged(Struct, frozen=True):
    """What waits to be said to the model. `dropped` was waiting, and an abort or a new session did away with it."""

    steering: tuple[UserMessage, ...]
    follow_ups: tuple[UserMessage, ...]
    dropped: tuple[UserMessage, ...] = ()


class SessionNamed(Struct, frozen=True):
    name: str


class SessionFailed(Struct, frozen=True):
    """What was said last could not be saved. The conversation goes on without."""

    path: str
    error: str


class Settled(Struct, frozen=True):
    """The last event of a prompt or a compaction that was asked for, whatever came before it."""

    kind: JobKind
    stop: StopReason
    error: str = ""


Event: TypeAlias = (
    TextGrew
    | CallGrew
    | ThinkingGrew
    | PartStarted
    | PartEnded
    | ToolProgressed
    | RunStarted
    | UserSaid
    | StepStarted
    | ReplyStarted
    | ReplyEnded
    | ToolStarted
    | ToolFinished
    | StepEnded
    | Interrupted
    | RunEnded
    | RetryScheduled
    | RetryEnded
    | CompactionStarted
    | CompactionEnded
    | BashRan
    | QueueChanged
    | SessionNamed
    | SessionFailed
    | Settled
)
