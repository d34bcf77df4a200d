"""What runs, what waits, what is cut short and what is dropped, as a machine: facts in, effects out.

It never waits and does nothing by itself, so any order of facts can be tried. Whoever carries out its effects feeds it
the facts that follow from them, one at a time.
"""

from collections import deque
from typing import Literal, TypeAlias, assert_never

from msgspec import Struct

from linnet.core.commands import Background, Bash, Compact, Move, Prompt, RunCommand, Work
from linnet.core.events import BashHeld, BashRan, Event, QueueChanged
from linnet.core.inputs import Input
from linnet.core.messages import BashRun
from linnet.core.queues import Queues

Why: TypeAlias = Literal["busy", "idle", "closed", "closing"]


class Job(Struct, frozen=True):
    """Work that somebody asked for. `number` is unique; `time` is when it was asked for."""

    number: int
    work: Work
    time: int = 0


class Submitted(Struct, frozen=True):
    """`listening`: the agent is at work, so that what is said now can be said to it. `may_wait`: or else it is refused
    while another job is active.
    """

    job: Job
    listening: bool = False
    may_wait: bool = True


class JobEnded(Struct, frozen=True):
    """The active job is over."""


class AbortAsked(Struct, frozen=True):
    """Of the active job, and of commands of extensions; with a number, of that job or background command alone, whether
    it is active or waits.
    """

    number: int | None = None


class BackgroundSubmitted(Struct, frozen=True):
    """`session` is the one that is open."""

    number: int
    command: Background
    session: str = ""


class BackgroundEnded(Struct, frozen=True):
    """`session` is the one that is open by now. `run` is what came of a command."""

    number: int
    session: str = ""
    run: BashRun | None = None


class BashAbortAsked(Struct, frozen=True):
    pass


class InputEnded(Struct, frozen=True):
    """Nobody can ask for anything any more, nor abort what runs."""


class PatienceOver(Struct, frozen=True):
    """The time that `Linger` asked for is over."""


class CloseAsked(Struct, frozen=True):
    pass


class Accept(Struct, frozen=True):
    """Tell whoever asked that it will be seen to."""

    number: int


class Refuse(Struct, frozen=True):
    number: int
    why: Why


class Begin(Struct, frozen=True):
    """This job is the active one from here on."""

    job: Job


class Launch(Struct, frozen=True):
    """Begin a background command."""

    number: int


class Interrupt(Struct, frozen=True):
    """Make whatever blocks in it stop. It still ends by itself, with JobEnded or BackgroundEnded."""

    number: int


class Linger(Struct, frozen=True):
    """Only commands are left that nobody can abort any more: have patience with them for a while."""


class Tell(Struct, frozen=True):
    event: Event


class Idle(Struct, frozen=True):
    """Tell everybody that nothing is active, waits, or runs in the background any more."""


Fact: TypeAlias = (
    Submitted
    | JobEnded
    | AbortAsked
    | BackgroundSubmitted
    | BackgroundEnded
    | BashAbortAsked
    | InputEnded
    | PatienceOver
    | CloseAsked
)
Effect: TypeAlias = Accept | Refuse | Begin | Launch | Interrupt | Linger | Tell | Idle


class _Background(Struct):
    """`session` is where it began; empty between two sessions, when it belongs to the one that is led to."""

    command: Background
    session: str


class Schedule:
    """Invariants: one job is active at a time; waiting ones begin in the order they came; each job that is submitted is
    accepted or refused, and each that was accepted begins, is said to the active one, or is refused on closing. A job
    that is interrupted hears nothing more that is said; what had been said to it is dropped, and that is told.
    """

    def __init__(self, queues: Queues) -> None:
        self._queues = queues
        self._active: Job | None = None
        self._is_ending = False  # The active job: what is said from now on is not said to it.
        self._waiting: deque[Job] = deque()
        self._doomed: set[int] = set()  # Waiting jobs that are interrupted as soon as they begin.
        self._background: dict[int, _Background] = {}
        self._ran: list[BashRun] = []  # Commands that ended while a job was active.
        self._input_ended = False
        self._lingers = False
        self._closed = False

    @property
    def active(self) -> Job | None:
        return self._active

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def busy(self) -> bool:
        return self._active is not None or bool(self._background)

    @property
    def leaving(self) -> bool:
        """A move waits: what is asked for now is about the place that it leads to."""
        return any(isinstance(job.work, Move) for job in self._waiting)

    def holds(self, number: int) -> bool:
        """Whether this job is active or waits."""
        return any(job is not None and job.number == number for job in (self._active, *self._waiting))

    def feed(self, fact: Fact) -> list[Effect]:
        effects = self._feed(fact)
        # Whoever began a command and left would otherwise keep the process for as long as the command likes.
        alone = self._active is None and not self._closed and self._commands()
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
            case AbortAsked(number):
                return self._abort(number)
            case BackgroundSubmitted(number, command, session):
                if self._closed:
                    return [Refuse(number, "closed")]
                self._background[number] = _Background(command, "" if self.leaving else session)
                return [Launch(number)]
            case BackgroundEnded(number, session, run):
                return self._background_ended(number, session, run)
            case BashAbortAsked():
                return self._interrupt_background(Bash)
            case InputEnded():
                self._input_ended = True
                return []
            case PatienceOver():
                self._lingers = False
                return [] if self._active is not None else self._interrupt_commands()
            case CloseAsked():
                return self._close()
            case _:
                assert_never(fact)

    def _submitted(self, fact: Submitted) -> list[Effect]:
        job, work = fact.job, fact.job.work
        if self._closed:
            return [Refuse(job.number, "closed")]
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
            if isinstance(work, Move):  # What waits before it might take for ever.
                doomed = [job.number for job in self._waiting if isinstance(job.work, Prompt | Compact)]
                self._doomed.update(doomed)
                effects += map(Interrupt, doomed)
        self._waiting.append(job)
        return effects

    @property
    def _hears(self) -> bool:
        """Whether what is said now is said to the active job: not if it is being ended, for whatever reason."""
        return not self._is_ending and not self._waiting

    def _said(self, job: Job, prompt: Prompt) -> list[Effect]:
        if prompt.when_busy == "refuse":
            return [Refuse(job.number, "busy")]
        queues = self._queues
        queue = queues.steering if prompt.when_busy == "steer" else queues.follow_ups
        queue.append(said(prompt, job.time))
        return [Accept(job.number), self._tell_queue()]

    def _begin(self, job: Job) -> list[Effect]:
        self._active = job
        self._is_ending = job.number in self._doomed
        self._doomed.discard(job.number)
        return [Begin(job)]

    def _abort(self, number: int | None) -> list[Effect]:
        if number is None:
            return [*self._cut_short(), *self._interrupt_background(RunCommand)]
        if self._active is not None and number == self._active.number:
            return self._cut_short()
        if number in self._background:
            return [Interrupt(number)]
        for job in self._waiting:
            if job.number == number:
                self._doomed.add(job.number)
                return [Interrupt(job.number)]
        return []

    def _cut_short(self) -> list[Effect]:
        if self._active is None:
            return []
        dropped = self._queues.clear()
        told: list[Effect] = [self._tell_queue(tuple(dropped))] if dropped else []
        self._is_ending = True
        return [*told, Interrupt(self._active.number)]

    def _ended(self) -> list[Effect]:
        self._active = None
        ran, self._ran = self._ran, []
        told: list[Effect] = [Tell(BashRan(run)) for run in ran]
        if self._waiting:
            return [*told, *self._begin(self._waiting.popleft())]
        return [*told, *self._idle()]

    def _background_ended(self, number: int, session: str, run: BashRun | None) -> list[Effect]:
        """A command that ends in another session than it began in is not told there."""
        begun = self._background.pop(number, None)
        if begun is None:
            return []
        told: list[Effect] = []
        if run is not None and begun.session in ("", session):
            if self._active is None:
                told = [Tell(BashRan(run))]
            else:
                self._ran.append(run)
                told = [Tell(BashHeld(run))]
        return [*told, *self._idle()]

    def _interrupt_commands(self) -> list[Effect]:
        return [Interrupt(number) for number in self._commands()]

    def _interrupt_background(self, kind: type[Background]) -> list[Effect]:
        return [Interrupt(number) for number in self._commands(kind)]

    def _commands(self, *kinds: type[Background]) -> list[int]:
        """What runs in the background and may take for ever: commands of the client's, and of extensions."""
        wanted = kinds or (Bash, RunCommand)
        return [number for number, each in self._background.items() if isinstance(each.command, wanted)]

    def _close(self) -> list[Effect]:
        if self._closed:
            return []
        self._closed = True
        waiting, self._waiting = self._waiting, deque()
        effects: list[Effect] = [Refuse(job.number, "closing") for job in waiting]
        # A prompt that was accepted at once cannot be refused any more, but it can be said that it was dropped.
        lost = [
            said(job.work, job.time) for job in waiting if isinstance(job.work, Prompt) and job.work.when_busy != "wait"
        ]
        if lost:
            effects.append(self._tell_queue(tuple(lost)))
        return [*effects, *self._cut_short(), *self._interrupt_commands()]

    def _idle(self) -> list[Effect]:
        return [] if self.busy else [Idle()]

    def _tell_queue(self, dropped: tuple[Input, ...] = ()) -> Effect:
        return Tell(QueueChanged(tuple(self._queues.steering), tuple(self._queues.follow_ups), dropped))


def said(prompt: Prompt, time: int) -> Input:
    return Input(prompt.text, prompt.images, time, prompt.kind, prompt.details)


def _cuts_short(work: Work, running: Work) -> bool:
    """Whether what runs is aborted for the sake of what was asked for."""
    if isinstance(work, Compact):
        return work.at_once and isinstance(running, Prompt)
    return not isinstance(work, Prompt)
