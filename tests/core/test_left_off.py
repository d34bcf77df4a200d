"""A run that is left off after any event, and taken up again by another machine that knows its events alone."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from linnet.core.context.conversation import Conversation
from linnet.core.context.history import repaired
from linnet.core.events import (
    Cleared,
    CompactionEnded,
    CompactionStarted,
    Event,
    Interrupted,
    JobContinued,
    JobInterrupted,
    JobStarted,
    QuestionAsked,
    QuestionClosed,
    QueueChanged,
    QueueMode,
    ReplyEnded,
    RetryEnded,
    RetryScheduled,
    RunEnded,
    RunStarted,
    Settled,
    StepEnded,
    StepStarted,
    ToolFinished,
    ToolStarted,
    UserSaid,
)
from linnet.core.inputs import Input
from linnet.core.left_off import Known, LeftOff, OpenRun, left_off, left_off_in
from linnet.core.loop.limits import Limits
from linnet.core.loop.queues import Queues
from linnet.core.loop.run import NOT_RUN, TOO_LATE, UNKNOWN, Run
from linnet.core.loop.run_facts import (
    Aborted,
    Answered,
    AskModel,
    Effect,
    Emit,
    Fact,
    Prepare,
    Prepared,
    Prompted,
    Replied,
    Review,
    Reviewed,
    RunTool,
    TakenUp,
    Task,
)
from linnet.core.messages import (
    AssistantMessage,
    BashRun,
    Cost,
    Message,
    Note,
    ReplyPart,
    StopReason,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from linnet.core.questions import Confirm, Permit, RunClientTool

GO = Input("go")
CUT = AssistantMessage((), 0, "p", "m", stop="aborted")


def said(input: Input) -> UserMessage:
    return UserMessage((Text(input.text),), 0)


def reply(*calls: str, text: str = "hm", stop: StopReason = "end") -> AssistantMessage:
    content: tuple[ReplyPart, ...] = (Text(text), *(ToolCall(id, "bash", {}) for id in calls))
    used = Usage(output=1, cost=Cost(output=0.1))
    return AssistantMessage(content, 0, "p", "m", used, "tool_use" if calls else stop)


def result(id: str, text: str = "ok") -> ToolResult:
    return ToolResult(id, "bash", (Text(text),), 0)


class Ask(Struct, frozen=True):
    """Not an event: the model is asked now."""


class World:
    """All that is around a machine, as the runtime is, but without threads. `log` is what is left of it at its end.

    Whoever asks it to do something says what comes of it, by numbers. `torn` is how much of the last batch is lost.
    """

    def __init__(self, draw: Callable[[int], int], steps: int, at_once: int, *, reviews: bool) -> None:
        self._draw = draw
        self._limits = Limits(steps)
        self._at_once = at_once
        self._reviews = reviews
        self._mode: QueueMode = "all" if draw(2) else "one-at-a-time"
        self.log: list[Event | Ask] = []
        self.batch = 0
        self.inputs: list[Input] = []
        self.ran: list[tuple[int, int]] = []
        self._begin_process()
        self._publish([JobStarted("prompt", GO)])
        self._run = self._machine()
        self._feed(Prompted((said(GO),)))

    def _begin_process(self) -> None:
        self.queues = Queues()
        self.queues.steering_mode = self.queues.follow_up_mode = self._mode
        self.aborted = False
        self.tasks: list[Task] = []
        self.open: dict[int, QuestionAsked] = {}
        self._begun: set[int] = set()
        self._objected = False

    def _machine(self) -> Run:
        totals = [each.total for each in self.log if isinstance(each, ReplyEnded)]
        return Run(
            self._limits,
            totals[-1] if totals else Usage(),
            self.queues,
            self._at_once,
            Usage(),
            reviews=self._reviews,
        )

    @property
    def over(self) -> bool:
        return any(isinstance(each, Settled) for each in self.log)

    @property
    def events(self) -> list[Event]:
        return [each for each in self.log if not isinstance(each, Ask)]

    @property
    def replies(self) -> int:
        return sum(isinstance(each, ReplyEnded) for each in self.log)

    def act(self) -> None:
        """Let something happen, unless all is over."""
        if self.over:
            return
        what = self._draw(8)
        if what == 0 and not self.aborted:
            self._abort()
        elif what in (1, 2) and not self.aborted:
            self.inputs.append(Input(f"say {len(self.inputs)}"))
            (self.queues.steering if what == 1 else self.queues.follow_ups).append(self.inputs[-1])
            self._publish([self._queue()])
        elif self.tasks:
            self._advance(self.tasks[self._draw(len(self.tasks))])

    def finish(self) -> None:
        """See the run to its end. The model has nothing to ask for any more."""
        for _ in range(500):
            if self.over:
                return
            self._advance(self.tasks[0], finishing=True)
        raise AssertionError("the run does not end")

    def die(self) -> LeftOff | None:
        """The process ends, and with it all that is not in the log. What was told last may be lost in part."""
        lost = self._draw(self.batch + 1)
        del self.log[len(self.log) - lost :]
        self.batch = 0
        return left_off(self.events)

    def take_up(self, left: LeftOff) -> None:
        """Another process does what the runtime does."""
        self._begin_process()
        self.queues.steering, self.queues.follow_ups = list(left.steering), list(left.follow_ups)
        closed = [QuestionClosed(each.id, each.question, "withdrawn") for each in left.questions]
        self._publish([JobStarted("prompt", taken_up=True), *closed])
        self._run = self._machine()
        self.aborted = left.cut_short is not None
        if left.run is not None:
            self._objected = left.run.objected
            self._feed(TakenUp(left.run, 0, CUT if left.cut_short else None))
        elif left.inputs:
            self._feed(Prompted(tuple(map(said, left.inputs))))
        else:
            assert left.ended is not None
            self._publish([Settled("prompt", left.ended.stop)])

    def _queue(self, dropped: Sequence[Input] = ()) -> QueueChanged:
        return QueueChanged(tuple(self.queues.steering), tuple(self.queues.follow_ups), tuple(dropped))

    def _abort(self) -> None:
        self.aborted = True
        dropped = self.queues.clear()
        self._publish([*([self._queue(dropped)] if dropped else []), JobInterrupted()])

    def _publish(self, events: Sequence[Event | Ask]) -> None:
        self.log += events
        self.batch = len(events)

    def _feed(self, fact: Fact) -> None:
        told: list[Event | Ask] = []
        for effect in self._run.feed(fact):
            if isinstance(effect, Emit):
                told.append(effect.event)
                continue
            assert not (self.aborted and isinstance(effect, AskModel) and isinstance(fact, TakenUp))
            self.tasks.append(effect)
            if isinstance(effect, AskModel):
                told.append(Ask())
        if told and isinstance(told[-1], RunEnded):
            told.append(Settled("prompt", told[-1].stop))
        self._publish(told)

    def _advance(self, task: Task, *, finishing: bool = False) -> None:
        if isinstance(task, RunTool):
            self._run_tool(task)
            return
        self.tasks.remove(task)
        if isinstance(task, Prepare):
            self._feed(Prepared(tuple(map(said, task.inputs))))
        elif isinstance(task, AskModel):
            calls = 0 if finishing else self._draw(4)
            stops: tuple[StopReason, ...] = ("end", "end", "length", "error")
            message = reply(*"abc"[:calls], stop="end" if finishing else stops[self._draw(4)])
            self._feed(Replied(CUT if self.aborted else message))
        elif isinstance(task, Review):
            objects = not self._objected and self._draw(2) == 0
            self._objected = self._objected or objects
            self._feed(Reviewed(said(Input("no")) if objects else None, CUT if self.aborted else None))

    def _run_tool(self, task: RunTool) -> None:
        """One of: somebody is asked whether it may run; it begins; it ends."""
        index, call = task.index, task.call
        if self.aborted:
            closed = self.open.pop(index, None)
            if closed is not None:
                self._publish([QuestionClosed(closed.id, closed.question, "withdrawn")])
                return
            self.tasks.remove(task)
            self._feed(Aborted(index, result(call.id, "cut"), CUT))
        elif index in self.open:
            asked = self.open.pop(index)
            self._publish([QuestionClosed(asked.id, asked.question, "answered")])
            self._begin(index)
        elif index in self._begun:
            self.tasks.remove(task)
            self._begun.remove(index)
            self._feed(Answered(index, result(call.id)))
        elif self._draw(2):
            self.open[index] = QuestionAsked(f"q{len(self.log)}", Permit(call, "May it?"))
            self._publish([self.open[index]])
        else:
            self.batch = 0  # What was told before is in the log by the time that anything is done.
            self._begin(index)

    def _begin(self, index: int) -> None:
        self.batch = 0
        self._begun.add(index)
        self.ran.append((self.replies, index))


def lived(data: st.DataObject, *, reviews: bool) -> World:
    """A prompt that several processes see to, one after the other, to its end."""
    world = World(
        lambda most: data.draw(st.integers(0, most - 1)),
        data.draw(st.integers(1, 4)),
        data.draw(st.integers(1, 3)),
        reviews=reviews,
    )
    for actions in data.draw(st.lists(st.integers(0, 12), max_size=3)):
        for _ in range(actions):
            world.act()
        left = world.die()
        if left is None:
            assert world.over
            return world
        world.take_up(left)
    world.finish()
    return world


@given(st.data(), st.booleans())
def test_a_run_that_is_left_off_anywhere_and_taken_up_ends_once_and_begins_no_call_twice(
    data: st.DataObject, reviews: bool
) -> None:
    world = lived(data, reviews=reviews)
    kinds = [type(each) for each in world.log]
    assert (kinds.count(RunEnded), kinds.count(Settled), kinds[-1]) == (1, 1, Settled)
    assert len(world.ran) == len(set(world.ran))


@given(st.data(), st.booleans())
def test_every_call_is_answered_once_and_in_order_before_the_model_is_asked_again(
    data: st.DataObject, reviews: bool
) -> None:
    world = lived(data, reviews=reviews)
    unanswered: list[str] = []
    for each in world.log:
        if isinstance(each, Ask | RunEnded | UserSaid):
            assert not unanswered
        elif isinstance(each, ReplyEnded):
            unanswered = [call.id for call in each.message.calls]
        elif isinstance(each, ToolFinished):
            assert each.result.call_id == unanswered.pop(0)
        elif isinstance(each, StepEnded):
            assert [result.call_id for result in each.results] == [call.id for call in each.message.calls]


@given(st.data(), st.booleans())
def test_each_half_is_told_as_a_whole_to_those_who_hear_nothing_else(data: st.DataObject, reviews: bool) -> None:
    world = lived(data, reviews=reviews)
    in_run = in_step = False
    running: set[str] = set()
    for each in world.events:
        match each:
            case JobStarted():
                in_run = in_step = False
                running = set()
            case RunStarted():
                assert not in_run
                in_run = True
            case StepStarted():
                assert in_run
                assert not in_step
                in_step = True
            case ToolStarted(call):
                assert in_step
                running.add(call.id)
            case ToolFinished(result):
                running.remove(result.call_id)
            case StepEnded():
                assert in_step
                assert not running
                in_step = False
            case RunEnded():
                assert in_run
                assert not in_step
                in_run = False
            case _:
                pass


@given(st.data(), st.booleans())
def test_the_conversation_needs_no_repair_and_is_what_the_run_says_it_was(data: st.DataObject, reviews: bool) -> None:
    world = lived(data, reviews=reviews)
    conversation = Conversation()
    for event in world.events:
        conversation.apply(event)
    plain: list[Message] = [each for each in conversation.messages if each.content]  # type: ignore[union-attr]
    assert repaired(conversation.messages) == plain
    (ended,) = [each for each in world.events if isinstance(each, RunEnded)]
    assert list(ended.messages) == conversation.messages


@given(st.data(), st.booleans())
def test_all_that_was_said_is_heard_once_or_dropped_or_still_waits(data: st.DataObject, reviews: bool) -> None:
    world = lived(data, reviews=reviews)
    recorded: list[Input] = []  # What was said as a process ended may be in no log.
    dropped: list[Input] = []
    waiting: list[Input] = []
    heard: list[str] = []
    for event in world.events:
        if isinstance(event, QueueChanged):
            waiting = [*event.steering, *event.follow_ups]
            dropped += event.dropped
            recorded += [each for each in (*waiting, *event.dropped) if each not in recorded]
        elif isinstance(event, UserSaid):
            heard.append(event.message.content[0].text)  # type: ignore[union-attr]
    once = [text for text in heard if text.startswith("say")]
    assert len(once) == len(set(once))
    assert sorted([*once, *(each.text for each in (*dropped, *waiting))]) == sorted(each.text for each in recorded)
    assert heard.count("go") == 1


@given(st.data(), st.booleans())
def test_steps_are_counted_on_and_none_goes_beyond_the_limit(data: st.DataObject, reviews: bool) -> None:
    world = lived(data, reviews=reviews)
    steps = [each.step for each in world.events if isinstance(each, StepStarted)]
    assert steps == sorted(steps)
    assert set(steps) == set(range(1, len(set(steps)) + 1))
    assert max(steps, default=0) <= (world._limits.steps or 0)
    totals = [each.total.output for each in world.events if isinstance(each, ReplyEnded)]
    assert totals == sorted(totals)
    assert (
        totals[-1:]
        == [sum(each.message.usage.output for each in world.events if isinstance(each, ReplyEnded))][: len(totals)]
    )


@given(st.data(), st.booleans())
def test_a_run_that_was_being_aborted_ends_so_and_begins_nothing(data: st.DataObject, reviews: bool) -> None:
    world = World(lambda most: data.draw(st.integers(0, most - 1)), 4, 2, reviews=reviews)
    for _ in range(data.draw(st.integers(0, 12))):
        world.act()
    if not world.over and not world.aborted:
        world._abort()
    left = world.die()
    if left is None or left.cut_short is None or left.run is None:
        return
    failed = left.run.reply is not None and left.run.reply.stop == "error"
    world.take_up(left)
    assert not any(isinstance(task, AskModel | RunTool | Review) for task in world.tasks)
    world.finish()
    assert [each.stop for each in world.events if isinstance(each, RunEnded)] == ["error" if failed else "aborted"]


STARTED = JobStarted("prompt", GO, Usage(output=7))
ABC = reply("a", "b", "c")
BEGUN: list[Event] = [STARTED, RunStarted(), UserSaid(said(GO)), StepStarted(1), ReplyEnded(ABC, Usage())]


def started(id: str) -> ToolStarted:
    return ToolStarted(ToolCall(id, "bash", {}))


def permit(question: str, call: str) -> QuestionAsked:
    return QuestionAsked(question, Permit(ToolCall(call, "bash", {"changed": "by an extension"}), "May it?"))


def closed(asked: QuestionAsked, how: Literal["answered", "expired", "withdrawn"]) -> QuestionClosed:
    return QuestionClosed(asked.id, asked.question, how)


def known_after(*events: Event, reply: AssistantMessage = ABC) -> tuple[Known, ...]:
    begun = [replace(each, message=reply) if isinstance(each, ReplyEnded) else each for each in BEGUN]
    left = left_off([*begun, *events])
    assert left is not None
    assert left.run is not None
    return left.run.known


def test_of_each_call_it_is_known_whether_it_was_answered_may_have_begun_is_asked_about_or_had_to_wait() -> None:
    told = (started("a"), started("b"), ToolFinished(result("a")), started("c"))
    assert known_after() == ("not_begun",) * 3
    assert known_after(*told[:1]) == ("unknown", "not_begun", "not_begun")
    assert known_after(*told[:2], permit("q", "b")) == ("unknown", "asked", "not_begun")
    assert known_after(*told, permit("q", "c")) == (result("a"), "unknown", "asked")


@pytest.mark.parametrize(("how", "known"), [("answered", "unknown"), ("expired", "asked"), ("withdrawn", "asked")])
def test_a_question_that_was_answered_may_have_let_the_call_run(
    how: Literal["answered", "expired", "withdrawn"], known: Known
) -> None:
    assert known_after(started("a"), permit("q", "a"), closed(permit("q", "a"), how))[0] == known


@pytest.mark.parametrize("question", [RunClientTool(ToolCall("a", "bash", {})), Confirm("Sure?")])
def test_only_the_question_whether_it_may_run_holds_a_call_back(question: RunClientTool | Confirm) -> None:
    assert known_after(started("a"), QuestionAsked("q", question))[0] == "unknown"


def test_calls_that_have_one_id_are_all_asked_about_or_may_all_have_begun() -> None:
    twins = reply("a", "a", "b")
    both = (started("a"), started("a"), permit("q1", "a"))
    assert known_after(*both, reply=twins)[:2] == ("unknown", "unknown")
    assert known_after(*both, permit("q2", "a"), reply=twins)[:2] == ("asked", "asked")
    expired = (started("a"), permit("q1", "a"), closed(permit("q1", "a"), "expired"), ToolFinished(result("a")))
    assert known_after(*expired, started("a"), reply=twins)[1] == "unknown"


def test_what_was_asked_about_in_one_process_may_have_begun_in_the_next() -> None:
    first = (started("a"), permit("q", "a"))
    second = (JobStarted("prompt", taken_up=True), RunStarted(), StepStarted(1))
    assert known_after(*first, *second)[0] == "not_begun"
    assert known_after(*first, *second, started("a"))[0] == "unknown"
    assert known_after(*first, *second, started("a"), permit("q2", "a"))[0] == "asked"
    assert known_after(started("a"), *second)[0] == "unknown"


def taken_up(run: OpenRun, queues: Queues | None = None, cut: AssistantMessage | None = None) -> list[Effect]:
    return Run(Limits(), Usage(), queues or Queues()).feed(TakenUp(run, 5, cut))


def open_run(*known: Known) -> OpenRun:
    return OpenRun(said=(said(GO), ABC), step=1, reply=ABC, known=known)


def results_of(effects: list[Effect]) -> list[Any]:
    told = [each.event.result for each in effects if isinstance(each, Emit) and isinstance(each.event, ToolFinished)]
    return [(each.call_id, each.content[0].text) for each in told if isinstance(each.content[0], Text)]


def test_calls_that_were_asked_about_are_begun_whoever_steers_and_those_that_waited_are_not() -> None:
    queues = Queues()
    queues.steering.append(Input("wait"))
    effects = taken_up(open_run(result("a"), "asked", "not_begun"), queues)
    assert [each.index for each in effects if isinstance(each, RunTool)] == [1]


def test_a_call_of_which_nobody_knows_is_answered_so_in_its_turn_and_never_run() -> None:
    run = Run(Limits(), Usage(), Queues(), calls_at_once=3)
    effects = run.feed(TakenUp(open_run("asked", "unknown", "not_begun"), 5))
    assert [each.index for each in effects if isinstance(each, RunTool)] == [0, 2]
    assert results_of(effects) == []
    assert results_of(run.feed(Answered(0, result("a")))) == [("a", "ok"), ("b", UNKNOWN)]


def test_results_of_another_order_are_told_once_and_ended_in_the_order_of_the_calls() -> None:
    effects = taken_up(open_run("unknown", result("b"), "unknown"))
    assert results_of(effects) == [("a", UNKNOWN), ("c", UNKNOWN)]
    (ended,) = [each.event for each in effects if isinstance(each, Emit) and isinstance(each.event, StepEnded)]
    assert [each.call_id for each in ended.results] == ["a", "b", "c"]


@pytest.mark.parametrize(("stop", "reason"), [("aborted", NOT_RUN), ("error", TOO_LATE)])
def test_a_run_that_was_being_cut_short_answers_its_calls_and_ends_for_that_reason(
    stop: StopReason, reason: str
) -> None:
    cut = AssistantMessage((), 0, "p", "m", stop=stop, error="why")
    effects = taken_up(open_run("unknown", "asked", "not_begun"), cut=cut)
    assert results_of(effects) == [("a", UNKNOWN), ("b", reason), ("c", reason)]
    last = effects[-1]
    assert isinstance(last, Emit)
    assert isinstance(last.event, RunEnded)
    assert (last.event.stop, last.event.error, last.event.messages[-1]) == (stop, "why", cut)


def test_a_run_that_was_told_to_be_interrupted_only_ends() -> None:
    cut = AssistantMessage((), 0, "p", "m", stop="aborted")
    answered: list[Event] = [each for id in "abc" for each in (started(id), ToolFinished(result(id)))]
    left = left_off([*BEGUN, *answered, StepEnded(ABC, ()), Interrupted(cut)])
    assert left is not None
    assert left.run is not None
    effects = taken_up(left.run)
    assert effects == [Emit(RunStarted()), Emit(RunEnded("aborted", "", left.run.said))]
    assert left.run.said[-1] == cut


ENDED = RunEnded("error", "no", ())


@pytest.mark.parametrize(
    ("events", "again", "attempt"),
    [
        ([], "", 0),
        ([RetryScheduled(2, 3, 10, "no")], "ask", 2),
        ([RetryScheduled(2, 3, 10, "no"), RunStarted(), ENDED], "", 2),
        ([RetryScheduled(2, 3, 10, "no"), RetryEnded(False, 2)], "", 0),
        ([CompactionStarted("overflow")], "compact", 0),
        ([CompactionStarted("overflow"), CompactionEnded("overflow", None, error="no")], "", 0),
        ([CompactionStarted("threshold")], "", 0),
    ],
)
def test_between_two_runs_it_is_known_what_was_to_follow(events: list[Event], again: str, attempt: int) -> None:
    left = left_off([*BEGUN, ENDED, *events])
    assert left is not None
    assert (left.run, left.ended, left.again, left.attempt) == (None, ENDED, again, attempt)
    assert left.overflowed == (CompactionStarted("overflow") in events)
    assert left.earlier == Usage(output=7)


def test_what_a_prompt_says_is_not_lost_before_it_is_said() -> None:
    cuts: list[list[Event]] = [[STARTED], [STARTED, RunStarted()]]
    for events in cuts:
        left = left_off(events)
        assert left is not None
        assert (left.run, left.inputs, left.first) == (None, (GO,), True)


def test_what_was_taken_from_the_queue_as_a_run_ended_begins_the_next() -> None:
    more = Input("more")
    waits, taken = QueueChanged((), (more,)), QueueChanged((), ())
    left = left_off([*BEGUN, waits, ENDED, taken, JobContinued()])
    assert left is not None
    assert (left.inputs, left.first, left.ended) == ((more,), False, None)
    aborted = left_off([*BEGUN, waits, QueueChanged((), (), (more,)), JobInterrupted()])
    assert aborted is not None
    assert (aborted.inputs, aborted.cut_short) == ((), JobInterrupted())
    assert aborted.run is not None
    assert aborted.run.inputs == ()


ANSWERED: list[Event] = [each for id in "abc" for each in (started(id), ToolFinished(result(id)))]
TWO = (Input("one"), Input("two"))
WAIT, TAKE = QueueChanged(TWO, ()), QueueChanged((), ())


def run_after(*events: Event) -> OpenRun:
    left = left_off([STARTED, RunStarted(), UserSaid(said(GO)), StepStarted(1), *events])
    assert left is not None
    assert left.run is not None
    return left.run


def test_a_step_that_was_told_to_have_ended_does_not_end_again() -> None:
    run = run_after(ReplyEnded(ABC, Usage()), *ANSWERED, StepEnded(ABC, ()))
    assert taken_up(run) == [Emit(RunStarted()), Emit(StepStarted(2)), AskModel(2)]


@pytest.mark.parametrize(("calls", "goes_on"), [("a", AskModel), ("", Emit)])
def test_what_was_taken_from_the_queue_and_not_said_is_prepared_again(calls: str, goes_on: type[Effect]) -> None:
    """Where the agent had nothing left to do, and there is nothing to be said either, the run ends."""
    answer = reply(*calls)
    told: list[Event] = [each for id in calls for each in (started(id), ToolFinished(result(id)))]
    run = run_after(WAIT, ReplyEnded(answer, Usage()), *told, StepEnded(answer, ()), TAKE)
    machine = Run(Limits(), Usage(), Queues())
    assert machine.feed(TakenUp(run, 5)) == [Emit(RunStarted()), Prepare(TWO)]
    assert isinstance(machine.feed(Prepared(()))[-1], goes_on)


def test_of_what_was_taken_only_the_rest_is_prepared_if_some_was_said() -> None:
    before = (WAIT, ReplyEnded(reply(), Usage()), StepEnded(reply(), ()), TAKE, UserSaid(said(TWO[0])))
    assert taken_up(run_after(*before))[-1] == Prepare(TWO[1:])
    assert taken_up(run_after(*before, StepStarted(2)))[-1] == AskModel(2)
    assert not run_after(*before, StepStarted(2)).objected


def test_what_an_extension_saw_to_is_not_said_when_the_next_run_has_begun() -> None:
    events = (*BEGUN, WAIT, ENDED, TAKE, JobContinued(), RunStarted(), UserSaid(said(TWO[0])), StepStarted(1))
    for torn, inputs in ((-1, TWO[1:]), (len(events), ())):
        left = left_off(events[:torn])
        assert left is not None
        assert left.inputs == inputs


def test_an_answer_that_was_objected_to_is_known_to_be_the_second_try() -> None:
    before = (ReplyEnded(reply(), Usage()), StepEnded(reply(), ()))
    assert not run_after(*before).objected
    assert run_after(*before, UserSaid(said(Input("no"))), StepStarted(2)).objected


def test_results_of_the_next_reply_are_told() -> None:
    run = Run(Limits(), Usage(), Queues(), calls_at_once=3)
    assert run.feed(TakenUp(open_run(*map(result, "abc")), 5))[-1] == AskModel(2)
    run.feed(Replied(reply("d")))
    assert results_of(run.feed(Answered(0, result("d")))) == [("d", "ok")]


def test_a_conversation_that_overflowed_in_one_answer_may_overflow_in_the_next() -> None:
    overflow = (ENDED, CompactionStarted("overflow"))
    left = left_off([*BEGUN, *overflow, CompactionEnded("overflow", None), WAIT, TAKE, JobContinued()])
    assert left is not None
    assert not left.overflowed


@pytest.mark.parametrize(
    "events",
    [
        [],
        [JobStarted("compact")],
        [*BEGUN, ENDED, Settled("prompt", "error")],
        [*BEGUN, Cleared()],
    ],
)
def test_where_all_is_told_or_the_conversation_was_left_there_is_nothing_to_take_up(events: list[Event]) -> None:
    assert left_off(events) is None


def test_a_prompt_that_nobody_took_up_is_forgotten_when_another_begins() -> None:
    other = JobStarted("prompt", Input("other"))
    left = left_off([*BEGUN, other])
    assert left is not None
    assert left.inputs == (Input("other"),)


def test_a_conversation_alone_tells_what_was_asked_and_not_what_was_begun() -> None:
    asked = said(GO)
    assert left_off_in([]) is None
    assert left_off_in([asked, reply()]) is None
    assert left_off_in([asked, reply(), BashRun("ls", "", 0, 0)]) is None
    assert left_off_in([asked]) == LeftOff(run=OpenRun(said=(asked,)))
    left = left_off_in([said(Input("before")), reply(), asked, reply("x"), result("x"), ABC, result("b")])
    assert left is not None
    assert left.run is not None
    assert (left.run.step, left.run.known) == (2, ("unknown", result("b"), "unknown"))
    assert left.run.said[0] == asked


def test_a_run_goes_on_only_in_a_conversation_that_ends_where_it_was_left_off() -> None:
    left = LeftOff(run=open_run("unknown", "not_begun", "not_begun"))
    here: list[Message] = [said(Input("before")), said(GO), ABC]
    ran = BashRun("ls", "", 0, 0)
    assert left.fits(here)
    assert not left.fits([*here, result("a")])
    assert not left.fits(here[:-1])
    assert not left.fits([*here, ran]), "results must follow their calls"
    assert not left.fits([said(GO), reply("a", "b")])
    answered = LeftOff(run=replace(open_run(), said=(ABC, *map(result, "abc")), known=tuple(map(result, "abc"))))
    assert answered.fits([*here, *map(result, "abc"), ran])
    assert not LeftOff(run=OpenRun()).fits(here), "nothing is known of these calls"
    assert LeftOff(run=OpenRun(said=(said(GO),))).fits([*here, said(GO)])
    noted = Note("note", (Text("hm"),), 0)
    assert not LeftOff(run=OpenRun(said=(noted,))).fits([said(GO)])
