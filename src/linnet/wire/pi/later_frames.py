"""Types for the objects that pi prints only since some later generation than that of `frames.py`."""

from typing import Literal

from msgspec import UNSET, Raw, UnsetType

from linnet.wire.pi.frames import CompactionResult, Frame


class CompactionStart(Frame, frozen=True, tag="compaction_start"):
    """A compaction begins."""

    reason: str


class CompactionEnd(Frame, frozen=True, tag="compaction_end"):
    """A compaction is over."""

    reason: str
    result: CompactionResult | UnsetType
    aborted: bool
    will_retry: bool
    error_message: str | UnsetType = UNSET


class SummaryRetryScheduled(Frame, frozen=True, tag="summarization_retry_scheduled"):
    """A summary failed for a reason that may pass, and is asked for again after a wait."""

    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


class SummaryRetryStart(Frame, frozen=True, tag="summarization_retry_attempt_start"):
    """The summary is asked for again."""

    source: Literal["compaction"]
    reason: str


class SummaryRetryFinished(Frame, frozen=True, tag="summarization_retry_finished"):
    """No more of that."""


class ThinkingLevelChanged(Frame, frozen=True, tag="thinking_level_changed"):
    """The model thinks more, or less, from now on."""

    level: str


class BashExecutionUpdate(Frame, frozen=True, tag="bash_execution_update"):
    """A command of `bash` has printed something."""

    id: Raw | UnsetType  # The client's own, as in the response.
    delta: str


class EntryAppended(Frame, frozen=True, tag="entry_appended"):
    """The session has got an entry that no other event tells of."""

    entry: Raw


class ExtensionError(Frame, frozen=True, tag="extension_error"):
    """An extension failed, or did not answer in time. Everything else goes on."""

    extension_path: str
    event: str
    error: str
