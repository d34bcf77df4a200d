"""What happened, in order. Stores, dialects and monitors see nothing else.

A run is the agent at work: RunStarted … RunEnded. It takes steps, one model call each: StepStarted, the reply in
pieces, ReplyEnded, the tools it asked for, StepEnded. A prompt takes one run, or more if some fail and are tried again,
and perhaps a compaction; a compaction that was asked for takes none. Either way the first event is JobStarted and the
last is Settled. What is set and where the conversation goes on are events too: a reader of all of them knows it all.

An event that adds a message to the conversation carries the message's `id`, which the session gives it as it is told.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from linnet.core.form import OutputRead as OutputRead
from linnet.core.inputs import Input
from linnet.core.job_events import JobContinued as JobContinued
from linnet.core.job_events import JobEvent
from linnet.core.job_events import JobInterrupted as JobInterrupted
from linnet.core.job_events import JobKind as JobKind
from linnet.core.job_events import JobStarted as JobStarted
from linnet.core.messages import (
    AssistantMessage,
    BashRun,
    Message,
    Note,
    ReplyPart,
    StopReason,
    Summary,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from linnet.core.models import Model, Reasoning
from linnet.core.project_events import Brought as Brought
from linnet.core.project_events import ProjectTrustSet as ProjectTrustSet
from linnet.core.project_events import ProjectUntrusted as ProjectUntrusted
from linnet.core.questions import QuestionAsked as QuestionAsked
from linnet.core.questions import QuestionClosed as QuestionClosed
from linnet.core.ui_events import Shown as Shown

PartKind: TypeAlias = Literal["text", "thinking", "tool_call"]
CompactReason: TypeAlias = Literal["manual", "threshold", "overflow"]
QueueMode: TypeAlias = Literal["all", "one-at-a-time"]
Entered: TypeAlias = Literal["startup", "new", "resume", "branch", "clone"]


class RunStarted(Struct, frozen=True):
    pass


class UserSaid(Struct, frozen=True):
    message: UserMessage
    id: str = ""


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
    id: str = ""


class ToolStarted(Struct, frozen=True):
    call: ToolCall


class ToolProgressed(Struct, frozen=True):
    """`text` is new output since the last one; whole characters, never half of one."""

    call_id: str
    name: str
    text: str


class ToolFinished(Struct, frozen=True):
    """Told in the order of the calls, also where several ran at once."""

    result: ToolResult
    id: str = ""


class StepEnded(Struct, frozen=True):
    message: AssistantMessage
    results: tuple[ToolResult, ...]


class Interrupted(Struct, frozen=True):
    """An abort, or the end of its time, found the run with no reply open that could have ended with it; `message` is
    the reply there was not.
    """

    message: AssistantMessage
    id: str = ""


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
    id: str = ""

    @property
    def spent(self) -> Usage | None:
        """The usage so far, with this compaction; None if nothing was asked for its sake."""
        return self.result.total if self.result else self.total


class BashRan(Struct, frozen=True):
    run: BashRun
    id: str = ""


class BashHeld(Struct, frozen=True):
    """A command of the client's has ended while a job goes on. BashRan tells it when that has ended."""

    run: BashRun


class QueueChanged(Struct, frozen=True):
    """What waits to be said to the model. `dropped` was waiting, and an abort or a new session did away with it."""

    steering: tuple[Input, ...]
    follow_ups: tuple[Input, ...]
    dropped: tuple[Input, ...] = ()


class ModelSet(Struct, frozen=True):
    """For the next job on; one that goes on keeps the model it began with."""

    model: Model


class ThinkingSet(Struct, frozen=True):
    """What was asked for; a model that cannot do it does less."""

    level: Reasoning


class SteeringModeSet(Struct, frozen=True):
    mode: QueueMode


class FollowUpModeSet(Struct, frozen=True):
    mode: QueueMode


class AutoCompactionSet(Struct, frozen=True):
    enabled: bool


class AutoRetrySet(Struct, frozen=True):
    enabled: bool


class Past(Struct, frozen=True):
    """What was said before, to go on from. `ids` are known at once; `read` returns them with their messages, and is
    called when somebody first wants to know. `compacted`: nothing was said since the last compaction.
    """

    ids: Sequence[str] = ()
    read: Callable[[], Sequence[tuple[str, Message]]] = tuple
    last_compaction: Compaction | None = None
    compacted: bool = False


class Cleared(Struct, frozen=True):
    """The conversation is empty. A run that goes on works on what was there, and leaves no trace in the new one."""


class Navigated(Struct, frozen=True):
    """The conversation goes on from another entry of the same session."""

    leaf: str | None
    past: Past


class SessionEntered(Struct, frozen=True, kw_only=True):
    """The conversation goes on in this session. `file`: where it is kept; None if it is in memory only."""

    session_id: str
    reason: Entered = "startup"
    file: str | None = None
    past: Past = Past()
    spent: Usage = Usage()


class SessionNamed(Struct, frozen=True):
    name: str


class SessionFailed(Struct, frozen=True):
    """What was said last could not be saved. The conversation goes on without."""

    path: str
    error: str


class NoteAdded(Struct, frozen=True):
    """An extension said something to the model."""

    message: Note
    id: str = ""


class StateKept(Struct, frozen=True):
    """An extension keeps this in the session, for itself: plain JSON."""

    owner: str
    data: Any


class HookFailed(Struct, frozen=True):
    """An extension did something wrong, or nothing in time. `event` is what it was asked or told; the run goes on."""

    path: str
    event: str
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
    | JobEvent
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
    | OutputRead
    | RetryScheduled
    | RetryEnded
    | CompactionStarted
    | CompactionEnded
    | BashRan
    | BashHeld
    | QueueChanged
    | ModelSet
    | ThinkingSet
    | SteeringModeSet
    | FollowUpModeSet
    | AutoCompactionSet
    | AutoRetrySet
    | Cleared
    | Navigated
    | SessionEntered
    | QuestionAsked
    | QuestionClosed
    | ProjectUntrusted
    | ProjectTrustSet
    | SessionNamed
    | SessionFailed
    | NoteAdded
    | StateKept
    | HookFailed
    | Shown
    | Settled
)

Setting: TypeAlias = (
    ModelSet | ThinkingSet | SteeringModeSet | FollowUpModeSet | AutoCompactionSet | AutoRetrySet
)  # Of the agent. No dialect tells it: whoever sets something is answered.
Internal: TypeAlias = (
    Setting | JobEvent | BashHeld | Cleared | Navigated | SessionEntered | StateKept | ProjectTrustSet
)  # What no dialect tells, so far.

PASSING = frozenset((TextGrew, ThinkingGrew, CallGrew, PartStarted, PartEnded, ToolProgressed))
"""Kinds of events that change nothing but what a reader of the stream has seen so far. Most are of these kinds."""
