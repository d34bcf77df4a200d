"""The agent loop, fed facts in any order."""

from hypothesis import given
from hypothesis import strategies as st

from linnet.core.events import (
    Interrupted,
    ReplyEnded,
    RunEnded,
    RunStarted,
    StepEnded,
    StepStarted,
    ToolFinished,
    ToolStarted,
    UserSaid,
)
from linnet.core.messages import AssistantMessage, ReplyPart, StopReason, Text, ToolCall, ToolResult, Usage, UserMessage
from linnet.core.queues import Queues
from linnet.core.run import Aborted, Answered, AskModel, Effect, Emit, Fact, Prompted, Replied, RunTool, Turn

PROMPT = Prompted((UserMessage((Text("go"),), 0),))
NOT_ASKED = AssistantMessage((), 0, "p", "m", stop="aborted")


def reply(*calls: str, text: str = "", stop: StopReason = "end", error: str = "") -> Replied:
    parts = [Text(text)] if text else []
    content: tuple[ReplyPart, ...] = (*parts, *(ToolCall(id, "read", {}) for id in calls))
    return Replied(AssistantMessage(content, 0, "p", "m", Usage(output=1), "tool_use" if calls else stop, error))


def result(id: str) -> ToolResult:
    return ToolResult(id, "read", (Text("ok"),), 0)


def emitted(effects: list[Effect]) -> list[type]:
    return [type(effect.event) for effect in effects if isinstance(effect, Emit)]


ids = st.sampled_from("abc")
replies = st.builds(
    lambda calls, stop: reply(*calls, text="hm", stop=stop),
    st.lists(ids, unique=True, max_size=3),
    st.sampled_from(["end", "length", "error", "aborted"]),
)
facts = replies | st.builds(Answered, ids.map(result)) | st.builds(Aborted, ids.map(result), st.just(NOT_ASKED))


@given(st.lists(facts), st.integers(1, 3))
def test_facts_in_any_order_end_the_run_at_most_once_and_answer_every_call(arriving: list[Fact], steps: int) -> None:
    turn = Turn(steps, Usage(), Queues())
    events = [e.event for fact in [PROMPT, *arriving] for e in turn.feed(fact) if isinstance(e, Emit)]

    ends = [index for index, event in enumerate(events) if isinstance(event, RunEnded)]
    assert ends in ([], [len(events) - 1])
    unanswered: list[str] = []
    for event in events:
        match event:
            case StepStarted():
                assert not unanswered
            case ReplyEnded(message):
                unanswered = [call.id for call in message.calls]
            case ToolFinished(finished):
                assert finished.call_id == unanswered.pop(0)
            case RunEnded():
                assert not unanswered
            case _:
                pass


@given(st.lists(facts))
def test_at_most_one_blocking_effect_is_outstanding(arriving: list[Fact]) -> None:
    turn = Turn(5, Usage(), Queues())
    over = False
    for fact in [PROMPT, *arriving]:
        effects = turn.feed(fact)
        blocking = [effect for effect in effects if not isinstance(effect, Emit)]
        ended = RunEnded in emitted(effects)
        assert not (over and effects)
        if effects:
            assert len(blocking) == (0 if ended else 1)
        over = over or ended


def test_a_plain_prompt_takes_one_step() -> None:
    turn = Turn(5, Usage(), Queues())
    assert emitted(turn.feed(PROMPT)) == [RunStarted, UserSaid, StepStarted]
    assert emitted(turn.feed(reply(text="hi"))) == [ReplyEnded, StepEnded, RunEnded]


def test_calls_run_one_after_the_other_in_the_order_the_model_gave() -> None:
    turn = Turn(5, Usage(), Queues())
    turn.feed(PROMPT)
    first = turn.feed(reply("a", "b"))
    assert isinstance(first[-1], RunTool)
    assert first[-1].call.id == "a"
    second = turn.feed(Answered(result("a")))
    assert isinstance(second[-1], RunTool)
    assert second[-1].call.id == "b"
    assert turn.feed(Answered(result("b")))[-1] == AskModel(2)


def test_an_abort_in_a_tool_answers_the_calls_that_will_not_run() -> None:
    turn = Turn(5, Usage(), Queues())
    turn.feed(PROMPT)
    turn.feed(reply("a", "b"))
    effects = turn.feed(Aborted(result("a"), NOT_ASKED))
    assert emitted(effects) == [ToolFinished, ToolStarted, ToolFinished, StepEnded, Interrupted, RunEnded]
    last = effects[-1]
    assert isinstance(last, Emit)
    assert isinstance(last.event, RunEnded)
    assert last.event.stop == "aborted"


def test_too_many_steps_end_with_an_error_that_says_how_many() -> None:
    turn = Turn(1, Usage(), Queues())
    turn.feed(PROMPT)
    turn.feed(reply("a"))
    last = turn.feed(Answered(result("a")))[-1]
    assert isinstance(last, Emit)
    assert isinstance(last.event, RunEnded)
    assert (last.event.stop, last.event.error) == ("error", "max steps (1) exceeded")


def test_the_total_grows_with_every_reply() -> None:
    turn = Turn(5, Usage(output=10), Queues())
    turn.feed(PROMPT)
    (ended,) = [e.event for e in turn.feed(reply("a")) if isinstance(e, Emit) and isinstance(e.event, ReplyEnded)]
    assert ended.total.output == 11
