"""Types for the objects that pi prints only since some later generation than that of `frames.py`."""

from typing import Literal

from msgspec import UNSET, Raw, UnsetType

from linnet.wire.pi.frames import CompactionResult, Frame


class CompactionStart(Frame, frozen=True, tag="compaction_start"):
    reason: str


class CompactionEnd(Frame, frozen=True, tag="compaction_end"):
    reason: str
    result: CompactionResult | UnsetType
    aborted: bool
    will_retry: bool
    error_message: str | UnsetType = UNSET


class SummaryRetryScheduled(Frame, frozen=True, tag="summarization_retry_scheduled"):
    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


class SummaryRetryStart(Frame, frozen=True, tag="summarization_retry_attempt_start"):
    source: Literal["compaction"]
    reason: str


class SummaryRetryFinished(Frame, frozen=True, tag="summarization_retry_finished"):
    pass


class ThinkingLevelChanged(Frame, frozen=True, tag="thinking_level_changed"):
    level: str


class BashExecutionUpdate(Frame, frozen=True, tag="bash_execution_update"):
    id: Raw | UnsetType  # The client's own, as in the response.
    delta: str


class EntryAppended(Frame, frozen=True, tag="entry_appended"):
    entry: Raw


class ExtensionError(Frame, frozen=True, tag="extension_error"):
    extension_path: str
    event: str
    error: str
