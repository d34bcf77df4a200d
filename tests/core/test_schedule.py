"""What runs, waits, is cut short and dropped: facts in any order, and what must be true all the same."""

from itertools import count
from typing import Literal

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from linnet.core.commands import (
    Background,
    Bash,
    ClearQueue,
    Compact,
    CycleModel,
    ExportHtml,
    GetCommands,
    GetModels,
    Navigate,
    NewSession,
    Ordered,
    Prompt,
    Reload,
    RunCommand,
    SetModel,
    SwitchSession,
    Work,
)
from linnet.core.events import BashHeld, BashRan, Event, QueueChanged
from linnet.core.inputs import Input
from linnet.core.loop.queues import Queues
from linnet.core.loop.schedule import Schedule
from linnet.core.loop.schedule_facts import (
    AbortAsked,
    Accept,
    Admit,
    Arrived,
    AskAbout,
    BackgroundEnded,
    BackgroundSubmitted,
    BashAbortAsked,
    Begin,
    CallOff,
    CloseAsked,
    Effect,
    ExtensionsFailed,
    ExtensionsLoaded,
    ExtensionsOutdated,
    ExtensionsReloaded,
    ExtensionsWanted,
    Fact,
    FailureTold,
    GiveUp,
    Hurry,
    Idle,
    InputEnded,
    Interrupt,
    Job,
    JobEnded,
    Launch,
    Linger,
    Load,
    MoveAnswered,
    PatienceOver,
    Refuse,
    SeenTo,
    Submitted,
    Tell,
)
from linnet.core.loop.schedule_facts import Reload as ReadAgain
from linnet.core.messages import BashRun
from linnet.errors import LinnetError

MOVES = (NewSession, SwitchSession, Navigate)
works: st.SearchStrategy[Work] = st.one_of(
    st.builds(Prompt, st.just("hi"), when_busy=st.sampled_from(["wait", "refuse", "steer", "follow_up"])),
    st.builds(Compact, at_once=st.booleans()),
    st.sampled_from([NewSession(), SwitchSession("x"), Navigate(None)]),
)
backgrounds: st.SearchStrategy[Background] = st.sampled_from([Bash("true"), ExportHtml()])
arrivals: st.SearchStrategy[Ordered] = works | st.sampled_from(
    [RunCommand("deploy"), GetCommands(), SetModel("m"), GetModels(), CycleModel(), Reload()]
)


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
                assert effect.doomed == (job.number in self.interrupted)
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
                assert number == self.active or number in (*self.waiting, *self.background, *self.here)
                self.interrupted.add(number)
            case Linger():
                assert self.input_ended
                assert not self.patience, "once at a time"
                self.patience = True
            case Tell(event):
                self.see_event(event)
            case Idle():
                assert not self.is_busy
                assert not self.waiting
                self.rested = True
            case _:
                raise AssertionError(effect)

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

    @property
    def here(self) -> list[int]:
        """What waits for extensions; there are none yet."""
        return []

    @property
    def is_busy(self) -> bool:
        return self.active is not None or bool(self.background)

    @rule(work=works, may_wait=st.booleans())
    def submit(self, work: Work, may_wait: bool) -> None:
        self.submit_as(next(self.numbers), work, may_wait=may_wait)

    def submit_as(self, number: int, work: Work, *, may_wait: bool) -> None:
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
        endless = {number for number, command in self.background.items() if isinstance(command, Bash | RunCommand)}
        assert interrupted == (endless if self.active is None else set()), "never what a run may need"

    @invariant()
    def no_command_keeps_the_process_for_ever(self) -> None:
        endless = any(isinstance(command, Bash | RunCommand) for command in self.background.values())
        alone = self.active is None and endless
        assert not (alone and self.input_ended and not self.closed) or self.patience

    @rule(which=st.sampled_from(["any", "active", "other"]))
    def abort(self, which: Literal["any", "active", "other"]) -> None:
        number = {"any": None, "active": self.active, "other": 0}[which]
        expected = self.aborted_by(number)
        effects = self.feed(AbortAsked(number))
        hit = self.active is not None and which != "other"
        assert [effect.number for effect in effects if isinstance(effect, Interrupt)] == expected
        assert not (hit and len(self.queues)), "what was said to it is dropped"

    def aborted_by(self, number: int | None) -> list[int]:
        active = [self.active] if self.active is not None and number in (None, self.active) else []
        commands = [each for each, command in self.background.items() if isinstance(command, RunCommand)]
        return [*active, *(commands if number is None else ())]

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
        assert self.schedule.busy == self.is_busy
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


class Extended(Agent):
    """The same with extensions: loaded, asked and read again, slowly and not always with success."""

    def __init__(self) -> None:
        super().__init__()
        self.commands: dict[int, Ordered] = {}
        self.outcomes: dict[int, list[str]] = {}
        self.arrived: list[int] = []
        self.passing: int | None = None
        self.stage: Literal["", "asked", "admitted", "carried out", "reloads"] = ""  # Of what is passing.
        self.extensions: Literal["", "loads", "reloads", "gives up"] = ""  # What is being done.
        self.complete = False  # All of them are there.
        self.outdated = False
        self.failure: LinnetError | None = None

    @property
    def here(self) -> list[int]:
        """Not what was submitted."""
        passing = [self.passing] if self.passing is not None and self.passing not in self.jobs else []
        return [*passing, *self.arrived]

    @property
    def is_busy(self) -> bool:
        waits = self.passing is not None or bool(self.arrived)
        return super().is_busy or waits or self.extensions == "gives up"

    def see(self, effect: Effect) -> None:
        match effect:
            case Load():
                assert (self.extensions, self.complete) == ("", False)
                self.extensions, self.complete = "loads", True
            case Hurry():
                assert self.extensions == "loads"
                assert self.complete, "once"
                assert self.closed or self.arrived[0] in self.interrupted
                self.complete = False
            case ReadAgain(number):
                assert (self.extensions, self.active) == ("", None), "between runs"
                self.extensions = "reloads"
                assert self.outdated or number is not None
                self.outdated = False
                if number is not None:
                    self.let_pass(number, "reloads")
            case AskAbout(number):
                self.let_pass(number, "asked")
                assert isinstance(self.commands[number], MOVES)
            case Admit(number):
                if isinstance(self.commands[number], MOVES):
                    assert (self.passing, self.stage) == (number, "asked"), "never without being asked about"
                    assert number not in self.interrupted
                    self.stage = "admitted"
                else:
                    self.let_pass(number, "admitted")
                self.outcomes[number].append("admitted")
            case CallOff(number):
                assert (self.passing, self.stage) == (number, "asked")
                self.outcomes[number].append("called off")
                self.passing = None
            case GiveUp(error):
                assert error is self.failure
                self.extensions, self.rested = "gives up", False
            case Refuse(number, why) if number in self.outcomes and number not in self.fate:
                assert why != "closing" or self.closed
                assert not isinstance(why, LinnetError) or why is self.failure
                self.outcomes[number].append("refused")
                if number in self.arrived:
                    self.arrived.remove(number)
                elif number == self.passing:
                    self.passing = None
            case _:
                super().see(effect)

    def let_pass(self, number: int, stage: Literal["asked", "admitted", "reloads"]) -> None:
        assert self.passing is None, "one at a time"
        assert self.arrived[0] == number, "in the order they came"
        assert self.complete or number in self.interrupted, "never without those that guard it"
        assert not self.outdated or self.active is not None, "nor without those that hold now, where they can be read"
        self.passing, self.stage = self.arrived.pop(0), stage

    def submit(self, work: Work, may_wait: bool) -> None:
        """No rule: whatever is submitted has arrived."""

    @rule(command=arrivals)
    def arrive(self, command: Ordered) -> None:
        number = next(self.numbers)
        self.commands[number], self.outcomes[number] = command, []
        self.arrived.append(number)
        refused = self.closed or self.failure is not None
        if not refused:
            self.rested = False
        effects = self.feed(Arrived(number, command))
        if refused:
            assert effects == [Refuse(number, "closed" if self.closed else self.failure or "closed")]

    @rule()
    def want(self) -> None:
        self.feed(ExtensionsWanted())

    @rule(outdated=st.booleans())
    def outdate(self, outdated: bool) -> None:
        self.outdated = outdated
        self.feed(ExtensionsOutdated(outdated))

    @precondition(lambda self: self.extensions == "loads")
    @rule()
    def load(self) -> None:
        self.extensions = ""
        self.feed(ExtensionsLoaded())

    @precondition(lambda self: self.extensions in ("loads", "reloads"))
    @rule(for_good=st.booleans())
    def fail(self, for_good: bool) -> None:
        for_good = for_good and self.extensions == "loads"
        self.outdated |= self.extensions == "reloads" and self.passing is None
        arrived, self.failure = list(self.arrived), LinnetError("they cannot be had")
        self.extensions, self.complete = "", False
        self.feed(ExtensionsFailed(self.failure, for_good))
        assert all(self.outcomes[number] == ["refused"] for number in arrived)
        if not for_good:
            self.failure = None

    @precondition(lambda self: self.extensions == "gives up")
    @rule()
    def tell_failure(self) -> None:
        self.extensions = ""
        self.feed(FailureTold())

    @precondition(lambda self: self.extensions == "reloads")
    @rule()
    def reload(self) -> None:
        self.extensions = ""
        if self.stage == "reloads" and self.passing is not None:
            self.outcomes[self.passing].append("reloaded")
            self.passing = None
        self.feed(ExtensionsReloaded())

    @precondition(lambda self: self.passing is not None and self.stage == "asked")
    @rule(permitted=st.booleans())
    def answer(self, permitted: bool) -> None:
        number = self.passing or 0
        self.feed(MoveAnswered(number, permitted))
        may = permitted and not self.closed and number not in self.interrupted
        last = "refused" if self.closed else "admitted" if may else "called off"
        assert self.outcomes[number] == [last]

    @precondition(lambda self: self.passing is not None and self.stage == "admitted")
    @rule(may_wait=st.booleans())
    def carry_out(self, may_wait: bool) -> None:
        self.stage = "carried out"
        number = self.passing or 0
        match self.commands[number]:
            case RunCommand() | Bash() as command:
                self.fate[number] = []
                if not self.closed:
                    self.background[number] = command
                self.feed(BackgroundSubmitted(number, command, self.session))
            case GetCommands() | GetModels() | SetModel() | CycleModel() | Reload() | ClearQueue():
                pass
            case work:
                self.submit_as(number, work, may_wait=may_wait)

    @precondition(lambda self: self.passing is not None and self.stage in ("admitted", "carried out"))
    @rule()
    def see_to(self) -> None:
        number, self.passing = self.passing or 0, None
        self.feed(SeenTo(number))

    def aborted_by(self, number: int | None) -> list[int]:
        if number is not None:
            return super().aborted_by(number)
        if self.passing is not None and self.stage == "asked":
            return [*super().aborted_by(None), self.passing]
        jobs = [each for each in self.here if isinstance(self.commands[each], Prompt | Compact)]
        dooms = jobs and self.active is None and not self.interrupted.intersection(jobs)
        return [*super().aborted_by(None), *(jobs[:1] if dooms else ())]

    @precondition(lambda self: self.here)
    @rule(data=st.data())
    def abort_arrived(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(self.here))
        hurries = self.extensions == "loads" and self.complete and number == self.arrived[0]
        effects = self.feed(AbortAsked(number))
        assert Interrupt(number) in effects
        assert (Hurry() in effects) == hurries

    @rule()
    def close(self) -> None:
        arrived, asked = list(self.arrived), self.passing if self.stage == "asked" else None
        was_closed = self.closed
        super().close()
        assert all(self.outcomes[number] == ["refused"] for number in arrived)
        assert asked is None or was_closed or asked in self.interrupted
        assert self.extensions != "loads" or not self.complete

    @invariant()
    def somebody_sees_to_what_waits(self) -> None:
        assert not self.arrived or self.passing is not None or self.extensions in ("loads", "reloads")

    def teardown(self) -> None:
        self.close()
        if self.extensions == "loads":
            self.load()
        if self.extensions == "reloads":
            self.reload()
        if self.extensions == "gives up":
            self.tell_failure()
        if self.passing is not None and self.stage == "asked":
            self.answer(permitted=True)
        if self.passing is not None:
            self.see_to()
        super().teardown()
        assert not self.here
        assert all(len(outcome) == 1 for outcome in self.outcomes.values())


TestAnyOrderWithExtensions = Extended.TestCase


def submitted(schedule: Schedule, number: int, work: Work, *, listening: bool = False) -> list[Effect]:
    return schedule.feed(Submitted(Job(number, work), listening))


def test_what_waits_before_a_move_is_ended_as_soon_as_it_begins() -> None:
    schedule = Schedule(Queues())
    submitted(schedule, 1, Prompt("one"))
    submitted(schedule, 2, Prompt("two"))
    effects = submitted(schedule, 3, NewSession())
    assert effects == [Accept(3), Interrupt(1), Interrupt(2)]
    assert schedule.feed(JobEnded()) == [Begin(Job(2, Prompt("two")), doomed=True)]
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
    waits = Tell(QueueChanged((Input("more"),), ()))
    assert submitted(schedule, 2, said, listening=True) == [Accept(2, queued=True), waits]
    told = Tell(QueueChanged((), (), (Input("more"),)))
    assert schedule.feed(AbortAsked()) == [told, Interrupt(1)]


def test_what_waits_is_kept_and_shown_if_an_abort_says_so() -> None:
    queues = Queues()
    schedule = Schedule(queues)
    submitted(schedule, 1, Prompt("one"))
    waits = Tell(QueueChanged((Input("more"),), ()))
    said = Prompt("more", when_busy="steer", shown_first=True)
    assert submitted(schedule, 2, said, listening=True) == [waits, Accept(2, queued=True)]
    assert schedule.feed(AbortAsked(keep=True)) == [waits, Interrupt(1)]
    assert queues.steering == [Input("more")]


def test_what_was_kept_is_dropped_and_told_where_the_conversation_goes_on_elsewhere() -> None:
    schedule = Schedule(Queues())
    submitted(schedule, 1, Prompt("one"))
    submitted(schedule, 2, Prompt("more", when_busy="steer"), listening=True)
    schedule.feed(AbortAsked(keep=True))
    schedule.feed(JobEnded())
    dropped = Tell(QueueChanged((), (), (Input("more"),)))
    assert submitted(schedule, 3, NewSession()) == [Accept(3), dropped, Begin(Job(3, NewSession()), doomed=False)]
    schedule.feed(JobEnded())
    assert submitted(schedule, 4, Prompt("two")) == [Accept(4), Begin(Job(4, Prompt("two")), doomed=False)]


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
    assert schedule.feed(JobEnded()) == [Begin(Job(2, Prompt("two")), doomed=True)]
    assert submitted(schedule, 3, Prompt("more", when_busy="steer"), listening=True) == [Accept(3)]


def test_what_can_only_be_said_to_a_run_is_refused_when_none_hears_it() -> None:
    schedule = Schedule(Queues())
    said = Prompt("more", when_busy="steer", when_idle="refuse")
    assert submitted(schedule, 1, said) == [Refuse(1, "idle")]
    submitted(schedule, 2, Prompt("one"))
    assert submitted(schedule, 3, said) == [Refuse(3, "idle")]  # It does not listen.
    assert submitted(schedule, 4, said, listening=True) == [
        Accept(4, queued=True),
        Tell(QueueChanged((Input("more"),), ())),
    ]
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


def arrived(schedule: Schedule, *commands: Ordered) -> list[Effect]:
    """Numbered from 1."""
    facts = [Arrived(number, command) for number, command in enumerate(commands, 1)]
    return [effect for fact in facts for effect in schedule.feed(fact)]


def loaded(*commands: Ordered) -> Schedule:
    """Where the extensions are there, and these have arrived."""
    schedule = Schedule(Queues())
    schedule.feed(ExtensionsWanted())
    schedule.feed(ExtensionsLoaded())
    arrived(schedule, *commands)
    return schedule


def test_what_needs_extensions_is_admitted_in_its_order_as_soon_as_they_are_loaded() -> None:
    schedule = Schedule(Queues())
    assert arrived(schedule, GetCommands(), Prompt("hi"), NewSession()) == [Load()]
    assert schedule.feed(ExtensionsLoaded()) == [Admit(1)]
    assert schedule.feed(SeenTo(1)) == [Admit(2)]
    assert submitted(schedule, 2, Prompt("hi")) == [Accept(2), Begin(Job(2, Prompt("hi")))]
    assert schedule.feed(SeenTo(2)) == [AskAbout(3)]
    assert schedule.feed(MoveAnswered(3, permitted=True)) == [Admit(3)]


def test_a_prompt_that_is_aborted_waits_for_no_extension_and_the_next_one_does() -> None:
    schedule = Schedule(Queues())
    arrived(schedule, Prompt("one"), Prompt("two"))
    assert schedule.feed(AbortAsked()) == [Interrupt(1), Hurry()]
    assert schedule.feed(AbortAsked()) == [], "it is not for the second"
    assert schedule.feed(AbortAsked(1)) == [Interrupt(1)], "nobody waits any more"
    assert schedule.feed(ExtensionsLoaded()) == [Admit(1)]
    assert submitted(schedule, 1, Prompt("one")) == [Accept(1), Begin(Job(1, Prompt("one")), doomed=True)]
    assert schedule.feed(SeenTo(1)) == [Load()], "one of them may guard it, and has not been heard of"
    assert schedule.feed(AbortAsked(2)) == [Interrupt(2), Hurry()]
    assert schedule.feed(ExtensionsLoaded()) == [Admit(2)]


def test_to_abort_one_that_is_not_the_first_is_no_reason_to_hurry() -> None:
    schedule = Schedule(Queues())
    arrived(schedule, Prompt("one"), Prompt("two"))
    assert schedule.feed(AbortAsked(2)) == [Interrupt(2)]


def test_an_abort_while_something_runs_is_not_for_what_waits_for_extensions() -> None:
    schedule = loaded(NewSession(), Prompt("two"))
    submitted(schedule, 9, Prompt("runs"))
    schedule.feed(MoveAnswered(1, permitted=True))
    assert schedule.feed(AbortAsked()) == [Interrupt(9)]


@pytest.mark.parametrize("permitted", [True, False])
def test_a_move_that_is_aborted_while_extensions_are_asked_does_not_happen(permitted: bool) -> None:
    schedule = loaded(NewSession(), Prompt("two"))
    assert schedule.feed(AbortAsked()) == [Interrupt(1)]
    assert schedule.feed(MoveAnswered(1, permitted)) == [CallOff(1), Admit(2)]


def test_closing_refuses_what_waits_and_ends_the_question() -> None:
    schedule = loaded(NewSession(), Prompt("two"))
    assert schedule.feed(CloseAsked()) == [Refuse(2, "closing"), Interrupt(1)]
    assert schedule.feed(MoveAnswered(1, permitted=True)) == [Refuse(1, "closing"), Idle()]
    assert arrived(schedule, Prompt("late")) == [Refuse(1, "closed")]


def test_closing_waits_for_no_extension() -> None:
    schedule = Schedule(Queues())
    arrived(schedule, Prompt("one"))
    assert schedule.feed(CloseAsked()) == [Refuse(1, "closing"), Hurry(), Idle()]
    schedule = Schedule(Queues())
    schedule.feed(CloseAsked())
    assert schedule.feed(ExtensionsWanted()) == []


def test_where_a_guard_cannot_be_had_nothing_is_done_any_more() -> None:
    schedule, error = Schedule(Queues()), LinnetError("guard.py")
    arrived(schedule, Prompt("one"), GetCommands())
    assert schedule.feed(ExtensionsFailed(error)) == [Refuse(1, error), Refuse(2, error), GiveUp(error)]
    assert schedule.busy, "until everybody knows why"
    assert schedule.feed(FailureTold()) == [Idle()]
    assert schedule.feed(Arrived(3, Prompt("three"))) == [Refuse(3, error)]


def test_what_got_no_thread_is_tried_again_for_the_next_one() -> None:
    schedule, error = Schedule(Queues()), LinnetError("no thread")
    arrived(schedule, Prompt("one"))
    assert schedule.feed(ExtensionsFailed(error, for_good=False)) == [Refuse(1, error), Idle()]
    assert schedule.feed(Arrived(2, Prompt("two"))) == [Load()]
    schedule = loaded(Reload(), Prompt("two"))
    effects = schedule.feed(ExtensionsFailed(error, for_good=False))
    assert effects == [Refuse(1, error), Refuse(2, error), Idle()]
    assert schedule.feed(Arrived(3, Prompt("three"))) == [Load()]
    assert schedule.feed(ExtensionsLoaded()) == [Admit(3)]
    schedule = loaded()
    schedule.feed(ExtensionsOutdated())
    assert arrived(schedule, Prompt("one")) == [ReadAgain()]
    schedule.feed(ExtensionsFailed(error, for_good=False))
    schedule.feed(Arrived(2, Prompt("two")))
    assert schedule.feed(ExtensionsLoaded()) == [ReadAgain()], "which was not done"


def test_outdated_extensions_are_read_again_before_whoever_needs_them_next_unless_something_runs() -> None:
    schedule = loaded()
    schedule.feed(ExtensionsOutdated())
    submitted(schedule, 9, Prompt("runs"))
    assert arrived(schedule, GetCommands()) == [Admit(1)]
    schedule.feed(SeenTo(1))
    schedule.feed(JobEnded())
    assert arrived(schedule, GetCommands()) == [ReadAgain()]
    assert schedule.feed(ExtensionsReloaded()) == [Admit(1)]
    assert schedule.feed(SeenTo(1)) == [Idle()]
    assert arrived(schedule, GetCommands()) == [Admit(1)], "once"


def test_extensions_are_read_again_between_runs_alone() -> None:
    schedule = loaded()
    submitted(schedule, 9, Prompt("runs"))
    assert arrived(schedule, Reload()) == [Refuse(1, "at_work")]
    schedule.feed(JobEnded())
    assert arrived(schedule, Reload()) == [ReadAgain(1)]
    assert schedule.feed(Arrived(2, Prompt("two"))) == []
    assert schedule.feed(ExtensionsReloaded()) == [Admit(2)]


def test_an_abort_is_for_what_waits_once_the_first_has_been_submitted() -> None:
    schedule = loaded(Prompt("one", when_idle="refuse"), Prompt("two"))
    submitted(schedule, 1, Prompt("one", when_idle="refuse"))
    assert schedule.feed(AbortAsked()) == [Interrupt(2)]
