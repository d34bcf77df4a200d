"""Every event of a run in one's own process, as a type: those of the zot protocol, and a few that it has no words for.

`Event` is all of them. Each is a msgspec struct with a `type`, and encodes to one JSON object.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from linnet.core import events
from linnet.wire.zot import encode as zot
from linnet.wire.zot import frames
from linnet.wire.zot.frames import AssistantMessage as AssistantMessage
from linnet.wire.zot.frames import AssistantStart as AssistantStart
from linnet.wire.zot.frames import CompactDone as CompactDone
from linnet.wire.zot.frames import Done as Done
from linnet.wire.zot.frames import Error as Error
from linnet.wire.zot.frames import ImageBlock as ImageBlock
from linnet.wire.zot.frames import Output as Output
from linnet.wire.zot.frames import SessionError as SessionError
from linnet.wire.zot.frames import TextBlock as TextBlock
from linnet.wire.zot.frames import TextDelta as TextDelta
from linnet.wire.zot.frames import ThinkingDelta as ThinkingDelta
from linnet.wire.zot.frames import ToolCall as ToolCall
from linnet.wire.zot.frames import ToolCallBlock as ToolCallBlock
from linnet.wire.zot.frames import ToolProgress as ToolProgress
from linnet.wire.zot.frames import ToolResult as ToolResult
from linnet.wire.zot.frames import ToolResultBlock as ToolResultBlock
from linnet.wire.zot.frames import ToolUseArgs as ToolUseArgs
from linnet.wire.zot.frames import ToolUseEnd as ToolUseEnd
from linnet.wire.zot.frames import ToolUseStart as ToolUseStart
from linnet.wire.zot.frames import TurnEnd as TurnEnd
from linnet.wire.zot.frames import TurnStart as TurnStart
from linnet.wire.zot.frames import Usage as Usage
from linnet.wire.zot.frames import UserMessage as UserMessage

Reason: TypeAlias = Literal["manual", "threshold", "overflow"]


class RetryStart(frames.Frame, frozen=True, tag="retry_start"):
    """The run failed for a passing reason, and is tried again in so many milliseconds. Its last reply is forgotten."""

    attempt: int
    max_attempts: int
    delay_ms: int
    error: str


class RetryEnd(frames.Frame, frozen=True, tag="retry_end"):
    """The last try is over. `error` says why it failed, if it did."""

    success: bool
    attempt: int
    error: str = ""


class CompactionStart(frames.Frame, frozen=True, tag="compaction_start"):
    """The older part of the conversation is being summarised, because it is nearly too long, or because it was."""

    reason: Reason


class CompactionEnd(frames.Frame, frozen=True, tag="compaction_end"):
    """Without a summary it was aborted, or failed for the reason that `error` gives. `will_retry`: the request that was
    too long is made again.
    """

    reason: Reason
    summary: str | None = None
    aborted: bool = False
    will_retry: bool = False
    error: str = ""


class QueueUpdate(frames.Frame, frozen=True, tag="queue_update"):
    """What waits to be said to the model. `dropped` was waiting, and an abort did away with it."""

    steering: tuple[str, ...]
    follow_ups: tuple[str, ...]
    dropped: tuple[str, ...] = ()


Event: TypeAlias = frames.Event | RetryStart | RetryEnd | CompactionStart | CompactionEnd | QueueUpdate

_MORE = frozenset(
    (events.RetryScheduled, events.RetryEnded, events.CompactionStarted, events.CompactionEnded, events.QueueChanged)
)


def encode(batch: Sequence[events.Event]) -> list[Event]:
    """Return core events as those that a program is told. Nearly always that is one call for the whole batch."""
    if not any(type(event) in _MORE for event in batch):
        return [*zot.encode(batch, show_thinking=True)]
    return [told for event in batch for told in _encode(event)]


def _encode(event: events.Event) -> list[Event]:
    match event:
        case events.RetryScheduled(attempt, most, delay, error):
            return [RetryStart(attempt, most, delay, error)]
        case events.RetryEnded(success, attempt, error):
            return [RetryEnd(success, attempt, error)]
        case events.CompactionStarted(reason):
            return [CompactionStart(reason)]
        case events.CompactionEnded(reason, result):
            summary = result.summary.text if result else None
            return [CompactionEnd(reason, summary, event.aborted, event.will_retry, event.error)]
        case events.QueueChanged(steering, follow_ups, dropped):
            said = [tuple(input.text for input in each) for each in (steering, follow_ups, dropped)]
            return [QueueUpdate(*said)]
        case _:
            return [*zot.encode([event], show_thinking=True)]
