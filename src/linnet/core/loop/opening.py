"""Keeps what an encoder has to know when it begins in the middle of a session's events.

Since the last mark (`open_work.py`) much may have happened: a prompt may work for hours. But nearly all of that is over
as soon as a step has ended, and a reply that is being written is the same whether its pieces come one by one or joined.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import TypeAlias, get_args

from msgspec.structs import replace

from linnet.core import events

LONGEST_TAIL = 64 * 1024
"""Letters of what a running tool has printed last. No dialect shows more."""

MOST_PIECES = 32 * 1024
"""So many events of a reply are kept as they came before they are joined: joining costs more than a piece does."""

Growing: TypeAlias = events.TextGrew | events.ThinkingGrew | events.CallGrew
_GROWING = frozenset(get_args(Growing))
_OF_REPLY = _GROWING | {events.PartStarted, events.PartEnded, events.UsageGrew}
"""Kinds of events that are forgotten when their reply has ended. Nearly all events are of these."""
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
        self._queued: list[events.Event] = []  # What waits to be said to the agent, if anything does.
        self._job: list[events.Event] = []  # What is open of the job, around its step.
        self._step: list[events.Event] = []
        self._reply: list[events.Event] = []  # What the open reply has said by now.
        self._most = MOST_PIECES  # When that is joined next.
        self._printed: dict[str, events.ToolProgressed] = {}  # By call: what running tools have printed last.

    @property
    def kept(self) -> list[events.Event]:
        """Return what is to be skipped, in an order in which it could have happened."""
        self._reply = _joined(self._reply)
        return [
            *self._questions.values(),
            *self._queued,
            *self._job,
            *self._step,
            *self._reply,
            *self._printed.values(),
        ]

    def apply(self, batch: Sequence[events.Event]) -> None:
        """Change as these events say."""
        if _OF_REPLY.issuperset(map(type, batch)):
            self._reply += batch
            if len(self._reply) > self._most:
                self._reply = _joined(self._reply)
                self._most = max(MOST_PIECES, 2 * len(self._reply))
            return
        for event in batch:
            if type(event) in _OF_REPLY:
                self._reply.append(event)
            elif type(event) in _OF_STEP:
                self._add_to_step(event)
            else:
                self._change(event)

    def _add_to_step(self, event: events.Event) -> None:
        match event:
            case events.ReplyStarted():
                self._reply.clear()
            case events.ReplyEnded(reply):
                self._reply.clear()
                if reply.stop not in ("error", "aborted"):
                    self._drop_from_job(events.RetryScheduled)
            case events.ToolReturned(result) | events.ToolFinished(result):
                self._printed.pop(result.call_id, None)
            case _:
                pass
        self._step.append(event)

    def _change(self, event: events.Event) -> None:
        match event:
            case events.ToolProgressed(id, _, text):
                before = self._printed[id].text if id in self._printed else ""
                self._printed[id] = replace(event, text=(before + text)[-LONGEST_TAIL:])
            case events.StepEnded() | events.Interrupted():
                self._forget_step()
            case events.QuestionAsked(id):
                self._questions[id] = event
            case events.QuestionClosed(id):
                self._questions.pop(id, None)
            case events.QueueChanged(steering, follow_ups):
                self._queued = [event] if steering or follow_ups else []
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

    def _forget_step(self) -> None:
        self._reply.clear()
        self._step.clear()
        self._printed.clear()


def _joined(reply: Sequence[events.Event]) -> list[events.Event]:
    """Return what a reply has said with one event for all pieces that follow each other in a part."""
    used = [event for event in reply if isinstance(event, events.UsageGrew)]
    joined: list[events.Event] = [*used[-1:]]  # The last one says it all.
    said = [event for event in reply if isinstance(event, Growing | events.PartStarted | events.PartEnded)]
    for (kind, _), same in groupby(said, lambda event: (type(event), event.index)):
        if kind in _GROWING:
            pieces = [event for event in same if isinstance(event, Growing)]
            joined.append(replace(pieces[0], text="".join([piece.text for piece in pieces])))
        else:
            joined += same
    return joined
