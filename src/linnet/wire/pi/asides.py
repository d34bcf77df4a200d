"""Encodes events that are not part of a run: retries, compactions, queues, questions, what extensions show."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from msgspec import UNSET, Raw

from linnet.core import events, messages
from linnet.core.inputs import Input
from linnet.core.text.printable import printable
from linnet.wire.pi import frames, later_frames, to_pi

Outside: TypeAlias = (
    events.RetryScheduled
    | events.RetryEnded
    | events.CompactionStarted
    | events.CompactionEnded
    | events.QueueChanged
    | events.BashRan
    | events.QuestionAsked
    | events.QuestionClosed
    | events.SessionNamed
    | events.SessionFailed
    | events.ProjectUntrusted
    | events.HookFailed
    | events.OutputRead
    | events.Fine
    | events.Shown
)
"""Events that are not part of a run."""


class Asides:
    """Invariant: it remembers nothing but an open compaction, and retries whose end was not told."""

    def __init__(self, words: to_pi.Words) -> None:
        self._words = words
        self._generation = words.generation
        self._compacting = False
        self._attempt = 0  # So many times a prompt was tried again, without an end of that told.

    def retried(self, reply: messages.AssistantMessage) -> list[frames.Frame]:
        """Return the end of the retries, if the reply is what they were for and the generation tells it there."""
        if not self._generation.retries_end_inside or not self._attempt or reply.stop in ("error", "aborted"):
            return []
        attempt, self._attempt = self._attempt, 0
        return [frames.AutoRetryEnd(True, attempt)]

    def told(self, event: Outside) -> Sequence[frames.Frame]:
        """Return the frames of an event."""
        match event:
            case events.RetryScheduled(attempt, most, delay, error):
                self._attempt = attempt
                return [frames.AutoRetryStart(attempt, most, delay, to_pi.failure(error))]
            case events.RetryEnded() if self._generation.retries_end_inside and not self._attempt:
                return []  # It was told with the reply that succeeded.
            case events.RetryEnded(success, attempt, error):
                self._attempt = 0
                return [frames.AutoRetryEnd(success, attempt, to_pi.failure(error) or UNSET)]
            case events.CompactionStarted() | events.CompactionEnded():
                return self._compaction(event)
            case events.QueueChanged(steering, follow_ups, dropped):
                gone = _texts(dropped) if self._generation.additions else []
                return [frames.QueueUpdate(_texts(steering), _texts(follow_ups), gone or UNSET)]
            case events.QuestionAsked() | events.QuestionClosed():
                told = _asked(event)
                kept = self._generation.additions or not isinstance(told[0] if told else None, frames.UiClosed)
                return told if kept else []
            case events.SessionNamed(name):
                return [frames.SessionInfoChanged(name)]
            case events.SessionFailed() | events.ProjectUntrusted() if not self._generation.additions:
                return []
            case events.SessionFailed(path, error):
                return [frames.SessionError(path, error)]
            case events.ProjectUntrusted(path, found, changed):
                listed = [frames.Found(each.kind, each.path) for each in found]
                return [frames.ProjectUntrusted(path, listed, changed or UNSET)]
            case events.BashRan():
                return []
            case events.OutputRead(value, problem):
                return [frames.Output(error=problem) if problem else frames.Output(value)]
            case events.HookFailed(path, name, error):
                spelled = frames.HookError if self._generation.errors == "hook_error" else later_frames.ExtensionError
                return [spelled(path, name, error)]
            case _ if isinstance(event, events.Fine):
                return self._fine(event)
            case _:
                return [_shown(event)]

    def _compaction(self, event: events.CompactionStarted | events.CompactionEnded) -> Sequence[frames.Frame]:
        """Return the start or the end of a compaction. A start that was not told comes before its end."""
        spoken = self._generation.compactions == "compaction"
        if event.reason == "manual" and not spoken:
            return []  # Whoever asked for it is answered.
        begun = later_frames.CompactionStart(event.reason) if spoken else frames.AutoCompactionStart(event.reason)
        if isinstance(event, events.CompactionStarted):
            self._compacting = True
            return [begun]
        started = [] if self._compacting else [begun]
        self._compacting = False
        shown = None if event.result is None else to_pi.compaction(event.result, self._words)
        error = to_pi.summary_failure(event.error) if spoken else to_pi.failure(event.error)
        if not spoken:
            return [*started, frames.AutoCompactionEnd(shown, event.aborted, event.will_retry, error or UNSET)]
        why = f"Compaction failed: {error}" if error and not event.aborted else UNSET
        return [
            *started,
            later_frames.CompactionEnd(event.reason, shown or UNSET, event.aborted, event.will_retry, why),
        ]

    def _fine(self, event: events.Fine) -> Sequence[frames.Frame]:
        """Return the frames of an event that only some generations have."""
        generation = self._generation
        match event:
            case events.EntryAppended(line) if generation.entries_told:
                return [later_frames.EntryAppended(Raw(line))]
            case events.LevelChanged(level) if generation.levels_told:
                return [later_frames.ThinkingLevelChanged(level)]
            case events.BashPrinted(request, text) if generation.bash_updates:
                return [later_frames.BashExecutionUpdate(Raw(request) if request else UNSET, printable(text))]
            case events.SummaryRetry() if generation.summary_retries:
                return [_summary_retry(event)]
            case _:
                return []


def _summary_retry(event: events.SummaryRetry) -> frames.Frame:
    match event.stage:
        case "scheduled":
            error = to_pi.failure(event.error)
            return later_frames.SummaryRetryScheduled(event.attempt, event.max_attempts, event.delay_ms, error)
        case "begun":
            return later_frames.SummaryRetryStart("compaction", event.reason)
        case "finished":
            return later_frames.SummaryRetryFinished()


def _asked(event: events.QuestionAsked | events.QuestionClosed) -> list[frames.Frame]:
    from linnet.wire.pi import questions  # Most agents ask none.

    return [questions.asked(event)] if isinstance(event, events.QuestionAsked) else questions.closed(event)


def _shown(event: events.Shown) -> frames.Frame:
    from linnet.wire.pi import questions  # Most agents have no extensions.

    return questions.told(event)


def _texts(waiting: Iterable[Input]) -> list[str]:
    return [input.text for input in waiting]
