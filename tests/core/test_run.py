"""The agent loop, fed facts in any order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from linnet.core.events import (
    Event,
    Interrupted,
    QueueChanged,
    ReplyEnded,
    RunEnded,
    RunStarted,
    StepEnded,
    StepStarted,
    ToolFinished,
    ToolReturned,
    ToolStarted,
    UserSaid,
)
from linnet.core.inputs import Input
from linnet.core.loop.limits import Limits
from linnet.core.loop.queues import Queues
from linnet.core.loop.run import SKIPPED, TOO_LATE, Run
from linnet.core.loop.run_facts import (
    Aborted,
    Answered,
    AskModel,
    Effect,
    Emit,
    Fact,
    MakeRoom,
    Prepare,
    Prepared,
    Prompted,
    Replied,
    Review,
    Reviewed,
    RoomMade,
    RunTool,
)
from linnet.core.messages import (
    AssistantMessage,
    Cost,
    ReplyPart,
    StopReason,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)

PROMPT = Prompted((UserMessage((Text("go"),), 0),))
NOT_ASKED = AssistantMessage((), 0, "p", "m", stop="aborted")


def reply(*calls: str, text: str = "", stop: StopReason = "end", error: str = "") -> Replied:
    parts = [Text(text)] if text else []
    content: tuple[ReplyPart, ...] = (*parts, *(ToolCall(id, "read", {}) for id in calls))
    return Replied(AssistantMessage(content, 0, "p", "m", Usage(output=1), "tool_use" if calls else stop, error))


def answered(index: int, id: str = "") -> Answered:
    return Answered(index, ToolResult(id or "abc"[index], "read", (Text("ok"),), 0))


def aborted(index: int) -> Aborted:
    return Aborted(index, ToolResult("abc"[index], "read", (Text("cut"),), 0), NOT_ASKED)


def emitted(effects: list[Effect]) -> list[type]:
    return [type(effect.event) for effect in effects if isinstance(effect, Emit)]


class Steer(Struct, frozen=True):
    pass


indices = st.integers(0, 2)
replies = st.builds(
    lambda calls, stop: reply(*"abc"[:calls], text="hm", stop=stop),
    st.integers(0, 3),
    st.sampled_from(["end", "length", "error", "aborted"]),
)
facts = replies | st.builds(answered, indices) | st.builds(aborted, indices)
actions = facts | st.builds(answered, indices) | st.just(Steer())


def fed(arriving: list[Fact | Steer], steps: int, calls_at_once: int) -> list[tuple[Fact, list[Effect]]]:
    """Every fact with its effects. What is to be prepared is prepared at once."""
    queues = Queues()
    run = Run(Limits(steps), Usage(), queues, calls_at_once)
    story: list[tuple[Fact, list[Effect]]] = []
    for each in [PROMPT, *arriving]:
        if isinstance(each, Steer):
            queues.steering.append(Input("steer"))
            continue
        effects = run.feed(each)
        if effects and isinstance(effects[-1], Prepare):
            messages = tuple(UserMessage((Text(input.text),), 0) for input in effects[-1].inputs)
            effects += run.feed(Prepared(messages))
        story.append((each, effects))
    return story


def events_of(story: list[tuple[Fact, list[Effect]]]) -> list[Event]:
    return [effect.event for _, effects in story for effect in effects if isinstance(effect, Emit)]


@given(st.lists(actions), st.integers(1, 3), st.integers(1, 4))
def test_facts_in_any_order_end_the_run_at_most_once_and_answer_every_call_in_order(
    arriving: list[Fact | Steer], steps: int, calls_at_once: int
) -> None:
    events = events_of(fed(arriving, steps, calls_at_once))

    ends = [index for index, event in enumerate(events) if isinstance(event, RunEnded)]
    assert ends in ([], [len(events) - 1])
    unanswered: list[str] = []
    started: list[str] = []
    returned: list[ToolResult] = []
    for event in events:
        match event:
            case StepStarted():
                assert not unanswered
            case ReplyEnded(message):
                unanswered = [call.id for call in message.calls]
                started, returned = [], []
            case ToolStarted(call):
                started.append(call.id)
                assert started == [*"abc"][: len(started)]
            case ToolReturned(result):
                assert result.call_id in started
                returned.append(result)
            case ToolFinished(finished):
                assert finished in returned
                assert finished.call_id == unanswered.pop(0)
            case StepEnded(message, results):
                assert len(returned) == len(message.calls)
                assert [result.call_id for result in results] == [call.id for call in message.calls]
            case RunEnded():
                assert not unanswered
            case _:
                pass


@given(st.lists(actions), st.integers(1, 4))
def test_no_more_is_outstanding_than_the_policy_allows_and_nothing_is_begun_after_an_abort(
    arriving: list[Fact | Steer], calls_at_once: int
) -> None:
    outstanding: set[int] = set()
    asked = over = was_aborted = False
    for fact, effects in fed(arriving, 5, calls_at_once):
        assert not (over and effects)
        if isinstance(fact, Answered | Aborted) and fact.index in outstanding:
            outstanding.remove(fact.index)
            was_aborted = was_aborted or isinstance(fact, Aborted)
        if isinstance(fact, Replied) and asked:
            asked = False
        begun = [effect for effect in effects if isinstance(effect, RunTool)]
        outstanding.update(effect.index for effect in begun)
        asked = asked or any(isinstance(effect, AskModel) for effect in effects)
        over = over or RunEnded in emitted(effects)
        assert len(outstanding) <= calls_at_once
        assert not (outstanding and asked)
        assert not (was_aborted and begun)
        assert over or outstanding or asked, "somebody must have something to do"


@given(st.integers(1, 3), st.permutations([0, 1, 2]))
def test_results_are_told_in_the_order_of_the_calls_whichever_comes_first(at_once: int, order: list[int]) -> None:
    run = Run(Limits(5), Usage(), Queues(), at_once)
    run.feed(PROMPT)
    effects = run.feed(reply("a", "b", "c"))
    outstanding = [effect.index for effect in effects if isinstance(effect, RunTool)]
    assert outstanding == [0, 1, 2][:at_once]
    told: list[str] = []
    while outstanding:
        index = next(index for index in order if index in outstanding)
        outstanding.remove(index)
        effects = run.feed(answered(index))
        outstanding += [effect.index for effect in effects if isinstance(effect, RunTool)]
        results = [e.event.result for e in effects if isinstance(e, Emit) and isinstance(e.event, ToolFinished)]
        told += [result.call_id for result in results]
    assert told == ["a", "b", "c"]
    assert effects[-1] == AskModel(2)


def test_an_abort_waits_for_every_call_that_runs_and_begins_no_other() -> None:
    run = Run(Limits(5), Usage(), Queues(), 2)
    run.feed(PROMPT)
    run.feed(reply("a", "b", "c"))
    assert emitted(run.feed(aborted(1))) == [ToolReturned]
    effects = run.feed(aborted(0))
    skipped = [ToolStarted, ToolReturned, ToolFinished]
    assert emitted(effects) == [ToolReturned, ToolFinished, ToolFinished, *skipped, StepEnded, Interrupted, RunEnded]


def test_a_run_ends_for_the_reason_that_cut_it_short_first() -> None:
    """Calls side by side may notice for different reasons: the time was up, and then somebody aborted."""
    run = Run(Limits(), Usage(), Queues(), calls_at_once=2)
    run.feed(PROMPT)
    run.feed(reply("a", "b", "c"))
    late = AssistantMessage((), 0, "p", "m", stop="error", error="the time was up")
    run.feed(Aborted(1, aborted(1).result, late))
    effects = run.feed(aborted(0))
    events = [effect.event for effect in effects if isinstance(effect, Emit)]
    assert (Interrupted(late), events[-1].stop) == (events[-2], "error")  # type: ignore[union-attr]
    told = [event.result.content[0].text for event in events if isinstance(event, ToolFinished)]  # type: ignore[union-attr]
    assert told == ["cut", "cut", TOO_LATE]


def test_what_was_said_before_a_reply_skips_all_of_its_calls_but_the_first() -> None:
    """The model asked for it before it could know, and one step forward is made whatever is said meanwhile."""
    queues = Queues()
    run = Run(Limits(), Usage(), queues)
    run.feed(PROMPT)
    queues.steering.append(Input("no, left", (), 0))
    assert RunTool(0, ToolCall("a", "read", {})) in run.feed(reply("a", "b"))
    effects = run.feed(answered(0))
    assert not any(isinstance(effect, RunTool) for effect in effects)
    told = [
        effect.event.result for effect in effects if isinstance(effect, Emit) and isinstance(effect.event, ToolFinished)
    ]
    assert [result.content[0].text for result in told] == ["ok", SKIPPED]  # type: ignore[union-attr]


def test_all_calls_run_and_what_waits_is_said_with_the_prompt_if_steering_skips_nothing() -> None:
    queues = Queues()
    queues.steering.append(Input("and this"))
    run = Run(Limits(5), Usage(), queues, skips=False)
    effects = run.feed(PROMPT)
    assert emitted(effects) == [RunStarted, UserSaid, QueueChanged]
    assert effects[-1] == Prepare((Input("and this"),))
    assert emitted(run.feed(Prepared((UserMessage((Text("and this"),), 0),)))) == [UserSaid, StepStarted]
    run.feed(reply("a", "b"))
    queues.steering.append(Input("wait"))
    assert RunTool(1, ToolCall("b", "read", {})) in run.feed(answered(0))
    effects = run.feed(answered(1))
    assert effects[-1] == Prepare((Input("wait"),))


def test_steering_skips_the_calls_that_have_not_begun_and_lets_the_others_finish() -> None:
    queues = Queues()
    run = Run(Limits(5), Usage(), queues, 2)
    run.feed(PROMPT)
    run.feed(reply("a", "b", "c"))
    queues.steering.append(Input("wait"))
    assert emitted(run.feed(answered(1))) == [ToolReturned]
    effects = run.feed(answered(0))
    results = [e.event.result for e in effects if isinstance(e, Emit) and isinstance(e.event, ToolFinished)]
    assert [result.content == (Text(SKIPPED),) for result in results] == [False, False, True]
    assert effects[-1] == Prepare((Input("wait"),))


def test_calls_that_have_one_id_are_told_apart() -> None:
    run = Run(Limits(5), Usage(), Queues(), 2)
    run.feed(PROMPT)
    run.feed(reply("a", "a"))
    run.feed(answered(1, "a"))
    assert run.feed(answered(1, "a")) == []
    assert run.feed(answered(0, "a"))[-1] == AskModel(2)


class Object(Struct, frozen=True):
    """The next answer that is reviewed is objected to."""


@given(st.lists(actions | st.just(Object())), st.integers(1, 5), st.booleans())
def test_no_answer_is_the_last_that_was_not_reviewed(
    arriving: list[Fact | Steer | Object], steps: int, steered_meanwhile: bool
) -> None:
    """Nor is one that was objected to, unless there is no step left for another."""
    queues = Queues()
    run = Run(Limits(steps), Usage(), queues, reviews=True)
    asked = 0
    objects = used = False
    for each in [PROMPT, *arriving]:
        if isinstance(each, Steer):
            queues.steering.append(Input("steer"))
            continue
        if isinstance(each, Object):
            objects = True
            continue
        assert run.feed(Reviewed()) == []  # Nobody asked.
        effects = run.feed(each)
        reviewed = False
        while effects and isinstance(effects[-1], Prepare | Review):
            last = effects[-1]
            if isinstance(last, Prepare):
                effects += run.feed(Prepared(tuple(UserMessage((Text(input.text),), 0) for input in last.inputs)))
                continue
            assert last == Review("hm")
            reviewed, used, objects = True, objects, False
            if steered_meanwhile:
                queues.steering.append(Input("meanwhile"))
            effects += run.feed(Reviewed(UserMessage((Text("no"),), 0) if used else None))
        asked += sum(isinstance(effect, AskModel) for effect in effects)
        for effect in effects:
            if isinstance(effect, Emit) and isinstance(effect.event, RunEnded):
                if effect.event.stop == "end":
                    assert reviewed
                    assert not (used or steered_meanwhile) or asked == steps
                return


def test_an_answer_that_cannot_be_used_is_asked_for_again_in_the_same_run() -> None:
    run = Run(Limits(5), Usage(), Queues(), reviews=True)
    run.feed(PROMPT)
    assert run.feed(reply(text="hi"))[-1] == Review("hi")
    again = run.feed(Reviewed(UserMessage((Text("no"),), 0)))
    assert emitted(again) == [UserSaid, StepStarted]
    run.feed(reply(text="ho"))
    assert emitted(run.feed(Reviewed())) == [RunEnded]


def test_a_run_that_is_cut_short_while_its_answer_is_reviewed_ends_so() -> None:
    run = Run(Limits(5), Usage(), Queues(), reviews=True)
    run.feed(PROMPT)
    run.feed(reply(text="hi"))
    *_, interrupted, ended = run.feed(Reviewed(UserMessage((Text("no"),), 0), NOT_ASKED))
    assert interrupted == Emit(Interrupted(NOT_ASKED))
    assert isinstance(ended, Emit)
    assert isinstance(ended.event, RunEnded)
    assert (ended.event.stop, ended.event.messages[-1]) == ("aborted", NOT_ASKED)


def test_room_is_made_between_two_steps_and_not_after_the_last() -> None:
    run = Run(Limits(5), Usage(), Queues(), makes_room=True)
    run.feed(PROMPT)
    run.feed(reply("a"))
    effects = run.feed(answered(0))
    assert emitted(effects) == [ToolReturned, ToolFinished, StepEnded]
    assert effects[-1] == MakeRoom()
    assert run.feed(RoomMade())[-1] == AskModel(2)
    assert run.feed(RoomMade()) == []
    assert emitted(run.feed(reply(text="done"))) == [ReplyEnded, StepEnded, RunEnded]


def test_a_run_that_is_cut_short_while_room_is_made_ends_with_the_reason() -> None:
    run = Run(Limits(5), Usage(), Queues(), makes_room=True)
    run.feed(PROMPT)
    run.feed(reply("a"))
    run.feed(answered(0))
    assert emitted(run.feed(RoomMade(NOT_ASKED))) == [Interrupted, RunEnded]


def test_an_answer_that_was_cut_off_is_not_reviewed() -> None:
    run = Run(Limits(5), Usage(), Queues(), reviews=True)
    run.feed(PROMPT)
    assert emitted(run.feed(reply(text="h", stop="length"))) == [ReplyEnded, StepEnded, RunEnded]


def test_a_plain_prompt_takes_one_step() -> None:
    run = Run(Limits(5), Usage(), Queues())
    assert emitted(run.feed(PROMPT)) == [RunStarted, UserSaid, StepStarted]
    assert emitted(run.feed(reply(text="hi"))) == [ReplyEnded, StepEnded, RunEnded]


def test_calls_run_one_after_the_other_in_the_order_the_model_gave() -> None:
    run = Run(Limits(5), Usage(), Queues())
    run.feed(PROMPT)
    first = run.feed(reply("a", "b"))
    assert isinstance(first[-1], RunTool)
    assert first[-1].call.id == "a"
    second = run.feed(answered(0))
    assert isinstance(second[-1], RunTool)
    assert second[-1].call.id == "b"
    assert run.feed(answered(1))[-1] == AskModel(2)


def test_an_abort_in_a_tool_answers_the_calls_that_will_not_run() -> None:
    run = Run(Limits(5), Usage(), Queues())
    run.feed(PROMPT)
    run.feed(reply("a", "b"))
    effects = run.feed(aborted(0))
    told = [ToolReturned, ToolFinished, ToolStarted, ToolReturned, ToolFinished, StepEnded, Interrupted, RunEnded]
    assert emitted(effects) == told
    last = effects[-1]
    assert isinstance(last, Emit)
    assert isinstance(last.event, RunEnded)
    assert last.event.stop == "aborted"


@pytest.mark.parametrize("calls", [["a"], ["a", "b"]])
def test_too_many_steps_end_with_an_error_that_says_how_many(calls: list[str]) -> None:
    run = Run(Limits(1), Usage(), Queues(), 2)
    run.feed(PROMPT)
    run.feed(reply(*calls))
    *_, last = [effect for index in range(len(calls)) for effect in run.feed(answered(index))]
    assert isinstance(last, Emit)
    assert isinstance(last.event, RunEnded)
    assert (last.event.stop, last.event.error) == ("error", "max steps (1) exceeded")


def test_a_prompt_may_cost_less_than_its_limit_and_not_as_much() -> None:
    limits = Limits(cost=0.5)
    assert limits.after_spending(0.499) is None
    assert [limits.after_spending(dollars) is not None for dollars in (0.5, 0.501)] == [True, True]
    assert limits.between_steps(1, 0.5) is not None


def spending(dollars: float) -> Replied:
    used = Usage(cost=Cost(output=dollars))
    return Replied(AssistantMessage((ToolCall("a", "t", {}),), 0, "p", "m", used, "tool_use"))


@given(st.floats(0.01, 1), st.floats(0, 5), st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_a_run_ends_after_the_step_with_which_its_prompt_has_cost_too_much(
    most: float, before: float, costs: list[float]
) -> None:
    earlier = Usage(cost=Cost(input=before))
    run = Run(Limits(cost=most), earlier, Queues(), earlier=earlier)
    run.feed(PROMPT)
    spent = 0.0
    for cost in costs:
        assert isinstance(run.feed(spending(cost))[-1], RunTool), "the step is finished"
        last = run.feed(answered(0))[-1]
        spent += cost
        if spent >= most + 1e-6:
            assert isinstance(last, Emit)
            assert isinstance(last.event, RunEnded)
            assert last.event.stop == "error"
            assert run.limit is not None
            assert (run.limit.limit, str(run.limit)) == ("max_cost", last.event.error)
            return
        if spent < most - 1e-6:
            assert isinstance(last, AskModel)
            assert run.limit is None
        elif not isinstance(last, AskModel):
            return


def test_calls_that_come_too_late_are_answered_and_the_run_ends_with_the_reason() -> None:
    run = Run(Limits(), Usage(), Queues())
    run.feed(PROMPT)
    run.feed(reply("a", "b"))
    late = AssistantMessage((), 0, "p", "m", stop="error", error="too late")
    effects = run.feed(Aborted(0, ToolResult("a", "t", (), 0), late))
    told = [ToolReturned, ToolFinished, ToolStarted, ToolReturned, ToolFinished, StepEnded, Interrupted, RunEnded]
    assert emitted(effects) == told
    results = [e.event.result for e in effects if isinstance(e, Emit) and isinstance(e.event, ToolFinished)]
    assert results[1].content == (Text(TOO_LATE),)
    last = effects[-1]
    assert isinstance(last, Emit)
    assert last.event == RunEnded("error", "too late", (*run._said,))


def test_the_total_grows_with_every_reply() -> None:
    run = Run(Limits(5), Usage(output=10), Queues())
    run.feed(PROMPT)
    (ended,) = [e.event for e in run.feed(reply("a")) if isinstance(e, Emit) and isinstance(e.event, ReplyEnded)]
    assert ended.total.output == 11
