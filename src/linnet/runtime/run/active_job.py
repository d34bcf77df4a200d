"""A prompt or a compaction that goes on: what it sees of its session, and the only way it can change it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from linnet.concurrency.cancel import CancelToken
from linnet.core.commands import Answer, Compact, Done, Prompt, TakeUp
from linnet.core.events import Event, JobContinued, JobInterrupted, QuestionClosed, QueueChanged, RunEnded, Settled
from linnet.core.inputs import Input
from linnet.core.loop.limits import Limits
from linnet.core.loop.run import Emit, Fact, Run, Task
from linnet.core.messages import StopReason, Usage
from linnet.errors import BadInput, LimitReached, LinnetError
from linnet.runtime.broadcast import Action, Broadcast, act

if TYPE_CHECKING:
    from linnet.core.left_off import LeftOff

ELSEWHERE = "this run cannot be taken up: the conversation does not end where it was left off"
NOTHING = "there is nothing to take up: the conversation ends with an answer"
NOT_SAID = "this prompt cannot be taken up: nobody knows what it was to say"
Outcome: TypeAlias = Answer | LinnetError


class ActiveJob:
    """`model`, `reasoning` and `conversation` are those the job began with; a change meanwhile is for the next one.

    `end_wait` ends the wait for a retry, while there is one. `limit` is why it was interrupted, if that was no abort;
    `earlier` is what the session had cost before.
    """

    def __init__(
        self,
        broadcast: Broadcast,
        cancel: CancelToken,
        clock: Callable[[], int],
        end: Callable[[Outcome], Sequence[Action]],
        limits: Limits,
    ) -> None:
        """`end` is called under the lock, once, when the last event has been told. Returns what is left to be done
        without the lock.
        """
        self._broadcast = broadcast
        self._lock = broadcast.lock
        self._state = broadcast.state
        self._end = end
        self.cancel = cancel
        self.now = clock
        self.began = clock()
        self.conversation = self._state.conversation
        self.model = self._state.model
        self.asked_reasoning = self._state.asked_thinking
        self.reasoning = self._state.thinking
        self.warn = broadcast.warn
        self.queues = self._state.queues
        self.limits = limits
        self.limit: LimitReached | None = None
        self.earlier = self._state.spent
        self.end_wait: Callable[[], None] | None = None
        self.left_off: LeftOff | None = None  # Where another process left this prompt, if one did.

    def begin_locked(self, work: Prompt | Compact) -> None:
        """Tell what is known of the job before it does anything. Nobody can have said anything to it yet.

        Raises BadInput for one that cannot be taken up.
        """
        if isinstance(work, TakeUp):
            self.left_off = work.left_off or self._left_off_here()
            self._take_up_locked(self.left_off)
        if self.cancel.is_set:  # It was aborted while it waited.
            self._broadcast.publish([JobInterrupted()])

    def tell_interrupted_locked(self) -> None:
        """Tell that the job is about to be interrupted: whoever takes it up must know that it was to end."""
        if not self.cancel.is_set:
            self._broadcast.publish([JobInterrupted("" if self.limit is None else str(self.limit))])

    def _left_off_here(self) -> "LeftOff":
        """Return where the conversation itself says that a run was left off. Raises BadInput."""
        from linnet.core.left_off import left_off_in

        found = left_off_in(self.conversation.messages)
        if found is None:
            raise BadInput(NOTHING)
        return found

    def _take_up_locked(self, left: "LeftOff") -> None:
        """Go on counting what the prompt costs, close what nobody waits for any more, and let wait what waited."""
        if left.run is None and not left.inputs and left.ended is None:
            raise BadInput(NOT_SAID)
        if not left.fits(self.conversation.messages):
            raise BadInput(ELSEWHERE)
        self.earlier = self.earlier if left.earlier is None else left.earlier
        told: list[Event] = [QuestionClosed(each.id, each.question, "withdrawn") for each in left.questions]
        waited = (*left.steering, *left.follow_ups)
        if waited and self.cancel.is_set:  # It was aborted before it began: nothing is said to it.
            told.append(QueueChanged((), (), waited))
        elif waited:
            self.queues.steering, self.queues.follow_ups = list(left.steering), list(left.follow_ups)
            told.append(QueueChanged(left.steering, left.follow_ups))
        if left.cut_short is not None:
            self.limit = LimitReached("max_seconds", left.cut_short.error) if left.cut_short.error else None
            self.cancel.set()  # Nothing blocks in it yet.
        self._broadcast.publish(told)

    @property
    def spent(self) -> Usage:
        return self._state.spent

    @property
    def over(self) -> LimitReached | None:
        """Return why nothing more may be begun for its sake; None if something may."""
        if self.limit is not None or self.limits.cost is None:
            return self.limit
        return self.limits.after_spending(self.spent.cost.total - self.earlier.cost.total)

    def cut_short(self) -> tuple[StopReason, str]:
        """Return how a reply stops that was interrupted, and why."""
        return ("aborted", "") if self.limit is None else ("error", str(self.limit))

    @property
    def auto_retry(self) -> bool:
        return self._state.auto_retry

    @property
    def auto_compaction(self) -> bool:
        return self._state.auto_compaction

    def emit(self, events: Sequence[Event]) -> None:
        """Publish them, and let the listeners catch up. Never raises."""
        with self._lock:
            self._broadcast.publish(events)
        self._broadcast.pace(self.cancel)

    def preview(self, event: Event) -> bool:
        """Publish what can wait. Return False if a listener is behind, and then it was not published."""
        if self._broadcast.is_behind():
            return False
        with self._lock:
            self._broadcast.publish([event])
        return True

    def advance(self, run: Run, fact: Fact) -> list[Task] | RunEnded:
        """Feed the machine and publish what happened, all at once, so that nothing said meanwhile falls between.

        Returns what is to be done next. The end of the run is returned instead, and not published yet, for what follows
        from it belongs to the same moment.
        """
        events: list[Event] = []
        tasks: list[Task] = []
        with self._lock:
            for effect in run.feed(fact):
                if isinstance(effect, Emit):
                    events.append(effect.event)
                else:
                    tasks.append(effect)
            ended = events.pop() if events and isinstance(events[-1], RunEnded) else None
            if events:
                self._broadcast.publish(events)
        self._broadcast.pace(self.cancel)
        return ended if isinstance(ended, RunEnded) else tasks

    def settle(self, events: Sequence[Event], settled: Settled, outcome: Outcome) -> tuple[Input, ...]:
        """Publish these last events and that the job is over. If something waits to be said to a prompt, the job is not
        over, and that is returned instead; unless nothing more may be begun: then it is dropped, which is told, and the
        job has failed for that reason.
        """
        actions: Sequence[Action] = ()
        with self._lock:
            if settled.kind == "prompt" and (over := self.over) and (dropped := self.queues.clear()):
                events = [*events, QueueChanged((), (), tuple(dropped))]
                settled, outcome = Settled("prompt", "error", str(over)), Done("error", str(over), over)
            heard = self.queues.take_next() if settled.kind == "prompt" else []
            if heard:
                changed = QueueChanged(tuple(self.queues.steering), tuple(self.queues.follow_ups))
                self._broadcast.publish([*events, changed, JobContinued()])
            else:
                self._broadcast.publish([*events, settled])
                actions = self._end(outcome)
        act(actions)
        return tuple(heard)
