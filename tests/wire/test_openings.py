"""What is kept of a session's events is enough for an encoder to begin in the middle."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from linnet.core import events
from linnet.core.loop.opening import LONGEST_TAIL, Opening
from linnet.core.messages import AssistantMessage, ToolCall
from tests.wire.stories import story
from tests.wire.test_encoders import DIALECTS, printed

REPLY = AssistantMessage((), 1, "p", "m")
randoms = st.randoms(use_true_random=False)


@given(randoms, st.floats(0, 1))
def test_an_encoder_that_skips_the_opening_prints_what_one_prints_that_never_left(random: Random, part: float) -> None:
    happened = story(random)
    cut = round(part * len(happened))
    before, after = happened[:cut], happened[cut:]
    opening = Opening()
    opening.apply(before)
    for dialect in DIALECTS:
        stayed, fresh = dialect.encoder(), dialect.encoder()
        printed(stayed, before)
        fresh.skip(opening.kept)
        assert printed(fresh, after) == printed(stayed, after)


@given(randoms)
def test_an_opening_of_an_opening_is_the_same(random: Random) -> None:
    opening, again = Opening(), Opening()
    for event in story(random):
        opening.apply([event])
        if random.random() < 0.1:
            assert opening.kept == opening.kept
    again.apply(opening.kept)
    assert again.kept == opening.kept


def test_nothing_is_kept_of_steps_that_have_ended_and_of_a_job_that_has_settled() -> None:
    opening = Opening()
    opening.apply([events.JobStarted("prompt"), events.RunStarted()])
    for step in range(1, 1000):
        opening.apply(
            [
                events.StepStarted(step),
                events.ReplyStarted("api", "p", "m", 1),
                events.PartStarted(0, "text"),
                *[events.TextGrew(0, "word ")] * 3,
            ]
        )
        assert opening.kept[-1] == events.TextGrew(0, "word word word ")
        opening.apply([events.StepEnded(REPLY, ())])
        assert len(opening.kept) == 2
    opening.apply([events.RunEnded("end", "", (REPLY,)), events.Settled("prompt", "end")])
    assert opening.kept == []


def test_of_what_a_tool_prints_only_the_end_is_kept() -> None:
    opening = Opening()
    opening.apply([events.ToolStarted(ToolCall("a", "bash", {}))])
    opening.apply([events.ToolProgressed("a", "bash", "x" * LONGEST_TAIL), events.ToolProgressed("a", "bash", "end")])
    kept = opening.kept[-1]
    assert isinstance(kept, events.ToolProgressed)
    assert (len(kept.text), kept.text[-4:]) == (LONGEST_TAIL, "xend")
