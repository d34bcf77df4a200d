"""The session as the thread of a prompt or a compaction sees it, and the only way in which that thread changes it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from linnet.core.commands import Answer, Compact, Done, Prompt, TakeUp
from linnet.core.events import Event, JobContinued, JobInterrupted, QuestionClosed, QueueChanged, RunEnded, Settled
from linnet.core.inputs import Input
from linnet.core.loop.limits import Limits
from linnet.core.loop.run import Run
from linnet.core.loop.run_facts import Emit, Fact, Task
from linnet.core.messages import StopReason, Usage
from linnet.errors import BadInput, LimitReached, LinnetError
from linnet.runtime.broadcast import Action, Broadcast, act
from linnet.runtime.requester import PendingRequest

if TYPE_CHECKING:
    from linnet.core.left_off import LeftOff

ELSEWHERE = "this run cannot be taken up: the conversation does not end where it was left off"
NOTHING = "there is nothing to take up: the conversation ends with an answer"
NOT_SAID = "this prompt cannot be taken up: nobody knows what it was to say"
Outcome: TypeAlias = Answer | LinnetError


class ActiveJob:
    """Invariant: `model`, `reasoning` and `conversation` are those that the job began with; a change meanwhile is for
    the next job.

    Methods that publish take the lock themselves, and then wait without it until listeners have room: only the thread
    of the job waits for a slow reader.
    """

    def __init__(
        self,
        broadcast: Broadcast,
        request: PendingRequest,
        clock: Callable[[], int],
        end: Callable[[Outcome], Sequence[Action]],
        limits: Limits,
    ) -> None:
        """Made under the lock. `end` is called under it, once, in one step with the last event, and returns what is
        left to be done without it.
        """
        self._requester = request.requester
        self._broadcast = broadcast
        self._lock = broadcast.lock
        self._state = broadcast.state
        self._end = end
        self.cancel = request.cancel
        self.now = clock
        self.began = clock()
        self.conversation = self._state.conversation
        self.model = self._state.model
        self.asked_reasoning = self._state.asked_thinking
        self.reasoning = self._state.thinking
        self.warn = broadcast.warn
        self.queues = self._state.queues
        self.limits = limits
        self.limit: LimitReached | None = None  # Why the job was interrupted, if that was no abort.
        self.earlier = self._state.spent  # What the session had cost before.
        self.end_wait: Callable[[], None] | None = None  # Ends the wait for a retry, while there is one.
        self.left_off: LeftOff | None = None  # Where another process left this prompt, if one did.

    def begin_locked(self, work: Prompt | Compact) -> None:
        """Take up a prompt that another process left off, if the work is that; tell if the job was aborted while it
        waited. Called before the job has a thread.

        Raises BadInput for a prompt that cannot be taken up.
        """
        if isinstance(work, TakeUp):
            self.left_off = work.left_off or self._left_off_here()
            self._take_up_locked(self.left_off)
        if self.cancel.is_set:
            self._broadcast.publish_locked([JobInterrupted()])

    def tell_interrupted_locked(self) -> None:
        """Tell that the job is about to be interrupted, unless it is: whoever takes it up must know that it
        was to end.
        """
        if not self.cancel.is_set:
            self._broadcast.publish_locked([JobInterrupted("" if self.limit is None else str(self.limit))])

    def _left_off_here(self) -> "LeftOff":
        """Return where a run was left off, as the conversation shows it. Raises BadInput if it ends with an answer."""
        from linnet.core.left_off import left_off_in

        found = left_off_in(self.conversation.messages)
        if found is None:
            raise BadInput(NOTHING)
        return found

    def _take_up_locked(self, left: "LeftOff") -> None:
        """Count the prompt's cost from where it began, close the questions that nobody waits for any more, and queue
        what was queued. Raises BadInput if the conversation is not the one that was left off.
        """
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
        self._broadcast.publish_locked(told)

    @property
    def session_id(self) -> str:
        """Return the id of the session; empty if there is none."""
        return self._state.session_id

    @property
    def spent(self) -> Usage:
        """Return what the session has cost so far."""
        return self._state.spent

    @property
    def over(self) -> LimitReached | None:
        """Return the limit that keeps the job from beginning anything more; None if none does."""
        if self.limit is not None or self.limits.cost is None:
            return self.limit
        return self.limits.after_spending(self.spent.cost.total - self.earlier.cost.total)

    def cut_short(self) -> tuple[StopReason, str]:
        """Return the stop reason and the error of a reply that was interrupted: by an abort, or by a limit."""
        return ("aborted", "") if self.limit is None else ("error", str(self.limit))

    @property
    def auto_retry(self) -> bool:
        """Return whether a run that failed for a passing reason is run again. It may be set while the job works."""
        return self._state.auto_retry

    @property
    def auto_compaction(self) -> bool:
        """Return whether a long conversation is compacted unasked. It may be set while the job works."""
        return self._state.auto_compaction

    def tell_heard(self, *, handled: bool) -> None:
        """Tell whoever sent the prompt that extensions were asked about it."""
        with self._lock:
            self._requester.heard(handled=handled)

    def emit(self, events: Sequence[Event], then: Sequence[Event] = ()) -> None:
        """Publish these events, and in the same step `then`, after the entries that the first ones left in the session;
        wait until listeners have room for more. Never raises.
        """
        self._broadcast.emit(events, self.cancel, then)

    def preview(self, event: Event) -> bool:
        """Publish an event that may be left out, unless a listener is behind. Return whether it was published."""
        if self._broadcast.is_behind():
            return False
        with self._lock:
            self._broadcast.publish_locked([event])
        return True

    def advance(self, run: Run, fact: Fact) -> list[Task] | RunEnded:
        """Feed the machine and publish what happened, in one step under the lock: the machine takes from the queues,
        and what is said meanwhile must fall before or after that.

        Returns the tasks to do next; or the end of the run, which is not published yet: what follows from it is decided
        first, and published in one step with it.
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
                self._broadcast.publish_locked(events)
        self._broadcast.pace(self.cancel)
        return ended if isinstance(ended, RunEnded) else tasks

    @property
    def waits(self) -> bool:
        """Whether something is queued for this prompt."""
        return bool(self.queues.steering or self.queues.follow_ups)

    def settle(self, events: Sequence[Event], settled: Settled, outcome: Outcome) -> tuple[Input, ...]:
        """Publish these last events, and end the job. If something is queued for a prompt, the job goes on instead, and
        that is returned; unless a limit is reached: then the queue is dropped, which is told, and the job has failed
        for that reason.
        """
        actions: Sequence[Action] = ()
        # The last look at the queues and the end are one step: what was accepted for this job is never left lying.
        with self._lock:
            if settled.kind == "prompt" and (over := self.over) and (dropped := self.queues.clear()):
                events = [*events, QueueChanged((), (), tuple(dropped))]
                settled, outcome = Settled("prompt", "error", str(over)), Done("error", str(over), over)
            # After an abort, what still waits was kept for the next prompt.
            heard = self.queues.take_next() if settled.kind == "prompt" and not self.cancel.is_set else []
            if heard:
                changed = QueueChanged(tuple(self.queues.steering), tuple(self.queues.follow_ups))
                self._broadcast.publish_locked([*events, changed, JobContinued()])
            else:
                self._broadcast.publish_locked([*events, settled])
                actions = self._end(outcome)
        act(actions)
        return tuple(heard)
