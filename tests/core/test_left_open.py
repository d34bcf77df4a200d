"""What a killed process left open is told to have ended, once, whatever it was doing."""

import json
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.core import events
from linnet.core.context.conversation import Conversation
from linnet.core.inputs import Input
from linnet.core.loop.left_open import NOT_BEGUN, closing_events
from linnet.core.loop.open_work import OpenWork
from linnet.core.loop.opening import Opening
from linnet.core.loop.run import UNKNOWN
from linnet.core.messages import AssistantMessage, Message, Text, ToolCall, ToolResult, Usage, UserMessage
from linnet.wire.dialect import Dialect
from tests.wire.stories import story
from tests.wire.test_encoders import DIALECTS, printed

WHY = "the server ended"
CALLS = (ToolCall("1", "bash", {"command": "make"}), ToolCall("2", "read", {"path": "a"}))
REPLY = AssistantMessage((Text("I will look."), *CALLS), 1, "p", "m", stop="tool_use")


def opened(happened: Sequence[events.Event]) -> list[events.Event]:
    opening = Opening()
    opening.apply(happened)
    return opening.kept


def conversation(happened: Sequence[events.Event]) -> list[Message]:
    said = Conversation()
    for event in happened:
        if isinstance(event, events.UserSaid | events.ReplyEnded | events.ToolFinished | events.NoteAdded):
            said.apply(event)
    return said.messages


@given(st.randoms(use_true_random=False), st.floats(0, 1))
def test_nothing_is_open_after_it_wherever_a_process_was_killed(random: Random, part: float) -> None:
    happened = story(random)
    happened = happened[: round(part * len(happened))]
    closing = closing_events(opened(happened), Usage(), conversation(happened), WHY, 5)
    work = OpenWork()
    for event in [*happened, *closing]:
        work.apply(event)
    assert work.is_empty
    assert len([each for each in closing if isinstance(each, events.Settled)]) <= 1
    assert closing_events(opened([*happened, *closing]), Usage(), [], WHY, 6) == []


@given(st.randoms(use_true_random=False), st.floats(0, 1), st.sampled_from(DIALECTS))
def test_every_dialect_can_tell_it(random: Random, part: float, dialect: Dialect) -> None:
    happened = story(random)
    happened = happened[: round(part * len(happened))]
    encoder = dialect.encoder()
    encoder.skip(opened(happened))
    told = printed(encoder, closing_events(opened(happened), Usage(), conversation(happened), WHY, 5))
    for line in told.splitlines():
        json.loads(line)


BEGUN: list[events.Event] = [
    events.JobStarted("prompt"),
    events.RunStarted(),
    events.UserSaid(UserMessage((Text("go"),), 0), "a"),
    events.StepStarted(1),
]
REPLIED = [*BEGUN, events.ReplyStarted("x", "p", "m", 1), events.ReplyEnded(REPLY, Usage(), "b")]


def results(closing: Sequence[events.Event]) -> dict[str, str]:
    found = [each.result for each in closing if isinstance(each, events.ToolFinished)]
    return {each.call_id: "".join(part.text for part in each.content if isinstance(part, Text)) for each in found}


def test_a_call_that_had_begun_may_have_run_and_one_that_had_not_did_not() -> None:
    happened = [*REPLIED, events.ToolStarted(CALLS[0])]
    closing = closing_events(opened(happened), Usage(), conversation(happened), WHY, 5)
    assert results(closing) == {"1": UNKNOWN, "2": NOT_BEGUN}
    assert closing[-1] == events.Settled("prompt", "error", WHY)
    [ended] = [each for each in closing if isinstance(each, events.RunEnded)]
    assert (ended.stop, ended.error) == ("error", WHY)
    assert [type(each) for each in ended.messages] == [UserMessage, AssistantMessage, ToolResult, ToolResult]


def test_a_result_that_was_written_and_not_told_is_told_as_it_is() -> None:
    done = ToolResult("1", "bash", (Text("made"),), 3)
    happened = [*REPLIED, events.ToolStarted(CALLS[0])]
    closing = closing_events(opened(happened), Usage(), [*conversation(happened), done], WHY, 5)
    assert results(closing) == {"1": "made", "2": NOT_BEGUN}


def test_a_reply_that_was_written_and_not_told_is_told_as_it_is() -> None:
    happened = [*BEGUN, events.ReplyStarted("x", "p", "m", 1), events.TextGrew(0, "I will")]
    closing = closing_events(opened(happened), Usage(), [*conversation(happened), REPLY], WHY, 5)
    assert next(each.message for each in closing if isinstance(each, events.ReplyEnded)) is REPLY
    assert results(closing) == {"1": NOT_BEGUN, "2": NOT_BEGUN}


def test_a_reply_that_was_being_written_ends_with_what_it_had_and_without_its_calls() -> None:
    grown: list[events.Event] = [
        events.ReplyStarted("x", "p", "m", 1),
        events.PartStarted(0, "text"),
        events.TextGrew(0, "I "),
        events.TextGrew(0, "will"),
        events.PartStarted(1, "tool_call", "1", "bash"),
        events.CallGrew(1, "1", '{"comm'),
    ]
    happened = [*BEGUN, *grown]
    closing = closing_events(opened(happened), Usage(), conversation(happened), WHY, 5)
    [reply] = [each.message for each in closing if isinstance(each, events.ReplyEnded)]
    assert (reply.content, reply.stop, reply.error, reply.model) == ((Text("I will"),), "error", WHY, "m")


def test_what_waited_to_be_said_is_told_to_be_dropped() -> None:
    said, later = Input("now", (), 1), Input("then", (), 2)
    closing = closing_events(opened([*BEGUN, events.QueueChanged((said,), (later,))]), Usage(), [], WHY, 5)
    assert closing[-2:] == [events.QueueChanged((), (), (said, later)), events.Settled("prompt", "error", WHY)]
    taken = [*BEGUN, events.QueueChanged((said,), ()), events.QueueChanged((), ())]
    assert not any(isinstance(each, events.QueueChanged) for each in closing_events(opened(taken), Usage(), [], WHY, 5))


@pytest.mark.parametrize("happened", [[], [*BEGUN, events.Settled("prompt", "end")]])
def test_where_nothing_is_open_nothing_is_told(happened: list[events.Event]) -> None:
    assert closing_events(opened(happened), Usage(), [], WHY, 5) == []
