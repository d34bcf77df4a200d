"""Knows from a session's events whether something has begun and not ended.

Where nothing is open there is a mark. What is printed after it depends on nothing that happened before it, so whoever
prints from some event on need not know more than what happened since the last mark before that.
"""

from typing import assert_never

from linnet.core import events, ui_events


class OpenWork:
    """The fold of a session's events. Invariant: applying events, in order, is the only way it changes.

    A prompt or a compaction is open from JobStarted to Settled, and all that is inside of it is open no longer: its
    runs and their steps, replies, parts and tools, the wait for another try, and compactions. A question may be asked
    at any time, and may outlive a job that broke. What an extension shows is told once, also what stays on a screen,
    and so is a queue or a setting: nobody says later that it has ended.
    """

    def __init__(self) -> None:
        self._job = False
        self._questions: set[str] = set()

    @property
    def is_empty(self) -> bool:
        """Return whether nothing is open: whether this is a mark."""
        return not self._job and not self._questions

    def apply(self, event: events.Event) -> None:
        """Change as the event says."""
        match event:
            case events.JobStarted():
                self._job = True
            case events.Settled():
                self._job = False
            case events.QuestionAsked(id):
                self._questions.add(id)
            case events.QuestionClosed(id):
                self._questions.discard(id)
            case (
                events.JobContinued()
                | events.JobInterrupted()
                | events.RunStarted()
                | events.RunEnded()
                | events.StepStarted()
                | events.StepEnded()
                | events.ReplyStarted()
                | events.ReplyEnded()
                | events.PartStarted()
                | events.TextGrew()
                | events.ThinkingGrew()
                | events.CallGrew()
                | events.PartEnded()
                | events.ToolStarted()
                | events.ToolProgressed()
                | events.ToolFinished()
                | events.Interrupted()
                | events.OutputRead()
                | events.RetryScheduled()
                | events.RetryEnded()
                | events.CompactionStarted()
                | events.FailureForgotten()
                | events.CompactionEnded()
                | events.UserSaid()
                | events.SystemTold()
                | events.UsageGrew()
                | events.SummaryRetry()
                | events.ToolReturned()
            ):
                pass  # A part of a job, which is open as long as any of them could be.
            case (
                events.BashRan()
                | events.BashHeld()
                | events.BashPrinted()
                | events.EntryAppended()
                | events.QueueChanged()
                | events.NoteAdded()
                | events.StateKept()
                | events.HookFailed()
                | events.ModelSet()
                | events.ThinkingSet()
                | events.LevelChanged()
                | events.PermissionSet()
                | events.SteeringModeSet()
                | events.FollowUpModeSet()
                | events.AutoCompactionSet()
                | events.AutoRetrySet()
                | events.Cleared()
                | events.Navigated()
                | events.SessionEntered()
                | events.SessionNamed()
                | events.SessionFailed()
                | events.ProjectUntrusted()
                | events.ProjectTrustSet()
                | ui_events.Notified()
                | ui_events.Displayed()
                | ui_events.StatusSet()
                | ui_events.WidgetSet()
                | ui_events.TitleSet()
                | ui_events.EditorTextSet()
            ):
                pass  # Over as soon as it is told.
            case _:
                assert_never(event)
