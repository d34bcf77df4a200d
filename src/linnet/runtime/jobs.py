"""Carries out what the schedule decides: jobs begin and are aborted, background commands run, requesters are told."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from threading import Condition, Thread, Timer
from typing import TYPE_CHECKING, TypeAlias, assert_never

from linnet.core import commands, schedule
from linnet.core.events import JobKind, JobStarted, Settled
from linnet.core.limits import Limits
from linnet.core.schedule import Job, Schedule
from linnet.errors import Busy, Closed, LinnetError, NotRunning
from linnet.runtime.broadcast import Broadcast
from linnet.runtime.cancel import CancelToken
from linnet.runtime.fault import as_error, later, start
from linnet.runtime.requester import Requester
from linnet.runtime.settings import Settings
from linnet.runtime.storage import Storage
from linnet.runtime.toolbox import Toolbox

if TYPE_CHECKING:
    from linnet.runtime.active_job import ActiveJob, Outcome
    from linnet.runtime.background import Task
    from linnet.runtime.door import Door
    from linnet.runtime.moves import Moves
    from linnet.runtime.sessions import Place

SHUTTING_DOWN = "the agent is shutting down"
NO_LIMITS = Limits()
PATIENCE = 20.0  # Seconds for a command of the client's to go on, when stdin has ended and all else is finished.
Interruption: TypeAlias = Callable[[], None]


class _Request:
    """Something that takes its time: who asked for it, how to abort it, and what was made ready for it."""

    def __init__(self, requester: Requester, task: "Task | None" = None) -> None:
        self.requester = requester
        self.cancel = CancelToken()
        self.task = task
        self.place: Place | None = None
        self.timer: Timer | None = None

    def stop_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()

    def refuse(self, error: LinnetError) -> None:
        if self.place is not None:
            self.place.store.log.close()
        self.requester.refused(error)


class Jobs:
    """Invariants: an active prompt or compaction ends with exactly one Settled, at which moment it stops being active;
    whatever was asked for is answered. What interrupts is done without the lock.
    """

    def __init__(
        self,
        settings: Settings,
        toolbox: Toolbox,
        broadcast: Broadcast,
        storage: Storage,
        clock: Callable[[], int],
        new_session_id: Callable[[], str],
    ) -> None:
        self._settings = settings
        self._toolbox = toolbox
        self._broadcast = broadcast
        self._storage = storage
        self._clock = clock
        self._new_session_id = new_session_id
        self._schedule = Schedule(broadcast.state.queues)
        self._changed = Condition(broadcast.lock)
        self._numbers = count(1)
        self._requests: dict[int, _Request] = {}
        self._running: ActiveJob | None = None
        self._moves: Moves | None = None
        self.lock = broadcast.lock
        self.door: Door | None = None  # Where work waits before it comes here, if there are extensions.

    def adopt(self, settings: Settings) -> None:
        """The next job is for these. Whoever calls this holds the lock, and no job is active."""
        self._settings = settings
        self._moves = None

    def new_number(self) -> int:
        return next(self._numbers)

    @property
    def busy(self) -> bool:
        with self._broadcast.lock:
            return self._busy

    @property
    def _busy(self) -> bool:
        return self._schedule.busy or (self.door is not None and self.door.busy)

    @property
    def active(self) -> bool:
        return self._schedule.active is not None

    @property
    def closed(self) -> bool:
        return self._schedule.closed

    def submit(self, number: int, work: commands.Work, requester: Requester, *, may_wait: bool) -> None:
        """Raises LinnetError for a move that is bound to fail."""
        request = _Request(requester)
        if not isinstance(work, commands.SwitchSession):
            self._submit(number, work, request, may_wait=may_wait)
            return
        moves = self._get_moves()
        with moves.switching:
            with self._broadcast.lock:
                others_wait = any(each.place is not None for each in self._requests.values())
            request.place = moves.fetch(work, others_wait=others_wait)
            self._submit(number, work, request, may_wait=may_wait)

    def launch(self, number: int, command: commands.Background, requester: Requester) -> None:
        """Raises LinnetError for what cannot be begun."""
        from linnet.runtime.background import task

        with self._deciding() as feed:
            if self._schedule.closed:
                raise Closed
            prepared = task(command, self._settings, self._storage, self._toolbox, self._clock)
            self._requests[number] = _Request(requester, prepared)
            feed(schedule.BackgroundSubmitted(number, command, self._broadcast.state.session_id))

    def control(self, command: commands.Control) -> list[Interruption]:
        """What to do, as soon as the caller has let go of the lock, to interrupt what is to be interrupted."""
        match command:
            case commands.Abort():
                at_the_door = self.door.abort() if self.door is not None else []
                return [*at_the_door, *self._feed(schedule.AbortAsked())]
            case commands.AbortBash():
                return self._feed(schedule.BashAbortAsked())
            case commands.AbortRetry():
                end_wait = self._running.end_wait if self._running is not None else None
                return [end_wait] if end_wait is not None else []
            case commands.Clear() | commands.AnswerQuestion() | commands.ReturnTool() | commands.ReportToolProgress():
                return []
            case _:
                assert_never(command)

    def abort(self, number: int) -> None:
        with self._deciding() as feed:
            if self.door is not None and self.door.doom(number):
                return
            feed(schedule.AbortAsked(number))

    def end_input(self) -> None:
        """Nobody can abort a command any more: one that does not end is not waited for."""
        with self._deciding() as feed:
            feed(schedule.InputEnded())

    def close(self) -> None:
        with self._deciding() as feed:
            feed(schedule.CloseAsked())

    def wait(self, timeout: float | None) -> None:
        """Until nothing runs and nothing waits, or the time is over."""
        with self._changed:
            self._changed.wait_for(lambda: not self._busy, timeout)

    def wait_inactive(self, timeout: float | None = None) -> None:
        """Until no job is active, or the time is over; without a time, until the session is closed."""
        with self._changed:
            self._changed.wait_for(lambda: not self.active or (timeout is None and self.closed), timeout)

    def abort_active(self) -> None:
        with self._deciding() as feed:
            if self._schedule.active is not None:
                feed(schedule.AbortAsked(self._schedule.active.number))

    def look_idle(self) -> None:
        """Tell everybody if nothing is left to do. Called under the lock."""
        if not self._busy:
            self._changed.notify_all()
            self._broadcast.idle()

    def check(self, move: commands.Move) -> None:
        """Raises LinnetError for one that is bound to fail."""
        moves = self._get_moves()
        with self._broadcast.lock:
            if not (self._schedule.leaving or self._schedule.closed):
                moves.check(move)

    def called_off(self, move: commands.Move) -> commands.Answer:
        """What a move is answered that an extension cancelled. Called under the lock."""
        return self._get_moves().called_off(move)

    def abandon(self) -> None:
        """Answer background commands that were interrupted and have not ended yet: nobody waits for them any more."""
        with self._broadcast.lock:
            for number in [number for number, each in self._requests.items() if each.task is not None]:
                self._requests.pop(number).refuse(Closed(SHUTTING_DOWN))

    @contextmanager
    def _deciding(self) -> Iterator[Callable[[schedule.Fact], None]]:
        """Under the lock, something to feed the schedule with. What it interrupts is interrupted after that."""
        interruptions: list[Interruption] = []
        with self._broadcast.lock:
            yield lambda fact: interruptions.extend(self._feed(fact))
        for interrupt in interruptions:
            interrupt()

    def _feed(self, fact: schedule.Fact) -> list[Interruption]:
        return self._carry_out(self._schedule.feed(fact))

    def _carry_out(self, effects: list[schedule.Effect]) -> list[Interruption]:
        interruptions: list[Interruption] = []
        todo = deque(effects)
        while todo:
            match todo.popleft():
                case schedule.Accept(number):
                    self._requests[number].requester.accepted()
                case schedule.Refuse(number, why):
                    self._requests.pop(number).refuse(_refusal(why))
                case schedule.Begin(job):
                    todo.extend(self._begin(job))
                case schedule.Launch(number):
                    todo.extend(self._launch(number))
                case schedule.Interrupt(number):
                    interruptions.append(self._requests[number].cancel.set)
                case schedule.Linger():
                    with suppress(LinnetError):
                        later(PATIENCE, self._lose_patience)
                case schedule.Tell(event):
                    self._broadcast.publish([event])
                case schedule.Idle():
                    self._changed.notify_all()
                    self._broadcast.idle()
        return interruptions

    def _submit(self, number: int, work: commands.Work, request: _Request, *, may_wait: bool) -> None:
        with self._deciding() as feed:
            if isinstance(work, commands.Move) and not (self._schedule.leaving or self._schedule.closed):
                self._get_moves().check(work)
            self._requests[number] = request
            if self.door is not None and self.door.is_doomed(number):
                request.cancel.set()  # Nothing blocks in it yet.
            job = Job(number, work, self._clock())
            feed(schedule.Submitted(job, self._broadcast.state.streaming, may_wait))
            if not self._schedule.holds(number):  # It was said to the active job, and that is all that becomes of it.
                self._requests.pop(number, None)

    def _begin(self, job: Job) -> list[schedule.Effect]:
        """What goes wrong here is told to whoever asked: it must not take the session along."""
        request = self._requests[job.number]
        request.requester.started()
        work = job.work
        if isinstance(work, commands.Prompt | commands.Compact):
            return self._begin_run(job.number, work, request)
        self._move(work, request)
        del self._requests[job.number]
        return self._schedule.feed(schedule.JobEnded())

    def _begin_run(
        self, number: int, work: commands.Prompt | commands.Compact, request: _Request
    ) -> list[schedule.Effect]:
        kind: JobKind = "prompt" if isinstance(work, commands.Prompt) else "compact"
        self._broadcast.publish([JobStarted(kind)])
        try:
            from linnet.runtime.active_job import ActiveJob

            self._broadcast.state.conversation.read()
            # What the job is made of is fixed now; a change of model from here on is for the next one.
            running = ActiveJob(
                self._broadcast,
                request.cancel,
                self._clock,
                lambda outcome: self._end(number, outcome),
                self._settings.limits if kind == "prompt" else NO_LIMITS,
            )
            if running.limits.seconds is not None:
                request.timer = later(running.limits.seconds, lambda: self._time_up(number, running))
            thread = Thread(target=self._run, args=(number, work, running), name="linnet-run", daemon=True)
            self._running = running
            start(thread)
        except Exception as fault:
            return self._break(number, kind, as_error(fault, "a run could not begin"))
        return []

    def _run(self, number: int, work: commands.Prompt | commands.Compact, running: "ActiveJob") -> None:
        """The thread of a job."""
        journal = self._storage.journal
        try:
            from linnet.runtime.worker import Worker

            form = work.form if isinstance(work, commands.Prompt) else None
            worker = Worker(running, self._toolbox, self._settings, form)
            if isinstance(work, commands.Prompt):
                worker.prompt(schedule.said(work, running.began), commands=work.slash == "in_turn")
            else:
                worker.compact(work)
        except Exception as fault:
            with self._broadcast.lock:
                if self._running is running:
                    kind: JobKind = "prompt" if isinstance(work, commands.Prompt) else "compact"
                    self._carry_out(self._break(number, kind, as_error(fault, "a run broke")))
        if journal is not None:
            journal.sync()

    def _time_up(self, number: int, running: "ActiveJob") -> None:
        """The thread of a timer: the job is interrupted as by an abort, but for another reason."""
        with self._deciding() as feed:
            if self._running is running and not running.cancel.is_set:
                running.limit = running.limits.out_of_time()
                feed(schedule.AbortAsked(number))

    def _lose_patience(self) -> None:
        with self._deciding() as feed:
            feed(schedule.PatienceOver())

    def _end(self, number: int, outcome: "Outcome") -> None:
        self._running = None
        request = self._requests.pop(number)
        request.stop_timer()
        requester = request.requester
        if isinstance(outcome, LinnetError):
            requester.refused(outcome)
        else:
            if isinstance(outcome, commands.Compacted):
                self._storage.sync()  # Whoever asked for it is told that it is done.
            requester.finished(outcome)
        self._feed(schedule.JobEnded())
        self._changed.notify_all()

    def _break(self, number: int, kind: JobKind, error: LinnetError) -> list[schedule.Effect]:
        """End a job that cannot go on."""
        self._running = None
        self._broadcast.publish([Settled(kind, "error", str(error))])
        request = self._requests.pop(number)
        request.stop_timer()
        request.refuse(error)
        self._changed.notify_all()
        return self._schedule.feed(schedule.JobEnded())

    def _move(self, work: commands.Move, request: _Request) -> None:
        try:
            answer = self._get_moves().carry_out(work, request.place)
        except Exception as fault:
            request.refuse(as_error(fault, "a session could not be opened"))
            return
        self._storage.sync()  # What is answered is on disk.
        request.requester.finished(answer)

    def _launch(self, number: int) -> list[schedule.Effect]:
        request = self._requests[number]
        try:
            start(Thread(target=self._run_in_background, args=(number, request), name="linnet-background", daemon=True))
        except LinnetError as error:
            self._requests.pop(number).refuse(error)
            return self._schedule.feed(schedule.BackgroundEnded(number))
        return []

    def _run_in_background(self, number: int, request: _Request) -> None:
        """The thread of a background command. What is answered has been told, and saved."""
        outcome: Outcome
        assert request.task is not None
        try:
            outcome = request.task(request.cancel)
        except Exception as fault:
            outcome = as_error(fault, "a background command broke")
        run = outcome.run if isinstance(outcome, commands.BashDone) else None
        with self._broadcast.lock:
            abandoned = self._requests.pop(number, None) is None  # Then it was answered, and nothing is kept of it.
            kept = None if abandoned else run
            self._feed(schedule.BackgroundEnded(number, self._broadcast.state.session_id, kept))
            if abandoned:
                pass
            elif isinstance(outcome, LinnetError):
                request.requester.refused(outcome)
            else:
                request.requester.finished(outcome)
            journal = self._storage.journal
        if journal is not None:
            journal.sync()

    def _get_moves(self) -> "Moves":
        with self._broadcast.lock:
            if self._moves is None:
                from linnet.runtime.moves import Moves

                self._moves = Moves(self._broadcast, self._storage, self._settings.accounts, self._new_session_id)
            return self._moves


def _refusal(why: schedule.Why) -> LinnetError:
    kinds = {"busy": Busy, "idle": NotRunning, "closed": Closed}
    return kinds[why]() if why in kinds else Closed(SHUTTING_DOWN)
