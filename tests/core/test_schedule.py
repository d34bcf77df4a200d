"""What runs, waits, is cut short and dropped: facts in any order, and what must be true all the same."""

from itertools import count
from typing import Literal

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from linnet.core.commands import (
    Background,
    Bash,
    Compact,
    ExportHtml,
    Navigate,
    NewSession,
    Prompt,
    RunCommand,
    SwitchSession,
    Work,
)
from linnet.core.events import BashHeld, BashRan, Event, QueueChanged
from linnet.core.inputs import Input
from linnet.core.messages import BashRun
from linnet.core.queues import Queues
from linnet.core.schedule import (
    AbortAsked,
    Accept,
    BackgroundEnded,
    BackgroundSubmitted,
    BashAbortAsked,
    Begin,
    CloseAsked,
    Effect,
    Fact,
    Idle,
    InputEnded,
    Interrupt,
    Job,
    JobEnded,
    Launch,
    Linger,
    PatienceOver,
    Refuse,
    Schedule,
    Submitted,
    Tell,
)

MOVES = (NewSession, SwitchSession, Navigate)
works: st.SearchStrategy[Work] = st.one_of(
    st.builds(Prompt, st.just("hi"), when_busy=st.sampled_from(["wait", "refuse", "steer", "follow_up"])),
    st.builds(Compact, at_once=st.booleans()),
    st.sampled_from([NewSession(), SwitchSession("x"), Navigate(None)]),
)
backgrounds: st.SearchStrategy[Background] = st.sampled_from([Bash("true"), ExportHtml()])


class Agent(RuleBasedStateMachine):
    """Feeds facts as a session would, and keeps its own, simpler account of what must have become of each job."""

    def __init__(self) -> None:
        super().__init__()
        self.queues = Queues()
        self.schedule = Schedule(self.queues)
        self.numbers = count(1)
        self.jobs: dict[int, Work] = {}
        self.fate: dict[int, list[str]] = {}
        self.active: int | None = None
        self.begun: list[int] = []
        self.waiting: list[int] = []
        self.streaming = False
        self.session = "one"
        self.interrupted: set[int] = set()
        self.background: dict[int, Background] = {}
        self.held: list[BashRun] = []
        self.told: list[BashRun] = []
        self.said = 0  # To a run that goes on.
        self.heard = 0
        self.dropped = 0
        self.lost = 0  # Accepted, and told to be dropped as the agent closed.
        self.closed = False
        self.rested = True
        self.input_ended = False
        self.patience = False

    def feed(self, fact: Fact) -> list[Effect]:
        effects = self.schedule.feed(fact)
        for effect in effects:
            self.see(effect)
        return effects

    def see(self, effect: Effect) -> None:
        match effect:
            case Accept(number):
                assert self.fate[number] == []
                self.fate[number].append("accepted")
            case Refuse(number):
                assert self.fate[number] in ([], ["accepted"])
                self.fate[number].append("refused")
                if number in self.waiting:
                    self.waiting.remove(number)
            case Begin(job):
                assert self.active is None, "one at a time"
                assert not self.waiting or self.waiting[0] == job.number, "in the order they came"
                self.waiting = self.waiting[1:]
                self.fate[job.number].append("begun")
                self.active = job.number
                self.begun.append(job.number)
                self.streaming = isinstance(job.work, Prompt)
                self.rested = False
            case Launch(number):
                self.fate[number].append("begun")
                self.rested = False
            case Interrupt(number):
                assert number == self.active or number in self.waiting or number in self.background
                self.interrupted.add(number)
            case Linger():
                assert self.input_ended
                assert not self.patience, "once at a time"
                self.patience = True
            case Tell(event):
                self.see_event(event)
            case Idle():
                assert self.active is None
                assert not self.background
                assert not self.waiting
                self.rested = True

    def see_event(self, event: Event) -> None:
        match event:
            case QueueChanged(steering, follow_ups, dropped):
                assert (list(steering), list(follow_ups)) == (self.queues.steering, self.queues.follow_ups)
                if self.closed and not self.schedule.active:
                    self.lost += len(dropped)
                else:
                    self.dropped += len(dropped)
            case BashRan(run):
                assert self.active is None, "it is said when nobody is at work"
                self.told.append(run)
            case BashHeld(run):
                assert self.active is not None
                self.held.append(run)
            case _:
                raise AssertionError(event)

    @rule(work=works, may_wait=st.booleans())
    def submit(self, work: Work, may_wait: bool) -> None:
        number = next(self.numbers)
        self.jobs[number], self.fate[number] = work, []
        before, waiting, was_closed = self.active, list(self.waiting), self.closed
        heard = self.streaming and before is not None and before not in self.interrupted and not waiting
        queued = len(self.queues)
        if before is not None and may_wait and not was_closed and not self.is_said(work, heard=heard):
            self.waiting.append(number)
        effects = self.feed(Submitted(Job(number, work), self.streaming, may_wait))

        fate = self.fate[number]
        if was_closed or (before is not None and not may_wait):
            assert fate == ["refused"]
        elif before is None:
            assert fate == ["accepted", "begun"]
        elif isinstance(work, Prompt) and heard and work.when_busy == "refuse":
            assert fate == ["refused"]
            assert len(self.queues) == queued
        elif self.is_said(work, heard=heard):
            assert fate == ["accepted"]
            self.said += 1
            assert len(self.queues) == queued + 1
        else:
            assert fate == ["accepted"]
            assert self.waiting == [*waiting, number]
        cuts = {effect.number for effect in effects if isinstance(effect, Interrupt)}
        assert cuts == self.to_cut(work, number, before, waiting)

    def is_said(self, work: Work, *, heard: bool) -> bool:
        return isinstance(work, Prompt) and work.when_busy != "wait" and heard

    def to_cut(self, work: Work, number: int, before: int | None, waiting: list[int]) -> set[int]:
        if number not in self.waiting or before is None:
            return set()
        if isinstance(work, MOVES):
            return {before, *(each for each in waiting if isinstance(self.jobs[each], Prompt | Compact))}
        cut = isinstance(work, Compact) and work.at_once and isinstance(self.jobs[before], Prompt)
        return {before} if cut else set()

    @precondition(lambda self: self.active is not None)
    @rule()
    def end_job(self) -> None:
        """A prompt first hears what was said to it, as the worker sees to it."""
        while isinstance(self.jobs[self.active or 0], Prompt) and (taken := self.queues.take_next()):
            self.heard += len(taken)
        if isinstance(self.jobs[self.active or 0], MOVES):
            self.session += "'"
        held, self.held = self.held, []
        told = len(self.told)
        self.active = None
        self.streaming = False
        self.feed(JobEnded())
        assert self.told[told:] == held

    @precondition(lambda self: self.active is not None)
    @rule(streaming=st.booleans())
    def stream(self, streaming: bool) -> None:
        self.streaming = streaming and isinstance(self.jobs[self.active or 0], Prompt)

    @rule()
    def end_input(self) -> None:
        self.input_ended = True
        self.feed(InputEnded())

    @precondition(lambda self: self.patience)
    @rule()
    def lose_patience(self) -> None:
        self.patience = False
        effects = self.feed(PatienceOver())
        interrupted = {effect.number for effect in effects if isinstance(effect, Interrupt)}
        endless = {number for number, command in self.background.items() if isinstance(command, Bash)}
        assert interrupted == (endless if self.active is None else set()), "never what a run may need"

    @invariant()
    def no_command_keeps_the_process_for_ever(self) -> None:
        alone = self.active is None and any(isinstance(command, Bash) for command in self.background.values())
        assert not (alone and self.input_ended and not self.closed) or self.patience

    @rule(which=st.sampled_from(["any", "active", "other"]))
    def abort(self, which: Literal["any", "active", "other"]) -> None:
        number = {"any": None, "active": self.active, "other": 0}[which]
        effects = self.feed(AbortAsked(number))
        hit = self.active is not None and which != "other"
        assert [effect for effect in effects if isinstance(effect, Interrupt)] == (
            [Interrupt(self.active)] if hit and self.active is not None else []
        )
        assert not (hit and len(self.queues)), "what was said to it is dropped"

    @precondition(lambda self: self.waiting or self.background)
    @rule(data=st.data())
    def abort_another(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from([*self.waiting, *self.background]))
        assert self.feed(AbortAsked(number)) == [Interrupt(number)]

    @rule(command=backgrounds)
    def launch(self, command: Background) -> None:
        number = next(self.numbers)
        self.fate[number] = []
        if not self.closed:
            self.background[number] = command
        self.feed(BackgroundSubmitted(number, command, self.session))
        assert self.fate[number] == (["refused"] if self.closed else ["begun"])

    @precondition(lambda self: self.background)
    @rule(data=st.data(), elsewhere=st.booleans())
    def end_background(self, data: st.DataObject, elsewhere: bool) -> None:
        number = data.draw(st.sampled_from(sorted(self.background)))
        command = self.background.pop(number)
        run = BashRun("true", "", 0, number) if isinstance(command, Bash) else None
        self.feed(BackgroundEnded(number, "elsewhere" if elsewhere else self.session, run))
        assert self.feed(BackgroundEnded(number, self.session, run)) == []

    @rule()
    def abort_bash(self) -> None:
        commands = [number for number, command in self.background.items() if isinstance(command, Bash)]
        assert self.feed(BashAbortAsked()) == [Interrupt(number) for number in commands]

    @rule()
    def close(self) -> None:
        was_closed, self.closed = self.closed, True
        waiting = list(self.waiting)
        self.feed(CloseAsked())
        if not was_closed:
            assert all(self.fate[number] == ["accepted", "refused"] for number in waiting)
            assert self.active is None or self.active in self.interrupted
        assert not self.waiting

    @invariant()
    def agrees(self) -> None:
        active = self.schedule.active
        assert (active.number if active else None) == self.active
        assert self.schedule.busy == bool(self.active is not None or self.background)
        assert self.rested is not self.schedule.busy
        assert self.schedule.closed == self.closed
        assert self.schedule.leaving == any(isinstance(self.jobs[number], MOVES) for number in self.waiting)
        assert self.begun == sorted(self.begun), "what came first begins first"

    @invariant()
    def nothing_that_was_said_is_lost(self) -> None:
        dropped = self.dropped + self.lost
        lost = sum(self.fate[number] == ["accepted", "refused"] for number in self.fate if self.was_answered(number))
        assert self.said + lost == self.heard + dropped + len(self.queues)

    def was_answered(self, number: int) -> bool:
        work = self.jobs.get(number)
        return isinstance(work, Prompt) and work.when_busy != "wait"

    def teardown(self) -> None:
        """Whatever happened, it comes to rest, and every job has had its fate."""
        self.close()
        while self.active is not None:
            self.end_job()
        for number in list(self.background):
            self.background.pop(number)
            self.feed(BackgroundEnded(number, self.session))
        assert self.rested
        for number, fate in self.fate.items():
            assert fate in (["refused"], ["accepted", "refused"], ["accepted", "begun"], ["accepted"], ["begun"])
            assert fate != ["accepted"] or isinstance(self.jobs[number], Prompt)
        assert not self.held


TestAnyOrder = Agent.TestCase


def submitted(schedule: Schedule, number: int, work: Work, *, listening: bool = False) -> list[Effect]:
    return schedule.feed(Submitted(Job(number, work), listening))


def test_what_waits_before_a_move_is_ended_as_soon_as_it_begins() -> None:
    schedule = Schedule(Queues())
    submitted(schedule, 1, Prompt("one"))
    submitted(schedule, 2, Prompt("two"))
    effects = submitted(schedule, 3, NewSession())
    assert effects == [Accept(3), Interrupt(1), Interrupt(2)]
    assert schedule.feed(JobEnded()) == [Begin(Job(2, Prompt("two")))]
    # It is being ended, so what is said to it waits for what comes after it.
    assert submitted(schedule, 4, Prompt("four", when_busy="steer"), listening=True) == [Accept(4)]
    assert schedule.feed(JobEnded()) == [Begin(Job(3, NewSession()))]


@pytest.mark.parametrize("at_once", [True, False])
def test_a_compaction_cuts_a_prompt_short_only_if_it_is_to_be_at_once(at_once: bool) -> None:
    schedule = Schedule(Queues())
    submitted(schedule, 1, Prompt("one"))
    assert submitted(schedule, 2, Compact(at_once=at_once)) == [Accept(2), *([Interrupt(1)] if at_once else [])]
    assert submitted(schedule, 3, Compact(at_once=True)) == [Accept(3), *([Interrupt(1)])]


def test_what_is_said_to_an_aborted_job_is_dropped_and_told() -> None:
    schedule = Schedule(Queues())
    submitted(schedule, 1, Prompt("one"))
    said = Prompt("more", when_busy="steer")
    assert submitted(schedule, 2, said, listening=True) == [Accept(2), Tell(QueueChanged((Input("more"),), ()))]
    told = Tell(QueueChanged((), (), (Input("more"),)))
    assert schedule.feed(AbortAsked()) == [told, Interrupt(1)]


def test_a_command_belongs_to_the_session_it_began_in() -> None:
    run = BashRun("true", "", 0, 0)
    schedule = Schedule(Queues())
    schedule.feed(BackgroundSubmitted(1, Bash("true"), "one"))
    assert schedule.feed(BackgroundEnded(1, "two", run)) == [Idle()]
    submitted(schedule, 2, Prompt("hi"))
    submitted(schedule, 3, NewSession())
    schedule.feed(BackgroundSubmitted(4, Bash("true"), "one"))  # Between two sessions: it is the next one's.
    schedule.feed(JobEnded())
    schedule.feed(JobEnded())
    assert schedule.feed(BackgroundEnded(4, "two", run)) == [Tell(BashRan(run)), Idle()]


def test_a_job_that_waits_can_be_aborted_and_hears_nothing_once_it_begins() -> None:
    schedule = Schedule(Queues())
    submitted(schedule, 1, Prompt("one"))
    submitted(schedule, 2, Prompt("two"))
    assert schedule.feed(AbortAsked(2)) == [Interrupt(2)]
    assert schedule.feed(JobEnded()) == [Begin(Job(2, Prompt("two")))]
    assert submitted(schedule, 3, Prompt("more", when_busy="steer"), listening=True) == [Accept(3)]


def test_what_can_only_be_said_to_a_run_is_refused_when_none_hears_it() -> None:
    schedule = Schedule(Queues())
    said = Prompt("more", when_busy="steer", when_idle="refuse")
    assert submitted(schedule, 1, said) == [Refuse(1, "idle")]
    submitted(schedule, 2, Prompt("one"))
    assert submitted(schedule, 3, said) == [Refuse(3, "idle")]  # It does not listen.
    assert submitted(schedule, 4, said, listening=True) == [Accept(4), Tell(QueueChanged((Input("more"),), ()))]
    schedule.feed(AbortAsked())
    assert submitted(schedule, 5, said, listening=True) == [Refuse(5, "idle")]


@pytest.mark.parametrize("command", [Bash("vim x"), RunCommand("deploy", "")])
def test_a_command_that_goes_on_when_all_else_is_finished_is_ended_after_a_while(command: Background) -> None:
    schedule = Schedule(Queues())
    submitted(schedule, 1, Prompt("hi"))
    schedule.feed(BackgroundSubmitted(2, command))
    assert schedule.feed(InputEnded()) == []
    assert schedule.feed(JobEnded()) == [Linger()]
    assert schedule.feed(PatienceOver())[0] == Interrupt(2)
    assert schedule.feed(BackgroundEnded(2)) == [Idle()]


def test_a_page_that_is_being_written_is_not_ended() -> None:
    schedule = Schedule(Queues())
    schedule.feed(BackgroundSubmitted(1, ExportHtml()))
    assert schedule.feed(InputEnded()) == []
