"""Decides which job runs, which wait, and which are cut short or dropped, as a state machine: facts in, effects out.

It never waits and does nothing by itself, so any order of facts can be tried. Whoever carries out its effects feeds it
the facts that follow from them, one at a time.
"""

from collections import deque
from typing import Literal

from linnet.core import commands
from linnet.core.commands import Bash, Compact, Move, Prompt, RunCommand, Work
from linnet.core.events import QueueChanged
from linnet.core.inputs import Input
from linnet.core.loop.background import BackgroundCommands
from linnet.core.loop.queues import Queues
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
    ExtensionsFact,
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
    Reload,
    SeenTo,
    Submitted,
    Tell,
)
from linnet.errors import LinnetError


class Schedule:
    """The jobs and background commands of a session.

    Invariants:
    - One job is active at a time, and waiting ones begin in the order they came.
    - Each job that is submitted is accepted or refused. Each that was accepted begins, is said to the active one, or is
      refused on closing.
    - A job that is interrupted hears nothing more that is said; what had been said to it is dropped, and that is told.
    - What arrives where there are extensions is admitted or answered in the order it came, one at a time: never before
      they are loaded, and a move never before they were asked, unless it was aborted before.
    """

    def __init__(self, queues: Queues) -> None:
        self._queues = queues
        self._active: Job | None = None
        self._is_ending = False  # The active job is: what is said from now on is not said to it.
        self._waiting: deque[Job] = deque()
        self._doomed: set[int] = set()  # Waiting jobs that are interrupted as soon as they begin.
        self._background = BackgroundCommands()
        self._input_ended = False
        self._lingers = False  # Commands that nobody can abort any more are given some time.
        self._closed = False
        # unread → loading → read ⇄ reloading. From loading or reloading also back to unread, if that could not be done
        # just now; or to failing, and when everybody knows why, to failed: nothing leads out of there.
        self._extensions: Literal["unread", "loading", "read", "reloading", "failing", "failed"] = "unread"
        self._failure: LinnetError | None = None  # Why nothing that needs extensions is done any more.
        self._incomplete = False  # They were loaded in a hurry: some may not have been heard of yet.
        self._outdated = False  # They are to be read again before the next command that needs them, between two jobs.
        self._arrived: deque[Arrived] = deque()  # What waits for extensions.
        self._passing: Arrived | None = None  # What is being admitted, or asked about, or reloads.
        self._stage: Literal["asked", "admitted", "submitted"] = "admitted"  # How far `_passing` has come.

    @property
    def active(self) -> Job | None:
        return self._active

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def busy(self) -> bool:
        """Return whether anything is left to do. Loading extensions alone does not count: nobody waits for that."""
        runs = self._active is not None or len(self._background) > 0
        return runs or self._passing is not None or bool(self._arrived) or self._extensions == "failing"

    @property
    def leaving(self) -> bool:
        """Return whether a move waits: what is asked for now is about the session that it leads to."""
        return any(isinstance(job.work, Move) for job in self._waiting)

    def holds(self, number: int) -> bool:
        """Return whether this is active, waits, or runs in the background."""
        jobs = any(job is not None and job.number == number for job in (self._active, *self._waiting))
        return jobs or number in self._background or any(each.number == number for each in self._here)

    @property
    def _here(self) -> list[Arrived]:
        """Return what has arrived, and not been submitted."""
        passing = [self._passing] if self._passing is not None and self._stage != "submitted" else []
        return [*passing, *self._arrived]

    def feed(self, fact: Fact) -> list[Effect]:
        """Take in a fact; return what is to be done, in this order, before the next one is fed."""
        effects = self._feed(fact)
        # Whoever began a command and left would otherwise keep the process for as long as the command likes.
        alone = self._active is None and not self._closed and self._background.endless()
        if alone and self._input_ended and not self._lingers:
            self._lingers = True
            effects.append(Linger())
        return effects

    def _feed(self, fact: Fact) -> list[Effect]:
        match fact:
            case Submitted():
                return self._submitted(fact)
            case JobEnded():
                return self._ended() if self._active is not None else []
            case AbortAsked(number, keep):
                return self._abort(number, keep=keep)
            case BackgroundSubmitted(number, command, session):
                if self._closed:
                    return [Refuse(number, "closed")]
                self._background.begin(number, command, "" if self.leaving else session)
                return [Launch(number)]
            case BackgroundEnded(number, session, run):
                if number not in self._background:
                    return []
                told = self._background.end(number, session, run, is_alone=self._active is None)
                return [*told, *self._idle()]
            case BashAbortAsked():
                waiting = [each.number for each in self._here if isinstance(each.command, Bash)]
                return [*self._background.interrupt(Bash), *(effect for each in waiting for effect in self._doom(each))]
            case InputEnded():
                self._input_ended = True
                return []
            case PatienceOver():
                self._lingers = False
                return [] if self._active is not None else self._background.interrupt()
            case CloseAsked():
                return self._close()
            case Arrived():
                return self._arrive(fact)
            case SeenTo(number):
                return self._over() if self._is_passing(number) else []
            case MoveAnswered(number, permitted):
                return self._answered(number, permitted=permitted)
            case _:
                return self._feed_extensions(fact)

    def _feed_extensions(self, fact: ExtensionsFact) -> list[Effect]:
        match fact:
            case ExtensionsWanted():
                return [] if self._extensions != "unread" or self._closed else self._load()
            case ExtensionsLoaded():
                self._extensions = "read"
                return self._pass()  # Nobody is told of rest: loading alone was no unrest.
            case ExtensionsFailed(error, for_good):
                return self._failed(error, for_good=for_good)
            case FailureTold():
                self._extensions = "failed"
                return self._idle()
            case ExtensionsOutdated(outdated):
                self._outdated = outdated
                return []
            case ExtensionsReloaded():
                self._extensions = "read"
                return self._over()

    def _submitted(self, fact: Submitted) -> list[Effect]:
        job, work = fact.job, fact.job.work
        if self._is_passing(job.number):
            self._stage = "submitted"
        if self._closed:
            return [Refuse(job.number, "closed")]
        # The order counts: what only an agent at work can hear is refused before it could begin a job of its own, and
        # what may not wait before it could be said to the active one.
        is_heard = self._active is not None and fact.listening and self._hears
        if isinstance(work, Prompt) and work.when_idle == "refuse" and not is_heard:
            return [Refuse(job.number, "idle")]
        if self._active is None:
            return [Accept(job.number), *self._begin(job)]
        if not fact.may_wait:
            return [Refuse(job.number, "busy")]
        if isinstance(work, Prompt) and work.when_busy != "wait" and is_heard:
            return self._said(job, work)
        effects: list[Effect] = [Accept(job.number)]
        if _cuts_short(work, self._active.work):
            effects += self._cut_short()
            if isinstance(work, Move):  # It waits behind these, and they might take for ever.
                doomed = [job.number for job in self._waiting if isinstance(job.work, Prompt | Compact)]
                self._doomed.update(doomed)
                effects += map(Interrupt, doomed)
        self._waiting.append(job)
        return effects

    @property
    def _hears(self) -> bool:
        """Return whether what is said now is said to the active job: not if it is being ended, for whatever reason."""
        return not self._is_ending and not self._waiting

    def _said(self, job: Job, prompt: Prompt) -> list[Effect]:
        """Put a prompt into the queue of the active job, unless it would rather be refused."""
        if prompt.when_busy == "refuse":
            return [Refuse(job.number, "busy")]
        queues = self._queues
        queue = queues.steering if prompt.when_busy == "steer" else queues.follow_ups
        queue.append(prompt.as_input(job.time))
        accept = Accept(job.number, queued=True)
        return [self._tell_queue(), accept] if prompt.shown_first else [accept, self._tell_queue()]

    def _begin(self, job: Job) -> list[Effect]:
        self._active = job
        self._is_ending = job.number in self._doomed
        self._doomed.discard(job.number)
        left = self._queues.clear() if isinstance(job.work, Move) else []  # After an abort that kept them.
        return [*([self._tell_queue(tuple(left))] if left else ()), Begin(job, self._is_ending)]

    @property
    def next_aborted(self) -> int | None:
        """Return the number of the job that an abort would cut short now; None if there is none."""
        if self._active is not None:
            return self._active.number
        return next((each.number for each in self._here if isinstance(each.command, Prompt | Compact)), None)

    def _abort(self, number: int | None, *, keep: bool) -> list[Effect]:
        if number is None:
            return [*self._cut_short(keep=keep), *self._background.interrupt(RunCommand), *self._abort_arrived()]
        if self._active is not None and number == self._active.number:
            return self._cut_short()
        if number in self._background:
            return [Interrupt(number)]
        return self._doom(number) if self.holds(number) else []

    def _abort_arrived(self) -> list[Effect]:
        """Call off the move that extensions are asked about; or doom the first job that waits, if nothing runs."""
        if self._passing is not None and self._stage == "asked":
            return self._doom(self._passing.number)
        if self._active is not None:
            return []
        jobs = [each.number for each in self._here if isinstance(each.command, Prompt | Compact)]
        return self._doom(jobs[0]) if jobs and self._doomed.isdisjoint(jobs) else []

    def _doom(self, number: int) -> list[Effect]:
        """Have what waits aborted as it begins. It need not wait for extensions that can join later."""
        self._doomed.add(number)
        first = self._arrived[0].number if self._arrived else None
        return [Interrupt(number), *(self._hurry() if number == first else ())]

    def _cut_short(self, *, keep: bool = False) -> list[Effect]:
        """Interrupt the active job. What was said to it is told first, while the job still goes on: that it is dropped,
        or that it is kept and waits.
        """
        if self._active is None:
            return []
        dropped = [] if keep else self._queues.clear()
        waits = self._queues.steering or self._queues.follow_ups
        told: list[Effect] = [self._tell_queue(tuple(dropped))] if dropped or waits else []
        self._is_ending = True
        return [*told, Interrupt(self._active.number)]

    def _ended(self) -> list[Effect]:
        self._active = None
        # Before the next job begins: it is to see what the commands that ended meanwhile came to.
        told = self._background.release()
        if self._waiting:
            return [*told, *self._begin(self._waiting.popleft())]
        return [*told, *self._idle()]

    def _close(self) -> list[Effect]:
        """Refuse what waits and interrupt what runs, in this order: nothing that waits may begin when the job ends."""
        if self._closed:
            return []
        self._closed = True
        waiting, self._waiting = self._waiting, deque()
        arrived, self._arrived = self._arrived, deque()
        effects: list[Effect] = [Refuse(job.number, "closing") for job in waiting]
        effects += [Refuse(each.number, "closing") for each in arrived]
        # A prompt that was accepted at once cannot be refused any more, but it can be said that it was dropped.
        prompts = [(job.work, job.time) for job in waiting if isinstance(job.work, Prompt)]
        lost = [prompt.as_input(time) for prompt, time in prompts if prompt.when_busy != "wait"]
        if lost:
            effects.append(self._tell_queue(tuple(lost)))
        asked = [Interrupt(self._passing.number)] if self._passing is not None and self._stage == "asked" else []
        effects += [*asked, *self._hurry(), *self._cut_short(), *self._background.interrupt()]
        return [*effects, *self._idle()] if arrived else effects

    def _arrive(self, fact: Arrived) -> list[Effect]:
        if self._closed or self._failure is not None:
            return [Refuse(fact.number, "closed" if self._failure is None or self._closed else self._failure)]
        self._arrived.append(fact)
        return self._pass()

    def _pass(self) -> list[Effect]:
        """See to the first that has arrived, if the extensions are there and nothing else is being seen to.

        They are loaded, or read again if they are outdated, before it leaves the queue: it waits for that as the first.
        """
        effects: list[Effect] = []
        while self._arrived and self._passing is None and self._extensions in ("unread", "read"):
            first = self._arrived[0]
            if self._extensions == "unread" or (self._incomplete and first.number not in self._doomed):
                return [*effects, *self._load()]
            if self._outdated and self._active is None:
                return [*effects, self._reload()]
            self._arrived.popleft()
            if isinstance(first.command, commands.Reload) and self._active is not None:
                effects.append(Refuse(first.number, "at_work"))
                continue
            self._passing = first
            effects.append(self._next_step(first))
        return effects

    def _next_step(self, first: Arrived) -> Effect:
        """Return what is done first for a command: a move is asked about before it is admitted."""
        if isinstance(first.command, commands.Reload):
            return self._reload(first.number)
        self._stage = "asked" if isinstance(first.command, Move) else "admitted"
        return AskAbout(first.number) if self._stage == "asked" else Admit(first.number)

    def _reload(self, number: int | None = None) -> Effect:
        self._extensions, self._outdated = "reloading", False
        return Reload(number)

    def _load(self) -> list[Effect]:
        self._extensions, self._incomplete = "loading", False
        return [Load()]

    def _hurry(self) -> list[Effect]:
        if self._extensions != "loading" or self._incomplete:
            return []
        self._incomplete = True
        return [Hurry()]

    def _is_passing(self, number: int) -> bool:
        return self._passing is not None and self._passing.number == number

    def _answered(self, number: int, *, permitted: bool) -> list[Effect]:
        if not self._is_passing(number) or self._stage != "asked":
            return []
        self._stage = "admitted"
        if self._closed:
            return [Refuse(number, "closing"), *self._over()]
        if permitted and number not in self._doomed:
            return [Admit(number)]
        return [CallOff(number), *self._over()]

    def _over(self) -> list[Effect]:
        """Let the next one pass: what was passing has been seen to."""
        passed, self._passing = self._passing, None
        if passed is not None and not self.holds(passed.number):
            self._doomed.discard(passed.number)
        return [*self._pass(), *self._idle()]

    def _failed(self, error: LinnetError, *, for_good: bool) -> list[Effect]:
        """Refuse whatever waits for extensions. Guards may be among these, so nothing passes without them."""
        reloads = self._extensions == "reloading"
        self._outdated |= reloads and self._passing is None  # What nobody asked for is tried again.
        refused = self._here if reloads else list(self._arrived)
        self._extensions = "failing" if for_good else "unread"
        self._arrived.clear()
        effects: list[Effect] = [Refuse(each.number, error) for each in refused]
        if not for_good:
            return [*effects, *self._over()]
        self._failure = error
        return [*effects, GiveUp(error)]

    def _idle(self) -> list[Effect]:
        return [] if self.busy else [Idle()]

    def _tell_queue(self, dropped: tuple[Input, ...] = ()) -> Effect:
        return Tell(QueueChanged(tuple(self._queues.steering), tuple(self._queues.follow_ups), dropped))


def _cuts_short(work: Work, running: Work) -> bool:
    """Return whether what runs is aborted for the sake of what was asked for: by any move, never by a prompt."""
    if isinstance(work, Compact):
        return work.at_once and isinstance(running, Prompt)
    return not isinstance(work, Prompt)
