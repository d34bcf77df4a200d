"""The events that an agent tells of what it does, in order. Stores, dialects and monitors see nothing else.

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
    step: int  # Counts the run's model calls from 1.


class ReplyStarted(Struct, frozen=True):
    """The model has begun to answer. Absent when the request itself failed."""

    api: str
    provider: str
    model: str
    time: int


class PartStarted(Struct, frozen=True):
    index: int
    kind: PartKind
    call_id: str = ""  # This and the next are set for a tool call only.
    name: str = ""


class TextGrew(Struct, frozen=True, gc=False):
    """A part of text has got longer. Every `text` of a part, joined, is its final text."""

    index: int
    text: str


class ThinkingGrew(Struct, frozen=True, gc=False):
    index: int
    text: str


class CallGrew(Struct, frozen=True, gc=False):
    index: int
    call_id: str
    text: str  # A piece of the arguments' JSON.


class PartEnded(Struct, frozen=True):
    index: int
    part: ReplyPart


class ReplyEnded(Struct, frozen=True):
    """The model's reply has ended. One that failed or was aborted ends too, with what it had."""

    message: AssistantMessage
    total: Usage  # What the session has used so far, this reply included.
    id: str = ""


class ToolStarted(Struct, frozen=True):
    call: ToolCall


class ToolProgressed(Struct, frozen=True):
    call_id: str
    name: str
    text: str  # The output since the last of these events; whole characters, never half of one.


class ToolFinished(Struct, frozen=True):
    """A tool call has its result. Told in the order of the calls, also where several ran at once."""

    result: ToolResult
    id: str = ""


class StepEnded(Struct, frozen=True):
    message: AssistantMessage
    results: tuple[ToolResult, ...]


class Interrupted(Struct, frozen=True):
    """The run was cut short, by an abort or the end of its time, while no reply was open that could have told it."""

    message: AssistantMessage  # A reply without content that stands for it.
    id: str = ""


class RunEnded(Struct, frozen=True):
    """The agent has stopped working. A run that failed may be followed by another that tries again."""

    stop: StopReason
    error: str
    messages: tuple[Message, ...]  # Those of this run.


class RetryScheduled(Struct, frozen=True):
    """The run that just failed is tried again in `delay_ms` milliseconds. Its last reply is forgotten."""

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
    """The result of a compaction: the summary, and how much of the conversation it leaves as it was."""

    summary: Summary  # Stands for everything but the newest `kept` messages.
    kept: int
    first_kept: str  # The id of the first of them.
    read_files: tuple[str, ...]
    modified_files: tuple[str, ...]
    total: Usage


class CompactionEnded(Struct, frozen=True):
    """A compaction has ended."""

    reason: CompactReason
    result: Compaction | None  # None if it was aborted, or failed for the reason that `error` gives.
    aborted: bool = False
    will_retry: bool = False
    error: str = ""
    total: Usage | None = None  # What was spent on one that came to nothing counts too.
    id: str = ""

    @property
    def spent(self) -> Usage | None:
        """Return what the session has used so far, this compaction included; None if no model was asked for it."""
        return self.result.total if self.result else self.total


class BashRan(Struct, frozen=True):
    run: BashRun
    id: str = ""


class BashHeld(Struct, frozen=True):
    """A command of the client's has ended while a job goes on. BashRan will tell of it when the job has ended."""

    run: BashRun


class QueueChanged(Struct, frozen=True):
    """The queues of what waits to be said to the model have changed to these."""

    steering: tuple[Input, ...]
    follow_ups: tuple[Input, ...]
    dropped: tuple[Input, ...] = ()  # What was waiting until an abort or a new session did away with it.


class ModelSet(Struct, frozen=True):
    """A model was chosen, from the next job on; one that goes on keeps the model it began with."""

    model: Model


class ThinkingSet(Struct, frozen=True):
    """A level of thinking was asked for; a model that cannot do it does less."""

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
    """The earlier messages of a conversation that is gone on with, read when they are first needed."""

    ids: Sequence[str] = ()
    read: Callable[[], Sequence[tuple[str, Message]]] = tuple
    """Returns the ids with their messages. Called when somebody first wants to know."""
    last_compaction: Compaction | None = None
    compacted: bool = False  # Nothing was said since the last compaction.


class Cleared(Struct, frozen=True):
    """The conversation is empty. A run that goes on works on what was there, and leaves no trace in the new one."""


class Navigated(Struct, frozen=True):
    """The conversation goes on from another entry of the same session."""

    leaf: str | None
    past: Past


class SessionEntered(Struct, frozen=True, kw_only=True):
    """The conversation goes on in this session."""

    session_id: str
    reason: Entered = "startup"
    file: str | None = None  # Where the session is kept; None if it is in memory only.
    past: Past = Past()
    spent: Usage = Usage()


class SessionNamed(Struct, frozen=True):
    name: str


class SessionFailed(Struct, frozen=True):
    """What was said last could not be saved. The conversation goes on unsaved."""

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
    """An extension did something wrong, or nothing in time. The run goes on."""

    path: str
    event: str  # What the extension was asked or told.
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
)  # How the agent is set. No dialect tells it: whoever sets something is answered.
Internal: TypeAlias = (
    Setting | JobEvent | BashHeld | Cleared | Navigated | SessionEntered | StateKept | ProjectTrustSet
)  # Events that no dialect tells, so far.

PASSING = frozenset((TextGrew, ThinkingGrew, CallGrew, PartStarted, PartEnded, ToolProgressed))
"""Kinds of events that change nothing but what a reader of the stream has seen so far. Most events are of these."""
