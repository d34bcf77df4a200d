"""A prompt that one session left off, at any of its events, and that another session sees to its end."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event as Signal
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from linnet.core import commands
from linnet.core.context.formed_output import Output
from linnet.core.context.history import repaired
from linnet.core.events import (
    CompactionEnded,
    CompactionStarted,
    Event,
    JobInterrupted,
    JobStarted,
    OutputRead,
    QuestionAsked,
    QuestionClosed,
    QueueChanged,
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
from linnet.core.left_off import LeftOff, left_off, left_off_in
from linnet.core.loop.run import NOT_RUN, UNKNOWN
from linnet.core.messages import Cost, Text, ToolResult, Usage, UserMessage, texts
from linnet.core.questions import ALLOW_ONCE, Given, Permit
from linnet.core.slash import RunNamed
from linnet.runtime.config.config import PI, Config
from linnet.runtime.listener import Listener
from linnet.runtime.resources import Resources
from linnet.runtime.run.active_job import ELSEWHERE, NOT_SAID, NOTHING
from linnet.runtime.run.worker import COMMAND_LOST
from linnet.runtime.session import Session
from linnet.runtime.settings.settings import resolve
from linnet.testing.listener import Asking

DONE = [{"text": "done"}]


def append(name: str) -> dict[str, Any]:
    return {"call": "bash", "args": {"command": f"echo x >> {name}"}}


class Moment(Struct):
    """What had been told after a batch of events, and what was in the file by then."""

    events: list[Event]
    file: bytes


class Recorder(Listener):
    """Remembers what was told, and the file as it was then; answers every question, or lets it stay open."""

    def __init__(self, *, answers: bool) -> None:
        self.heard: list[Event] = []
        self.moments: list[Moment] = []
        self.asked = Signal()
        self._answers = answers
        self.then: Callable[[Event], object] = lambda event: None
        self.session: Session | None = None

    def hear(self, events: Sequence[Event]) -> None:
        assert self.session is not None
        self.heard += events
        file = Path(self.session.file).read_bytes() if self.session.file else b""
        self.moments.append(Moment(list(self.heard), file))
        for event in events:
            self.then(event)
            if isinstance(event, QuestionAsked):
                self.asked.set()
                if self._answers:
                    given = commands.AnswerQuestion(event.id, Given(value=ALLOW_ONCE))
                    self.session.submit(given, Asking())

    def after(self, kind: type, times: int = 1) -> Moment:
        """The first moment at which that many events of a kind had been told."""
        return next(each for each in self.moments if sum(isinstance(event, kind) for event in each.events) == times)

    def only(self, *kinds: type) -> list[Any]:
        return [event for event in self.heard if isinstance(event, kinds)]


class Desk:
    """Opens sessions in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.opened: list[Session] = []

    def open(self, turns: list[Any], file: bytes | None = None, **options: Any) -> tuple[Session, Recorder]:
        number = len(self.opened)
        answers = options.pop("answers", True)
        script = self._folder / f"script{number}.json"
        script.write_text(json.dumps({"turns": turns}))
        if file is not None:
            kept = self._folder / f"session{number}.jsonl"
            kept.write_bytes(file)
            options["session"] = kept
        asked = Config(script=script, cwd=self._folder, **options)
        settings = resolve(asked, {"LINNET_HOME": str(self._folder / "home")}, PI)
        recorder = Recorder(answers=answers)
        session = recorder.session = Session(Resources(settings), [recorder], answerable=True)
        self.opened.append(session)
        return session, recorder

    def prompted(self, turns: list[Any], **options: Any) -> Recorder:
        """A session that has seen a prompt to its end."""
        session, recorder = self.open(turns, **options)
        session.submit(commands.Prompt("go"), Asking())
        session.finish()
        return recorder

    def take_up(
        self, left: LeftOff | None, file: bytes, turns: list[Any], form: Output | None = None, **options: Any
    ) -> tuple[Asking, Recorder]:
        session, recorder = self.open(turns, file, **options)
        asking = Asking()
        session.submit(commands.TakeUp(left_off=left, form=form), asking)
        session.finish()
        return asking, recorder

    def lines(self, name: str) -> int:
        path = self._folder / name
        return len(path.read_text().splitlines()) if path.exists() else 0


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    for session in desk.opened:
        session.close()


def conversation(session: Session) -> list[Any]:
    asking = Asking()
    session.submit(commands.GetMessages(), asking)
    (answer,) = asking.answers
    assert isinstance(answer, commands.Transcript)
    return list(answer.messages)


@pytest.mark.parametrize("at_once", [1, 2])
def test_a_prompt_that_is_left_off_at_any_event_is_seen_to_its_end_and_runs_nothing_twice(
    desk: Desk, at_once: int
) -> None:
    turns = [[append("a"), append("b")], [append("c")], DONE]
    first = desk.prompted(turns, permission="ask", calls_at_once=at_once)
    assert first.moments
    for moment in first.moments:
        left = left_off(moment.events)
        if left is None:
            assert isinstance(moment.events[-1], Settled)
            continue
        told = [each for each in moment.events if isinstance(each, ReplyEnded)]
        before = {name: desk.lines(name) for name in "abc"}
        asking, second = desk.take_up(left, moment.file, turns[len(told) :], permission="ask", calls_at_once=at_once)
        assert (asking.answers, asking.refusals) == ([commands.Done("end")], [])
        both = [*moment.events, *second.heard]
        ends = [type(each) for each in both if isinstance(each, RunEnded | Settled)]
        assert ends == [RunEnded, Settled]
        messages = conversation(desk.opened[-1])
        assert repaired(messages) == messages
        assert [type(each).__name__ for each in messages] == [
            *("UserMessage", "AssistantMessage", "ToolResult", "ToolResult"),
            *("AssistantMessage", "ToolResult", "AssistantMessage"),
        ]
        results = [each.content for each in messages if isinstance(each, ToolResult)]
        finished = sum(isinstance(each, ToolFinished) for each in moment.events)
        for at, name in enumerate("abc"):
            unknown = results[at] == (Text(UNKNOWN),)
            assert unknown == (name in _unknown(moment.events))
            assert desk.lines(name) - before[name] == (0 if unknown or at < finished else 1)


def _unknown(events: list[Event]) -> str:
    """Calls that were told to have started, unless their result was told, or a question about them is open."""
    started = sum(isinstance(each, ToolStarted) for each in events)
    finished = sum(isinstance(each, ToolFinished) for each in events)
    closed = {each.id for each in events if isinstance(each, QuestionClosed)}
    asked = [each.question for each in events if isinstance(each, QuestionAsked) and each.id not in closed]
    names = [each.call.args["command"][-1] for each in asked if isinstance(each, Permit)]
    return "".join(name for name in "abc"[finished:started] if name not in names)


def test_a_call_that_somebody_was_asked_about_is_asked_about_again_and_runs_once_it_is_allowed(desk: Desk) -> None:
    session, first = desk.open([[append("a"), append("b")]], permission="ask", answers=False)
    session.submit(commands.Prompt("go"), Asking())
    assert first.asked.wait(10)
    moment = first.moments[-1]
    left = left_off(moment.events)
    assert left is not None
    session.close()
    asking, second = desk.take_up(left, moment.file, [DONE], permission="ask")
    assert asking.answers == [commands.Done("end")]
    assert [desk.lines(name) for name in "ab"] == [1, 1]
    (old,) = [each.id for each in moment.events if isinstance(each, QuestionAsked)]
    assert next(each.id for each in second.only(QuestionClosed)) == old
    kinds = (JobStarted, RunStarted, UserSaid, StepStarted, ToolStarted, ToolFinished, StepEnded, RunEnded, Settled)
    assert [type(each) for each in second.only(*kinds)] == [
        *(JobStarted, RunStarted, StepStarted, ToolStarted, ToolFinished, ToolStarted, ToolFinished, StepEnded),
        *(StepStarted, StepEnded, RunEnded, Settled),
    ]
    (ended,) = second.only(RunEnded)
    assert list(ended.messages) == conversation(desk.opened[-1])


def test_from_the_conversation_alone_no_call_without_a_result_is_run(desk: Desk) -> None:
    first = desk.prompted([[append("a"), append("b")], DONE])
    moment = first.after(ToolFinished)
    before = desk.lines("b")
    session, _ = desk.open([DONE], moment.file)
    assert left_off_in(conversation(session)) is not None
    session.close()
    asking, second = desk.take_up(None, moment.file, [DONE])
    assert asking.answers == [commands.Done("end")]
    assert [each.result.content for each in second.only(ToolFinished)] == [(Text(UNKNOWN),)]
    assert desk.lines("b") == before


def test_a_conversation_that_ends_with_an_answer_has_nothing_to_take_up(desk: Desk) -> None:
    first = desk.prompted([DONE])
    asking, second = desk.take_up(None, first.moments[-1].file, [DONE])
    assert [str(each) for each in asking.refusals] == [NOTHING]
    assert [type(each) for each in second.only(RunEnded)] == []
    assert len(second.only(Settled)) == 1


def test_a_prompt_that_was_being_aborted_ends_so_and_asks_nobody(desk: Desk) -> None:
    session, first = desk.open([[append("a"), append("b")]], permission="ask", answers=False)
    session.submit(commands.Prompt("go"), Asking())
    assert first.asked.wait(10)
    session.submit(commands.Abort(), Asking())
    session.finish()
    aborting = [each for each in first.moments if (left := left_off(each.events)) is not None and left.cut_short]
    assert aborting
    for moment in aborting:
        left = left_off(moment.events)
        assert left is not None
        asking, second = desk.take_up(left, moment.file, [DONE], permission="ask")
        assert asking.answers == [commands.Done("aborted")]
        assert second.only(QuestionAsked) == []
        ends = [type(each) for each in (*moment.events, *second.heard) if isinstance(each, RunEnded | Settled)]
        assert ends == [RunEnded, Settled]
        results = [each for each in conversation(desk.opened[-1]) if isinstance(each, ToolResult)]
        assert [each.content for each in results] == [(Text(NOT_RUN),)] * 2
    assert [desk.lines(name) for name in "ab"] == [0, 0]


def test_what_waited_to_be_said_is_said_after_the_run_was_taken_up(desk: Desk) -> None:
    session, first = desk.open([[append("a")]], permission="ask", answers=False)
    session.submit(commands.Prompt("go"), Asking())
    assert first.asked.wait(10)
    session.submit(commands.Prompt("and then?", when_busy="follow_up"), Asking())
    moment = first.moments[-1]
    left = left_off(moment.events)
    assert left is not None
    session.close()
    _, second = desk.take_up(left, moment.file, [DONE, [{"text": "then"}]], permission="ask")
    assert [each.message.content for each in second.only(UserSaid)] == [(Text("and then?"),)]
    assert [len(each.follow_ups) for each in second.only(QueueChanged)] == [1, 0]


def test_steps_and_dollars_are_counted_on(desk: Desk) -> None:
    turns = [[append("a")], [append("b")], DONE]
    first = desk.prompted(turns)
    moment = first.after(ToolStarted, 2)
    left = left_off(moment.events)
    assert left is not None
    _, second = desk.take_up(left, moment.file, [DONE], max_steps=2)
    (ended,) = second.only(RunEnded)
    assert (ended.stop, ended.error) == ("error", "max steps (2) exceeded")
    _, third = desk.take_up(left, moment.file, [DONE], max_steps=3)
    assert [each.step for each in third.only(StepStarted)] == [2, 3]


def test_an_answer_with_a_form_is_read_wherever_the_prompt_was_left_off(desk: Desk) -> None:
    form = Output({"type": "integer"})
    turns = [[{"text": "seven"}], [{"text": "7"}]]
    session, first = desk.open(turns)
    session.submit(commands.Prompt("go", form=form), Asking())
    session.finish()
    for moment in first.moments:
        left = left_off(moment.events)
        if left is None:
            continue
        told = sum(isinstance(each, ReplyEnded) for each in moment.events)
        asking, second = desk.take_up(left, moment.file, turns[told:], form)
        assert asking.answers == [commands.Done("end", value=7)]
        words = [texts(each.content) for each in conversation(desk.opened[-1]) if isinstance(each, UserMessage)]
        assert ["JSON Schema" in each for each in words] == [True, True], "it is asked for, and asked for again"
        read = [each.data for each in (*moment.events, *second.heard) if isinstance(each, OutputRead)]
        assert read == [7]


@pytest.mark.parametrize(
    ("left", "reason"), [(LeftOff(), NOT_SAID), (LeftOff(inputs=(Input("go"),)), ""), (None, ELSEWHERE)]
)
def test_what_cannot_be_taken_up_is_refused_and_the_session_goes_on(
    desk: Desk, left: LeftOff | None, reason: str
) -> None:
    first = desk.prompted([[append("a")], DONE])
    if left is None:
        left = left_off(first.after(ToolStarted).events)
        assert left is not None
    asking, second = desk.take_up(left, first.moments[-1].file, [DONE])
    assert asking.refusals == ([reason] if reason else [])
    assert [type(each) for each in second.only(JobStarted, Settled)] == [JobStarted, Settled]
    again = Asking()
    desk.opened[-1].submit(commands.Prompt("more"), again)
    desk.opened[-1].finish()
    assert len(again.answers) == 1


def test_the_cost_of_a_prompt_is_counted_from_its_beginning(desk: Desk) -> None:
    moment = desk.prompted([[append("a")], DONE]).after(ToolStarted)
    left = left_off(moment.events)
    assert left is not None
    assert left.earlier == Usage()
    dear = replace(left, earlier=Usage(cost=Cost(input=-5.0)))
    asking, _ = desk.take_up(dear, moment.file, [DONE], max_cost=4.0)
    (done,) = asking.answers
    assert isinstance(done, commands.Done)
    assert (done.code, "max cost ($4)" in done.error) == ("limit_reached", True)


def test_a_prompt_that_is_tried_again_goes_on_being_tried(desk: Desk) -> None:
    """But for a run that had failed, and was not told to have ended: why it failed is in no event."""
    failing = [{"fail": "overloaded", "retryable": True}]
    turns = [failing, failing, DONE]
    for moment in desk.prompted(turns, retry_delay=0.01).moments:
        left = left_off(moment.events)
        if left is None:
            continue
        told = sum(isinstance(each, ReplyEnded) for each in moment.events)
        asking, second = desk.take_up(left, moment.file, turns[told:], retry_delay=0.01)
        (done,) = asking.answers
        assert isinstance(done, commands.Done)
        failed = left.run is not None and left.run.reply is not None and left.run.reply.stop == "error"
        assert done.stop == ("error" if failed else "end")
        both = [*moment.events, *second.heard]
        assert [type(each) for each in both].count(Settled) == 1
        ended = [each for each in both if isinstance(each, RetryEnded)]
        tries = max((each.attempt for each in both if isinstance(each, RetryScheduled)), default=0)
        assert [(each.success, each.attempt) for each in ended] == ([(not failed, tries)] if tries else [])


def test_an_abort_in_the_wait_for_a_retry_is_remembered(desk: Desk) -> None:
    session, first = desk.open([[{"fail": "overloaded", "retryable": True}]], retry_delay=600.0)
    first.then = lambda event: isinstance(event, RetryScheduled) and session.submit(commands.Abort(), Asking())
    session.submit(commands.Prompt("go"), Asking())
    session.finish()
    moment = first.after(JobInterrupted)
    left = left_off(moment.events)
    assert left is not None
    asking, second = desk.take_up(left, moment.file, [DONE], retry_delay=600.0)
    (done,) = asking.answers
    assert isinstance(done, commands.Done)
    assert (done.stop, second.only(RunStarted, RunEnded)) == ("error", [])


def test_a_conversation_that_was_being_compacted_to_make_room_is_compacted_again(desk: Desk) -> None:
    first = desk.prompted([[append("a")], DONE])
    ended = RunEnded("error", "too long", ())
    left = LeftOff(ended=ended, again="compact", overflowed=True)
    summary = [{"text": "a summary"}]
    asking, second = desk.take_up(left, first.moments[-1].file, [summary, summary, DONE], compact_keep=1)
    kinds = (CompactionStarted, CompactionEnded, RunStarted, RunEnded, Settled)
    assert [type(each) for each in second.only(*kinds)] == [*kinds]
    assert asking.answers == [commands.Done("end")]


def test_a_prompt_whose_time_was_up_ends_for_that_reason(desk: Desk) -> None:
    session, first = desk.open([[append("a")]], permission="ask", answers=False, max_seconds=0.05)
    session.submit(commands.Prompt("go"), Asking())
    session.finish()
    moment = first.after(JobInterrupted)
    left = left_off(moment.events)
    assert left is not None
    asking, second = desk.take_up(left, moment.file, [DONE], permission="ask")
    (done,) = asking.answers
    assert isinstance(done, commands.Done)
    assert (done.code, "max seconds (0.05)" in done.error) == ("limit_reached", True)
    assert second.only(QuestionAsked) == []
    assert desk.lines("a") == 0


def test_a_prompt_that_was_aborted_while_it_waited_is_told_to_be_as_it_begins(desk: Desk) -> None:
    session, first = desk.open([[append("a")]], permission="ask", answers=False)
    session.submit(commands.Prompt("go"), Asking())
    assert first.asked.wait(10)
    session.abort(session.submit(commands.Prompt("then"), Asking()))
    assert first.only(JobInterrupted) == []
    session.submit(commands.Abort(), Asking())
    session.finish()
    told = first.only(JobStarted, JobInterrupted, Settled)
    assert [type(each) for each in told] == [JobStarted, JobInterrupted, Settled] * 2


def test_a_command_of_an_extension_that_may_have_begun_is_not_run_again(desk: Desk, tmp_path: Path) -> None:
    extension = tmp_path / "ext.py"
    extension.write_text("def extend(linnet):\n    linnet.command('hello')(lambda *given: open('ran', 'w').close())\n")
    left = LeftOff(inputs=(Input("/hello you", meant=RunNamed("hello", "you")),), first=True)
    first = desk.prompted([DONE])
    asking, second = desk.take_up(left, first.moments[-1].file, [DONE], extensions=[extension])
    (done,) = asking.answers
    assert isinstance(done, commands.Done)
    assert (done.stop, done.error) == ("error", COMMAND_LOST.format("hello"))
    assert second.only(RunStarted) == []
    assert not (tmp_path / "ran").exists()


def test_an_answer_that_was_objected_to_once_is_not_objected_to_again(desk: Desk) -> None:
    form = Output({"type": "integer"})
    session, first = desk.open([[{"text": "seven"}], [{"text": "7"}]])
    session.submit(commands.Prompt("go", form=form), Asking())
    session.finish()
    moment = first.after(UserSaid, 2)
    left = left_off(moment.events)
    assert left is not None
    asking, second = desk.take_up(left, moment.file, [[{"text": "eight"}], [{"text": "8"}]], form)
    (done,) = asking.answers
    assert isinstance(done, commands.Done)
    assert (done.code, len(second.only(ReplyEnded))) == ("bad_output", 1)


def test_the_value_of_an_answer_is_known_also_if_only_its_last_event_was_not_told(desk: Desk) -> None:
    first = desk.prompted([[{"text": "7"}]])
    left = left_off(first.heard[:-1])
    assert left is not None
    assert left.ended is not None
    asking, second = desk.take_up(left, first.moments[-1].file, [], Output({"type": "integer"}))
    assert asking.answers == [commands.Done("end", value=7)]
    assert [type(each) for each in second.heard] == [JobStarted, Settled]


def test_what_waited_to_be_said_to_a_prompt_is_dropped_if_that_is_aborted_before_it_is_taken_up(desk: Desk) -> None:
    """As by an abort while it runs: nothing is said to a job that is interrupted."""
    recorder = desk.prompted([[append("one")], DONE])
    moment = recorder.after(StepStarted)
    left = left_off(moment.events)
    assert left is not None
    waited = (Input("more"), Input("and more"))
    left = replace(left, steering=waited[:1], follow_ups=waited[1:])
    session, recorder = desk.open([DONE, DONE, DONE], moment.file)
    with session._broadcast.lock:  # So that the compaction is still active when the other is aborted.
        session.submit(commands.Compact(), Asking())
        session.abort(session.submit(commands.TakeUp(left_off=left), Asking()))
    session.finish()
    [settled] = [each for each in recorder.only(Settled) if each.kind == "prompt"]
    assert settled.stop == "aborted"
    assert [each.dropped for each in recorder.only(QueueChanged)] == [waited]
    assert recorder.only(UserSaid) == []
