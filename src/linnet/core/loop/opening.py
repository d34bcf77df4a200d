"""Keeps what an encoder has to know when it begins in the middle of a session's events.

Since the last mark (`open_work.py`) much may have happened: a prompt may work for hours. But nearly all of that is over
as soon as a step has ended, and a reply that is being written is the same whether its pieces come one by one or joined.
"""

from collections.abc import Iterable
from typing import TypeAlias

from msgspec.structs import replace

from linnet.core import events

LONGEST_TAIL = 64 * 1024
"""Letters of what a running tool has printed last. No dialect shows more."""

Growing: TypeAlias = events.TextGrew | events.ThinkingGrew | events.CallGrew

_OF_STEP = frozenset(
    (
        events.UserSaid,
        events.SystemTold,
        events.NoteAdded,
        events.StepStarted,
        events.ReplyStarted,
        events.ReplyEnded,
        events.ToolStarted,
        events.ToolReturned,
        events.ToolFinished,
    )
)
"""Kinds of events that are forgotten when their step has ended."""


class Opening:
    """The fold of a session's events into few of them. Invariant: an encoder that has skipped `kept` prints from then
    on what one prints that was told all that was applied.
    """

    def __init__(self) -> None:
        self._questions: dict[str, events.Event] = {}
        self._job: list[events.Event] = []  # What is open of the job, around its step.
        self._step: list[events.Event] = []
        self._parts: list[events.Event] = []  # Of the open reply: what it has said by now.
        self._growing: Growing | None = None  # The first piece of a part that goes on,
        self._pieces: list[str] = []  # and all of them.
        self._printed: dict[str, events.ToolProgressed] = {}  # By call: what running tools have printed last.

    @property
    def kept(self) -> list[events.Event]:
        """Return what is to be skipped, in an order in which it could have happened."""
        self._join()
        return [*self._questions.values(), *self._job, *self._step, *self._parts, *self._printed.values()]

    def apply(self, batch: Iterable[events.Event]) -> None:
        """Change as these events say."""
        for event in batch:
            if isinstance(event, Growing):
                self._grow(event)
            elif type(event) in _OF_STEP:
                self._add_to_step(event)
            else:
                self._change(event)

    def _grow(self, event: Growing) -> None:
        first = self._growing
        if first is None or first.index != event.index or type(first) is not type(event):
            self._join()
            self._growing = event
        self._pieces.append(event.text)

    def _join(self) -> None:
        """Make one event of the pieces of a part."""
        if self._growing is None:
            return
        before = self._parts[-1] if self._parts else None
        if isinstance(before, Growing) and before.index == self._growing.index and type(before) is type(self._growing):
            self._parts.pop()  # It was joined before, and has grown since.
            self._pieces.insert(0, before.text)
        self._parts.append(replace(self._growing, text="".join(self._pieces)))
        self._end_of_parts()

    def _end_of_parts(self) -> None:
        self._growing = None
        self._pieces.clear()

    def _add_to_step(self, event: events.Event) -> None:
        match event:
            case events.ReplyStarted():
                self._forget_reply()
            case events.ReplyEnded(reply):
                self._forget_reply()
                if reply.stop not in ("error", "aborted"):
                    self._drop_from_job(events.RetryScheduled)
            case events.ToolReturned(result) | events.ToolFinished(result):
                self._printed.pop(result.call_id, None)
            case _:
                pass
        self._step.append(event)

    def _change(self, event: events.Event) -> None:
        match event:
            case events.PartStarted() | events.PartEnded():
                self._join()
                self._parts.append(event)
            case events.UsageGrew():  # The last one says it all.
                self._parts = [each for each in self._parts if not isinstance(each, events.UsageGrew)]
                self._parts.insert(0, event)
            case events.ToolProgressed(id, _, text):
                before = self._printed[id].text if id in self._printed else ""
                self._printed[id] = replace(event, text=(before + text)[-LONGEST_TAIL:])
            case events.StepEnded() | events.Interrupted():
                self._forget_step()
            case events.QuestionAsked(id):
                self._questions[id] = event
            case events.QuestionClosed(id):
                self._questions.pop(id, None)
            case events.JobStarted() | events.JobInterrupted():
                self._job.append(event)
            case events.RunStarted():
                self._forget_step()  # What came before it was in no step.
                self._job.append(event)
            case events.CompactionStarted() | events.RetryScheduled():
                self._drop_from_job(type(event))
                self._job.append(event)
            case events.CompactionEnded():
                self._drop_from_job(events.CompactionStarted)
            case events.RetryEnded():
                self._drop_from_job(events.RetryScheduled)
            case events.RunEnded():
                self._drop_from_job(events.RunStarted)
                self._job.append(
                    event
                )  # Whole: where all runs of a prompt are one to a client, it is told of it at last.
            case events.Settled():
                self._job.clear()
                self._forget_step()
            case _:
                pass  # Told once, and over.

    def _drop_from_job(self, kind: type[events.Event]) -> None:
        self._job = [each for each in self._job if not isinstance(each, kind)]

    def _forget_reply(self) -> None:
        self._parts.clear()
        self._end_of_parts()

    def _forget_step(self) -> None:
        self._forget_reply()
        self._step.clear()
        self._printed.clear()
