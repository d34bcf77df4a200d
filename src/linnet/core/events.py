"""The events that an agent tells of what it does, in order. Stores, dialects and monitors see nothing else.

A run is the agent at work: RunStarted … RunEnded. It takes steps, one model call each: StepStarted, the reply in
pieces, ReplyEnded, the tools it asked for, StepEnded. A prompt takes one run, or more if some fail and are tried again,
and perhaps a compaction; a compaction that was asked for takes none. Either way the first event is JobStarted and the
last is Settled. What is set and where the conversation goes on are events too: a reader of all of them knows it all.

An event that adds a message to the conversation carries the message's `id`, which the session gives it as it is told.
"""

from typing import Literal, TypeAlias

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
    SystemMessage,
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
from linnet.core.session_events import Cleared as Cleared
from linnet.core.session_events import Compaction as Compaction
from linnet.core.session_events import Entered as Entered
from linnet.core.session_events import EntryAppended as EntryAppended
from linnet.core.session_events import FailureForgotten as FailureForgotten
from linnet.core.session_events import Navigated as Navigated
from linnet.core.session_events import Past as Past
from linnet.core.session_events import SessionEntered as SessionEntered
from linnet.core.session_events import SessionFailed as SessionFailed
from linnet.core.session_events import SessionNamed as SessionNamed
from linnet.core.session_events import StateKept as StateKept
from linnet.core.setting_names import Mode
from linnet.core.ui_events import Shown as Shown

PartKind: TypeAlias = Literal["text", "thinking", "tool_call"]
CompactReason: TypeAlias = Literal["manual", "threshold", "overflow"]
QueueMode: TypeAlias = Literal["all", "one-at-a-time"]


class RunStarted(Struct, frozen=True):
    pass


class UserSaid(Struct, frozen=True):
    message: UserMessage
    id: str = ""


class SystemTold(Struct, frozen=True):
    """What the model is told before the conversation has changed. Told where a session keeps that, and no model is
    asked before it is.
    """

    message: SystemMessage
    id: str = ""


class StepStarted(Struct, frozen=True):
    step: int  # Counts the run's model calls from 1.


class ReplyStarted(Struct, frozen=True):
    """The model has begun to answer. Absent when the request itself failed."""

    api: str
    provider: str
    model: str
    time: int
    id: str = ""  # That of the message which the reply will be when it has ended.


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


class UsageGrew(Struct, frozen=True):
    """The reply has used so much by now, as far as its vendor says."""

    usage: Usage


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


class ToolReturned(Struct, frozen=True):
    """A tool call is over. Told as soon as it is, and before the ToolFinished that has the same result."""

    result: ToolResult


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
    again: bool = False  # It failed, and the same is tried again by itself.


class RetryScheduled(Struct, frozen=True):
    """The run that just failed is tried again in `delay_ms` milliseconds. Its last reply is forgotten."""

    attempt: int
    max_attempts: int
    delay_ms: int
    error: str


class SummaryRetry(Struct, frozen=True):
    """A model that was asked for a summary failed. It is asked again in `delay_ms` milliseconds, which `scheduled`
    tells; or now, which `begun` tells; or nothing is left to be tried, for better or worse, which `finished` tells.
    """

    stage: Literal["scheduled", "begun", "finished"]
    reason: CompactReason
    attempt: int = 0
    max_attempts: int = 0
    delay_ms: int = 0
    error: str = ""


class RetryEnded(Struct, frozen=True):
    success: bool
    attempt: int
    error: str = ""


class CompactionStarted(Struct, frozen=True):
    reason: CompactReason


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


class BashPrinted(Struct, frozen=True):
    """A command of the client's that runs has printed more."""

    request: bytes  # The id that the client gave the command, in its own JSON; empty if it gave none.
    text: str  # Whole characters, never half of one.


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


class LevelChanged(Struct, frozen=True):
    """The model thinks as much as this from now on: another level was asked for, or another model was chosen."""

    level: Reasoning


class PermissionSet(Struct, frozen=True):
    """What happens to tool calls that no rule matches, from the next call on."""

    mode: Mode


class SteeringModeSet(Struct, frozen=True):
    mode: QueueMode


class FollowUpModeSet(Struct, frozen=True):
    mode: QueueMode


class AutoCompactionSet(Struct, frozen=True):
    enabled: bool


class AutoRetrySet(Struct, frozen=True):
    enabled: bool


class NoteAdded(Struct, frozen=True):
    """An extension said something to the model."""

    message: Note
    id: str = ""


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
    | UsageGrew
    | ToolProgressed
    | BashPrinted
    | JobEvent
    | RunStarted
    | UserSaid
    | SystemTold
    | StepStarted
    | ReplyStarted
    | ReplyEnded
    | ToolStarted
    | ToolReturned
    | ToolFinished
    | StepEnded
    | Interrupted
    | RunEnded
    | OutputRead
    | RetryScheduled
    | RetryEnded
    | SummaryRetry
    | CompactionStarted
    | CompactionEnded
    | BashRan
    | BashHeld
    | QueueChanged
    | ModelSet
    | ThinkingSet
    | LevelChanged
    | PermissionSet
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
    | EntryAppended
    | FailureForgotten
    | HookFailed
    | Shown
    | Settled
)

Setting: TypeAlias = (
    ModelSet | ThinkingSet | PermissionSet | SteeringModeSet | FollowUpModeSet | AutoCompactionSet | AutoRetrySet
)  # How the agent is set. No dialect tells it: whoever sets something is answered.
Internal: TypeAlias = (
    Setting
    | JobEvent
    | BashHeld
    | Cleared
    | Navigated
    | SessionEntered
    | StateKept
    | ProjectTrustSet
    | FailureForgotten
)  # Events that no dialect tells, so far.

Fine: TypeAlias = UsageGrew | ToolReturned | BashPrinted | SystemTold | EntryAppended | SummaryRetry | LevelChanged
"""Events that only some dialects tell: clients of the others see the same later, or from another event."""

PASSING = frozenset(
    (TextGrew, ThinkingGrew, CallGrew, PartStarted, PartEnded, UsageGrew, ToolProgressed, BashPrinted, ToolReturned)
)
"""Kinds of events that change nothing but what a reader of the stream has seen so far. Most events are of these."""
