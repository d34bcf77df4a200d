"""What happened, in order. Stores, dialects and monitors see nothing else.

A run answers one prompt: RunStarted … RunEnded. It takes steps, one model call each: StepStarted, the reply in pieces,
ReplyEnded, the tools it asked for, StepEnded. A compaction is a run of its own, with no steps.
"""

from typing import Literal, TypeAlias

from msgspec import Struct

from linnet.core.messages import AssistantMessage, ReplyPart, StopReason, ToolCall, ToolResult, Usage, UserMessage

PartKind: TypeAlias = Literal["text", "thinking", "tool_call"]
RunKind: TypeAlias = Literal["prompt", "compact"]


class RunStarted(Struct, frozen=True):
    kind: RunKind


class UserSaid(Struct, frozen=True):
    message: UserMessage


class StepStarted(Struct, frozen=True):
    """`step` counts the run's model calls from 1."""

    step: int


class ReplyStarted(Struct, frozen=True):
    """The model has begun to answer. Absent when the request itself failed."""

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
    """An abort found the run with no reply open that could have ended with it."""


class Compacted(Struct, frozen=True):
    """`message` stands for everything but the newest `kept` messages from now on."""

    summary: str
    message: UserMessage
    kept: int
    total: Usage


class RunEnded(Struct, frozen=True):
    """The last event of a run, whatever came before it. `error` says why it ended early, for a person."""

    kind: RunKind
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
    | Compacted
    | RunEnded
)
