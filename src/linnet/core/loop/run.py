"""The agent loop as a state machine: it is fed facts and returns effects, and `run_facts` has both.

It never waits and does nothing by itself, so any order of facts can be tried.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, assert_never

from linnet.core.context import cost
from linnet.core.events import (
    Event,
    Interrupted,
    NoteAdded,
    QueueChanged,
    ReplyEnded,
    RunEnded,
    RunStarted,
    StepEnded,
    StepStarted,
    SystemTold,
    ToolFinished,
    ToolReturned,
    ToolStarted,
    UserSaid,
)
from linnet.core.inputs import Input
from linnet.core.loop.limits import Limits
from linnet.core.loop.queues import Queues
from linnet.core.loop.run_facts import (
    Aborted,
    Answered,
    AskModel,
    Effect,
    Emit,
    Fact,
    MakeRoom,
    Opening,
    Prepare,
    Prepared,
    Prompted,
    Replied,
    Review,
    Reviewed,
    RoomMade,
    RunTool,
    TakenUp,
)
from linnet.core.messages import (
    AssistantMessage,
    Message,
    Note,
    StopReason,
    SystemMessage,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from linnet.errors import LimitReached

if TYPE_CHECKING:
    from linnet.core.left_off import OpenRun  # Few runs are taken up.

NOT_RUN = "Not run: the turn was aborted."
TOO_LATE = "Not run: the time for this prompt was up."
BEGUN = "Begun, then cancelled: {} while it ran. It may have done some of its work, or all of it."
UNKNOWN = (
    "No result: the agent's process ended while this call was open, and another one goes on. The call may have done "
    "none of its work, some of it, or all of it. It was not run again: find out what was done before you repeat it."
)
SKIPPED = "Skipped due to queued user message."


class Run:
    """One run: the agent at work, from a prompt until it has nothing left to do.

    Invariants:
    - Every call of a reply is answered before the model is asked again, and results are told in the order of the calls.
    - At most `calls_at_once` calls are outstanding, and no other task is while one is.
    - No call is begun after an abort; nor, unless `skips` is off, once somebody steers and at least one call of the
      reply was answered.
    - A step that goes beyond a limit is finished.
    - Where answers are reviewed, the last one was, unless it was cut off at the model's limit, or the run failed.
    - The run ends exactly once.

    A run that is taken up goes on as if it had not been left off: no result is told twice, and no call that may have
    begun is begun again. What was open when it was left off is told to have started once more, for those who hear of it
    only now; calls that somebody was being asked about are all asked about again.
    """

    def __init__(
        self,
        limits: Limits,
        spent: Usage,
        queues: Queues,
        calls_at_once: int = 1,
        earlier: Usage | None = None,
        *,
        reviews: bool = False,
        skips: bool = True,
        makes_room: bool = False,
        alone: Callable[[str], bool] = lambda tool: False,
    ) -> None:
        """`spent` is what the session has cost so far, `earlier` what it had cost before this prompt.

        `reviews`: an answer is reviewed before it is the last. `skips`: somebody who steers keeps calls from being
        begun; otherwise all of them run, and what waits as the run begins is said with the prompt. `makes_room`: a
        conversation that has become too long is shortened between two steps. `alone`: whether a tool minds others; if
        one of a reply minds, its calls run one after the other.
        """
        self._skips = skips
        self._makes_room = makes_room
        self._making_room = False
        self._reviews = reviews
        self._reviewing = False
        self.limit: LimitReached | None = None  # The limit that ended the run, if one did.
        self._limits = limits
        self._total = spent
        self._earlier = (spent if earlier is None else earlier).cost.total
        self._queues = queues
        self._calls_at_once, self._alone = calls_at_once, alone
        self._step = 0
        self._asked = self._preparing = False
        self._reply: AssistantMessage | None = None
        self._begun = 0  # So many of the reply's calls were told to have started.
        self._running: set[int] = set()
        self._answered: dict[int, ToolResult] = {}  # Those that wait for an earlier call's result to be told.
        self._returned: set[int] = set()  # Those that were told to be over.
        self._told: set[int] = set()  # Those whose results were told before the run was taken up.
        self._results: list[ToolResult] = []  # Those of the reply's calls that were told, in the order of the calls.
        self._aborted: AssistantMessage | None = None  # The reply that stands for the interruption, if there was one.
        self._said: list[Message] = []
        self._stopped: StopReason = "end"  # As the reply that had nothing left to do, while it is reviewed.
        self._may_end = False  # The run may end if nothing comes of what is being prepared.

    def feed(self, fact: Fact) -> list[Effect]:
        """Take in a fact; return what is to be done, in this order, before the next one is fed.

        What comes of a task that is not outstanding any more changes nothing.
        """
        match fact:
            case Prompted(messages):
                return [Emit(RunStarted()), *self._begin(messages)]
            case TakenUp(run, time, cut):
                return [Emit(RunStarted()), *self._take_up(run, time, cut)]
            case Prepared(messages):
                return self._prepared(messages) if self._preparing else []
            case Replied(message):
                return self._replied(message) if self._asked else []
            case Answered(index, result, said):
                return self._answer(index, result, said) if index in self._running else []
            case Aborted(index, result, reply):
                if index not in self._running:
                    return []
                self._aborted = self._aborted or reply  # The first interruption is the reason for the others.
                return self._answer(index, result)
            case Reviewed(objection, cut):
                return self._reviewed(objection, cut) if self._reviewing else []
            case RoomMade(cut):
                return self._room_made(cut) if self._making_room else []
            case _:
                assert_never(fact)

    def _take_up(self, run: "OpenRun", time: int, cut: AssistantMessage | None) -> list[Effect]:
        reply = self._reply = run.reply
        self._said, self._step, self._aborted = list(run.said), run.step, cut
        # From the latest thing that may have been told to the earliest: nothing is told or done twice.
        if run.interrupted is not None:
            return self._finish(run.interrupted.stop, run.interrupted.error)
        if run.inputs:
            self._preparing, self._may_end = True, reply is not None and not reply.calls
            return [Prepare(run.inputs)]
        if reply is None:
            return self._ask()
        if run.step_ended:
            return self._leave_step(reply)
        again = Emit(StepStarted(self._step))
        if reply.calls:
            return [again, *self._take_up_calls(run, time), *self._next(time)]
        return [again, self._step_ended(), *self._leave_step(reply)]

    def _take_up_calls(self, run: "OpenRun", time: int) -> list[Effect]:
        """Answer the calls of which nobody knows what came, and run those that somebody was being asked about."""
        effects: list[Effect] = []
        self._begun = run.begun
        for index, (call, known) in enumerate(zip(self._calls, run.known, strict=True)):
            if isinstance(known, ToolResult):
                self._answered[index] = known
                self._told.add(index)
            elif index < self._begun:
                effects.append(Emit(ToolStarted(call)))
                if known == "unknown":
                    self._answered[index] = not_run(call, time, UNKNOWN)
                elif self._aborted is not None:
                    self._answered[index] = not_run(call, time, _why_not(self._aborted))
                else:
                    self._running.add(index)
                    effects.append(RunTool(index, call))
        return effects

    def _prepared(self, messages: tuple[UserMessage | Note, ...]) -> list[Effect]:
        # After a reply with calls the model is asked all the same: it has not seen their results.
        may_end, self._may_end = self._may_end, False
        if messages or not may_end:
            return self._ask(messages)
        self._preparing = False
        assert self._reply is not None
        return self._leave_step(self._reply)  # There is nothing that the model could answer.

    def _begin(self, messages: tuple[Opening, ...]) -> list[Effect]:
        if self._skips or not messages or not (heard := self._queues.take_steering()):
            return self._ask(messages)
        self._said += messages
        return [*(Emit(_told(each)) for each in messages), *self._hear(heard)]

    def _ask(self, messages: Iterable[Opening] = ()) -> list[Effect]:
        self._preparing = False
        self._step += 1
        self._asked = True
        messages = list(messages)
        self._said += messages
        begun = [*(Emit(_told(each)) for each in messages), Emit(StepStarted(self._step))]
        if self._aborted is not None:  # It was taken up only to end.
            return [*begun, *self._replied(self._aborted)]
        return [*begun, AskModel(self._step)]

    def _replied(self, message: AssistantMessage) -> list[Effect]:
        self._asked = False
        self._total = cost.add(self._total, message.usage)
        self._reply = message
        self._said.append(message)
        self._begun, self._results, self._told, self._returned = 0, [], set(), set()
        ended = Emit(ReplyEnded(message, self._total))
        if message.calls:
            return [ended, *self._next(message.time)]
        return [ended, self._step_ended(), *self._leave_step(message)]

    def _answer(self, index: int, result: ToolResult, said: ToolResult | None = None) -> list[Effect]:
        self._running.remove(index)
        self._answered[index] = said or result
        self._returned.add(index)
        return [Emit(ToolReturned(result)), *self._tell_results(), *self._next(result.time)]

    def _next(self, time: int) -> list[Effect]:
        """Begin the calls that may begin. Once every call is answered, go on to the next step or end."""
        effects: list[Effect] = []
        # Calls are skipped before any is begun: an abort or steering that came meanwhile keeps the others from running.
        if self._aborted is not None:
            self._skip(_why_not(self._aborted), self._aborted.time)
        elif self._skips and (self._results or self._answered) and self._queues.steering:
            self._skip(SKIPPED, time)
        effects += self._tell_results()
        calls = self._calls
        at_once = 1 if any(self._alone(call.name) for call in calls) else self._calls_at_once
        while self._begun < len(calls) and len(self._running) < at_once:
            if self._begun in self._answered:
                break  # It was skipped, and so were those after it.
            call = calls[self._begun]
            self._running.add(self._begun)
            effects += [Emit(ToolStarted(call)), RunTool(self._begun, call)]
            self._begun += 1
        if self._running:
            return effects
        assert self._reply is not None
        return [*effects, self._step_ended(), *self._leave_step(self._reply)]

    def _leave_step(self, reply: AssistantMessage) -> list[Effect]:
        """Go on from the end of a step to the next one, or end."""
        # It has told of the interruption itself.
        if not (calls := reply.calls) and reply.stop in ("error", "aborted"):
            return self._finish(reply.stop, reply.error)
        cut = self._aborted
        if cut is not None:
            return self._interrupted(cut)
        if not calls:
            return self._go_on(reply.stop)
        self.limit = self._reached()
        if self.limit is not None:
            return self._finish("error", str(self.limit))
        if self._results and all(result.ends_run for result in self._results) and not self._queues.steering:
            return self._go_on("end")
        if self._makes_room:
            self._making_room = True
            return [MakeRoom()]
        return self._hear(self._queues.take_steering())

    def _room_made(self, cut: AssistantMessage | None) -> list[Effect]:
        self._making_room = False
        return self._hear(self._queues.take_steering()) if cut is None else self._interrupted(cut)

    def _interrupted(self, cut: AssistantMessage) -> list[Effect]:
        """End the run, with the reply that stands for the interruption."""
        self._said.append(cut)
        return [Emit(Interrupted(cut)), *self._finish(cut.stop, cut.error)]

    def _go_on(self, stop: StopReason) -> list[Effect]:
        """Hear what waits to be said to an agent that has nothing left to do; or have its answer reviewed, or end."""
        self._stopped = stop
        # What waits is heard first: an answer that more is said to is not the last, and need not be reviewed.
        if self._reached() is None and (heard := self._queues.take_next()):
            self._may_end = True
            return self._hear(heard)
        if self._reviews and stop != "length" and self._reply is not None:
            self._reviewing = True
            return [Review(self._reply.text)]
        return self._finish(stop, "")

    def _reviewed(self, objection: UserMessage | None, cut: AssistantMessage | None) -> list[Effect]:
        self._reviewing = False
        if cut is not None:
            return self._interrupted(cut)
        if self._reached() is not None:
            return self._finish(self._stopped, "")
        if objection is not None:
            return self._ask([objection])
        if heard := self._queues.take_next():  # It was said while the answer was reviewed.
            self._may_end = True
            return self._hear(heard)
        return self._finish(self._stopped, "")

    def _reached(self) -> LimitReached | None:
        if self._limits.steps is None and self._limits.cost is None:
            return None
        return self._limits.between_steps(self._step, self._total.cost.total - self._earlier)

    def _hear(self, heard: list[Input]) -> list[Effect]:
        """Have what was taken out of the queues made messages of; without any, ask the model at once."""
        if not heard:
            return self._ask()
        self._preparing = True
        changed = QueueChanged(tuple(self._queues.steering), tuple(self._queues.follow_ups))
        return [Emit(changed), Prepare(tuple(heard))]

    @property
    def _calls(self) -> tuple[ToolCall, ...]:
        return self._reply.calls if self._reply is not None else ()

    def _skip(self, reason: str, time: int) -> None:
        """Answer the calls that have not begun with this reason."""
        calls = self._calls
        for index in range(self._begun, len(calls)):
            self._answered.setdefault(index, not_run(calls[index], time, reason))

    def _tell_results(self) -> list[Effect]:
        """Tell the results whose turn it is. A call that was skipped is told to have started first."""
        effects: list[Effect] = []
        while (index := len(self._results)) in self._answered:
            result = self._answered.pop(index)
            if index in self._told:
                self._results.append(result)
                continue
            if index >= self._begun:
                effects.append(Emit(ToolStarted(self._calls[index])))
                self._begun = index + 1
            if index not in self._returned:
                effects.append(Emit(ToolReturned(result)))
            self._results.append(result)
            self._said.append(result)
            effects.append(Emit(ToolFinished(result)))
        return effects

    def _step_ended(self) -> Effect:
        assert self._reply is not None
        return Emit(StepEnded(self._reply, tuple(self._results)))

    def _finish(self, stop: StopReason, error: str) -> list[Effect]:
        self._reply = None
        return [Emit(RunEnded(stop, error, tuple(self._said)))]


def _told(message: Opening) -> Event:
    match message:
        case Note():
            return NoteAdded(message)
        case SystemMessage():
            return SystemTold(message)
        case UserMessage():
            return UserSaid(message)


def not_run(call: ToolCall, time: int, reason: str = NOT_RUN) -> ToolResult:
    """Return the result of a call that has no result of its own, for this reason."""
    return ToolResult(call.id, call.name, (Text(reason),), time, is_error=True)


def cut_off(call: ToolCall, time: int, *, begun: bool, late: bool) -> ToolResult:
    """Return the result of a call that was interrupted; `late`: because the time was up, not by an abort."""
    if not begun:
        return not_run(call, time, TOO_LATE if late else NOT_RUN)
    return not_run(call, time, BEGUN.format("the time for this prompt was up" if late else "the turn was aborted"))


def _why_not(cut: AssistantMessage) -> str:
    """Return why a call does not run in a run that was cut short with this reply."""
    return NOT_RUN if cut.stop == "aborted" else TOO_LATE
