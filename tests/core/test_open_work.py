"""Where nothing is open."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from linnet.core import events
from linnet.core.loop.open_work import OpenWork
from linnet.core.questions import Confirm
from tests.wire.stories import story


def open_after(*happened: events.Event) -> bool:
    work = OpenWork()
    for event in happened:
        work.apply(event)
    return not work.is_empty


def test_a_job_is_open_until_it_has_settled_and_a_question_until_it_is_closed() -> None:
    started, settled = events.JobStarted("compact"), events.Settled("compact", "end")
    asked, closed = events.QuestionAsked("q", Confirm("?")), events.QuestionClosed("q", Confirm("?"), "expired")
    assert not open_after()
    assert open_after(started)
    assert not open_after(started, settled)
    assert open_after(asked)
    assert open_after(started, asked, settled)
    assert open_after(started, asked, closed)
    assert not open_after(started, asked, settled, closed)
    assert open_after(asked, events.QuestionAsked("r", Confirm("?")), closed)
    assert not open_after(closed)


@given(st.randoms(use_true_random=False))
def test_nothing_that_was_begun_is_open_at_a_mark(random: Random) -> None:
    work = OpenWork()
    runs = jobs = replies = retries = compactions = 0
    tools: list[str] = []
    questions: set[str] = set()
    for event in story(random):
        match event:
            case events.JobStarted():
                jobs += 1
            case events.RunStarted():
                runs += 1
            case events.RunEnded():
                runs -= 1
            case events.ReplyStarted():
                replies += 1
            case events.ReplyEnded():
                replies = 0
            case events.ToolStarted(call):
                tools.append(call.id)
            case events.ToolFinished(result):
                tools.remove(result.call_id)
            case events.RetryScheduled():
                retries += 1
            case events.RetryEnded():
                retries = 0
            case events.CompactionStarted():
                compactions += 1
            case events.CompactionEnded():
                compactions = 0
            case events.QuestionAsked(id):
                questions.add(id)
            case events.QuestionClosed(id):
                questions.remove(id)
            case events.Settled(stop=stop):
                assert stop == "error" or not (runs or replies or tools or compactions), "only what broke is cut off"
                runs = jobs = replies = retries = compactions = 0
                tools = []
            case _:
                pass
        work.apply(event)
        begun = bool(jobs or runs or replies or tools or retries or compactions or questions)
        assert work.is_empty is not begun
