"""Every event that the SDK tells a program, as a type: those of the zot protocol, and a few that it does not have.

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
    """The run failed for a passing reason, and is tried again. Its last reply is forgotten."""

    attempt: int
    max_attempts: int
    delay_ms: int
    """Milliseconds until then."""
    error: str


class RetryEnd(frames.Frame, frozen=True, tag="retry_end"):
    """The last try has ended."""

    success: bool
    attempt: int
    error: str = ""
    """Why it failed, if it did."""


class CompactionStart(frames.Frame, frozen=True, tag="compaction_start"):
    """The older part of the conversation is being summarised: because somebody asked for it, because the conversation
    is nearly too long, or because it was too long.
    """

    reason: Reason


class CompactionEnd(frames.Frame, frozen=True, tag="compaction_end"):
    """The conversation was summarised, or that was aborted, or it failed."""

    reason: Reason
    summary: str | None = None
    """None if it was aborted or failed."""
    aborted: bool = False
    will_retry: bool = False
    """The request that was too long is made again."""
    error: str = ""
    """Why it failed, if it did."""


class QueueUpdate(frames.Frame, frozen=True, tag="queue_update"):
    """The messages that wait to be said to the model have changed."""

    steering: tuple[str, ...]
    follow_ups: tuple[str, ...]
    dropped: tuple[str, ...] = ()
    """Those that waited, and will not be said: an abort or a limit came."""


Event: TypeAlias = frames.Event | RetryStart | RetryEnd | CompactionStart | CompactionEnd | QueueUpdate

_MORE = frozenset(
    (events.RetryScheduled, events.RetryEnded, events.CompactionStarted, events.CompactionEnded, events.QueueChanged)
)


def encode(batch: Sequence[events.Event]) -> list[Event]:
    """Return the events that a program is told for these of the core. Most batches take one call of zot's encoder."""
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
