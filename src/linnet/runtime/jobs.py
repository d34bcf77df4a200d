"""Carries out what the schedule, a pure machine in `core/loop/schedule.py`, decides: begins and aborts jobs, runs
background commands, answers requesters.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from threading import Condition
from typing import TYPE_CHECKING, TypeAlias

from linnet.core import commands
from linnet.core.events import JobKind, Settled
from linnet.core.loop import schedule_facts as facts
from linnet.core.loop.limits import Limits
from linnet.core.loop.schedule import Schedule
from linnet.core.loop.schedule_facts import Job
from linnet.errors import Closed, LinnetError
from linnet.runtime.broadcast import Action, Broadcast, act
from linnet.runtime.error_report import as_error, hand_over, later
from linnet.runtime.requester import PendingRequest, Requester, refusal
from linnet.runtime.sessions.storage import Storage
from linnet.runtime.settings.settings import LiveSettings
from linnet.runtime.tools.session_tools import SessionTools

if TYPE_CHECKING:
    from linnet.runtime.extensions.admission import Admission
    from linnet.runtime.run.active_job import ActiveJob, Outcome
    from linnet.runtime.sessions.moves import Moves

RunWork: TypeAlias = commands.Prompt | commands.Compact  # Work that has a thread.
NO_LIMITS = Limits()
PATIENCE = 20.0  # Seconds for a command of the client's to go on, when stdin has ended and all else is finished.


class Jobs:
    """Invariants: a prompt or compaction that began ends with exactly one Settled, and stops being active in the same
    step; every request is answered.

    The schedule is fed under the session's lock, and its effects are carried out before that is released: no event of
    another thread comes between a decision and what follows from it. What may block comes out as actions, which whoever
    took the lock does after releasing it.
    """

    def __init__(
        self,
        live: LiveSettings,
        session_tools: SessionTools,
        broadcast: Broadcast,
        storage: Storage,
        clock: Callable[[], int],
        new_session_id: Callable[[], str],
    ) -> None:
        self._live = live
        self._session_tools = session_tools
        self._broadcast = broadcast
        self._storage = storage
        self._clock = clock
        self._new_session_id = new_session_id
        self._schedule = Schedule(broadcast.state.queues)
        self._changed = Condition(broadcast.lock)  # Notified when a job ends and when nothing is left to do.
        self._requests: dict[int, PendingRequest] = {}  # All that is not answered yet, by number.
        self._running: ActiveJob | None = None  # A prompt or a compaction; moves are over before the lock is released.
        self._moves: Moves | None = None
        self.admission: Admission | None = None  # If there may be extensions.

    @property
    def busy(self) -> bool:
        """Return whether a job or a background command runs or waits."""
        with self._broadcast.lock:
            return self._schedule.busy

    @property
    def active(self) -> bool:
        """Return whether a job is active. Without the lock, that is true of a moment that may have passed."""
        return self._schedule.active is not None

    @property
    def closed(self) -> bool:
        """Return whether the session is closed or about to be. As for `active`, it is exact under the lock."""
        return self._schedule.closed

    def arrive(self, number: int, request: PendingRequest) -> None:
        """Take a command that has to wait for extensions; `admission` submits it when they let it pass."""
        assert request.command is not None
        with self._deciding() as feed:
            self._requests[number] = request
            feed(facts.Arrived(number, request.command))

    def tell(self, fact: facts.Fact) -> None:
        """Feed this fact to the schedule, and do what follows; with the lock held only if that is known to be
        nothing.
        """
        act(self.decide(fact))

    def abort(self, number: int) -> None:
        """Abort that job, if it is the active one."""
        self.tell(facts.AbortAsked(number))

    def want_extensions(self) -> None:
        """Have extensions loaded, if they are not."""
        self.tell(facts.ExtensionsWanted())

    def outdate_extensions(self, *, outdated: bool = True) -> None:
        """Have them read again before the next that needs them. Nothing follows at once, so the lock may be held."""
        self.tell(facts.ExtensionsOutdated(outdated=outdated))

    def end_input(self) -> None:
        """Take note that the client sends nothing any more."""
        self.tell(facts.InputEnded())

    def close(self) -> None:
        """Refuse what waits and abort what runs; nothing begins from here on."""
        self.tell(facts.CloseAsked())

    def decide(self, fact: facts.Fact, number: int | None = None, outcome: "Outcome | None" = None) -> Sequence[Action]:
        """Answer that command, if there is an outcome, and feed the schedule, in one step. Returns what to do next."""
        with self._broadcast.lock:
            if outcome is not None and (request := self._requests.pop(number or 0, None)) is not None:
                request.answer(outcome)
            actions = self._feed_locked(fact)
            # A command that was carried out at once, or refused, leaves nothing to wait for.
            if isinstance(fact, facts.SeenTo) and not self._schedule.holds(fact.number):
                self._requests.pop(fact.number, None)
            return actions

    def submit(self, number: int, work: commands.Work, requester: Requester, *, may_wait: bool) -> None:
        """Have work done when its turn comes. Raises LinnetError for a move that is bound to fail.

        A session to switch to is opened before that, without the session's lock: to read it may take long.
        """
        request = self._requests.get(number) or PendingRequest(requester)
        if not isinstance(work, commands.SwitchSession):
            self._submit(number, work, request, may_wait=may_wait)
            return
        moves = self._get_moves()
        with moves.switching:  # Taken before the session's lock, never with it held: it is held while a file is read.
            with self._broadcast.lock:
                others_wait = any(each.place is not None for each in self._requests.values())
            request.place = moves.fetch(work, others_wait=others_wait)
            self._submit(number, work, request, may_wait=may_wait)

    def launch(self, number: int, command: commands.Background, requester: Requester) -> None:
        """Begin a command that runs beside the jobs. Raises LinnetError if it cannot be begun."""
        from linnet.runtime.run.background import task

        with self._deciding() as feed:
            if self._schedule.closed:
                raise Closed
            prepared = task(command, self._live.now, self._broadcast, self._storage, self._session_tools, self._clock)
            request = self._requests.setdefault(number, PendingRequest(requester))
            request.task = prepared
            feed(facts.BackgroundSubmitted(number, command, self._broadcast.state.session_id))

    def interrupt_locked(self, command: commands.Interruption) -> list[Action]:
        """Return the actions that interrupt what the command is to interrupt, for the caller to do without the lock."""
        match command:
            case commands.Abort(keep):
                return self._feed_locked(facts.AbortAsked(keep=keep))
            case commands.AbortBash():
                return self._feed_locked(facts.BashAbortAsked())
            case commands.AbortRetry():
                end_wait = self._running.end_wait if self._running is not None else None
                return [end_wait] if end_wait is not None else []

    def follow_locked(self, requester: Requester) -> bool:
        """Have this requester answered when the job has ended that an abort would cut short now, if there is one.
        Returns whether there is.
        """
        if (number := self._schedule.next_aborted) is not None:
            self._requests[number].followers.append(requester)
        return number is not None

    def wait(self, timeout: float | None) -> None:
        """Wait until nothing runs and nothing waits, at most so many seconds."""
        with self._changed:
            self._changed.wait_for(lambda: not self._schedule.busy, timeout)

    def wait_inactive(self, timeout: float | None = None) -> None:
        """Wait until no job is active, at most so many seconds; without a timeout, until the session is closed."""
        with self._changed:
            self._changed.wait_for(lambda: not self.active or (timeout is None and self.closed), timeout)

    def abort_active(self) -> None:
        """Abort the job that is active, if one is. What was queued for others stays."""
        with self._deciding() as feed:
            if (active := self._schedule.active) is not None:
                feed(facts.AbortAsked(active.number))

    def check(self, move: commands.Move) -> None:
        """Raise LinnetError for a move that is bound to fail, before extensions are asked about it."""
        moves = self._get_moves()
        with self._broadcast.lock:
            if not (self._schedule.leaving or self._schedule.closed):  # After another move, it may be possible.
                moves.check_locked(move)

    def abandon(self) -> None:
        """Refuse background commands that were interrupted and have not ended: nobody waits for them any more."""
        with self._broadcast.lock:
            for number in [number for number, each in self._requests.items() if each.task is not None]:
                self._requests.pop(number).refuse(refusal("closing"))

    @contextmanager
    def _deciding(self) -> Iterator[Callable[[facts.Fact], None]]:
        """Hold the lock and yield a function that feeds the schedule; then release it and do what follows."""
        actions: list[Action] = []
        with self._broadcast.lock:
            yield lambda fact: actions.extend(self._feed_locked(fact))
        act(actions)

    def _feed_locked(self, fact: facts.Fact) -> list[Action]:
        return self._carry_out_locked(self._schedule.feed(fact))

    def _carry_out_locked(self, effects: list[facts.Effect]) -> list[Action]:
        """Carry out these effects, and those of what they lead to, in order. Returns what to do without the lock."""
        actions: list[Action] = []
        todo = deque(effects)
        while todo:  # Not by recursion: a move that ends at once begins the next job, and any number may wait.
            match todo.popleft():
                case facts.Accept(number, queued):
                    self._requests[number].requester.accepted(queued=queued, asked=self._session_tools.hooks_input)
                case facts.Refuse(number, why):
                    self._requests.pop(number).refuse(why if isinstance(why, LinnetError) else refusal(why))
                case facts.Begin(job, doomed):
                    if doomed:
                        self._requests[job.number].cancel.set()  # Nothing blocks in it yet.
                    todo.extend(self._begin_locked(job, actions))
                case facts.Launch(number):
                    actions.append(partial(self._launch, number, self._requests[number]))
                case facts.Interrupt(number):
                    if (interrupted := self._requests.get(number)) is not None:
                        if self._running is not None and self._running.cancel is interrupted.cancel:
                            self._running.tell_interrupted_locked()  # Before it is: its last events come after this.
                        actions.append(interrupted.cancel.set)  # It closes sockets and kills trees: without the lock.
                case facts.Linger():
                    with suppress(LinnetError):
                        later(PATIENCE, lambda: self.tell(facts.PatienceOver()))
                case facts.Tell(event):
                    self._broadcast.publish_locked([event])
                case facts.Idle():
                    self._changed.notify_all()
                    self._broadcast.idle_locked()
                case facts.CallOff(number):
                    self._get_moves().call_off_locked(self._requests.pop(number))
                case effect:
                    assert self.admission is not None
                    actions.append(self.admission.action_locked(effect, self._requests))
        return actions

    def _submit(self, number: int, work: commands.Work, request: PendingRequest, *, may_wait: bool) -> None:
        """Feed work to the schedule. Raises LinnetError for a move that is bound to fail."""
        with self._broadcast.lock:
            if isinstance(work, commands.Move) and not (self._schedule.leaving or self._schedule.closed):
                try:
                    self._get_moves().check_locked(work)
                except LinnetError:
                    request.let_go()  # It may have been fetched when that still looked possible.
                    raise
            self._requests[number] = request
            job = Job(number, work, self._clock())
            actions = self._feed_locked(facts.Submitted(job, self._broadcast.state.streaming, may_wait))
            if not self._schedule.holds(number):  # It was said to the active job, and that is all that becomes of it.
                self._requests.pop(number, None)
        act(actions)

    def _begin_locked(self, job: Job, actions: list[Action]) -> list[facts.Effect]:
        """Begin a job, and add to `actions` what to do without the lock. Returns the effects that follow."""
        request = self._requests[job.number]
        request.requester.started()
        work = job.work
        if isinstance(work, commands.Prompt | commands.Compact):
            return self._begin_run_locked(job.number, work, request, actions)
        self._get_moves().move_locked(work, request)
        del self._requests[job.number]
        return self._schedule.feed(facts.JobEnded())

    def _begin_run_locked(
        self, number: int, work: RunWork, request: PendingRequest, actions: list[Action]
    ) -> list[facts.Effect]:
        kind = _kind(work)
        self._broadcast.publish_locked([work.started(self._broadcast.state.spent)])
        try:
            from linnet.runtime.run.active_job import ActiveJob

            self._broadcast.state.conversation.read()
            # What the job is made of is fixed now; a change of model from here on is for the next one.
            running = ActiveJob(
                self._broadcast,
                request,
                self._clock,
                lambda outcome: self._end_locked(number, outcome),
                self._live.now.limits if kind == "prompt" else NO_LIMITS,
            )
            running.begin_locked(work)
            if running.limits.seconds is not None:
                request.timer = later(running.limits.seconds, lambda: self._time_up(number, running))
        except Exception as fault:
            return self._break_locked(number, kind, as_error(fault, "a run could not begin"))
        self._running = running
        actions.append(partial(self._hand_over, number, work, running))
        return []

    def _hand_over(self, number: int, work: RunWork, running: "ActiveJob") -> None:
        """Have a thread run the job. Not under the lock: to start one takes until a processor is free."""
        try:
            hand_over("linnet-run", lambda: self._run(number, work, running))
        except LinnetError as error:
            self._broke(number, work, running, error)

    def _run(self, number: int, work: RunWork, running: "ActiveJob") -> None:
        """Carry out a job in a thread of its own, and then see that what it wrote is on disk."""
        journal = self._storage.journal  # Looked up first: as the job ends, a move that waited may enter another.
        try:
            from linnet.runtime.run.worker import Worker

            Worker(running, self._session_tools, self._live.now, work).carry_out()
        except Exception as fault:
            self._broke(number, work, running, as_error(fault, "a run broke"))
        if journal is not None:
            journal.sync()

    def _broke(self, number: int, work: RunWork, running: "ActiveJob", error: LinnetError) -> None:
        """End a run that cannot go on, unless it has ended. Not to be called under the lock."""
        actions: list[Action] = []
        with self._broadcast.lock:
            if self._running is running:
                # First what it may have begun: nobody could abort that any more.
                actions = [running.cancel.set, *self._carry_out_locked(self._break_locked(number, _kind(work), error))]
        act(actions)

    def _time_up(self, number: int, running: "ActiveJob") -> None:
        """Interrupt a job because its seconds are over. Called in the thread of a timer."""
        with self._deciding() as feed:
            if self._running is running and not running.cancel.is_set:  # Or else it has ended, or an abort came first.
                running.limit = running.limits.out_of_time()
                feed(facts.AbortAsked(number))

    def _end_locked(self, number: int, outcome: "Outcome") -> list[Action]:
        """Answer whoever asked for a job that has ended, and begin the next. Returns what to do without the lock."""
        self._running = None
        request = self._requests.pop(number)
        request.stop_timer()
        if isinstance(outcome, commands.Compacted):
            self._storage.sync()  # Whoever asked for it is told that it is done.
        request.answer(outcome)  # Before the schedule hears of it: the next job's first event comes after the answer.
        actions = self._feed_locked(facts.JobEnded())
        self._changed.notify_all()
        return actions

    def _break_locked(self, number: int, kind: JobKind, error: LinnetError) -> list[facts.Effect]:
        """Settle a job that cannot go on, and refuse it with this error. Returns the effects that follow."""
        self._running = None
        self._broadcast.publish_locked([Settled(kind, "error", str(error))])
        request = self._requests.pop(number)
        request.stop_timer()
        request.refuse(error)
        self._changed.notify_all()
        return self._schedule.feed(facts.JobEnded())

    def _launch(self, number: int, request: PendingRequest) -> None:
        """Have a thread run a background command, or refuse it if there is none. Not to be called under the lock."""
        try:
            hand_over("linnet-background", lambda: self._run_in_background(number, request))
        except LinnetError as error:
            with self._deciding() as feed:
                if self._requests.pop(number, None) is not None:
                    request.refuse(error)
                feed(facts.BackgroundEnded(number))

    def _run_in_background(self, number: int, request: PendingRequest) -> None:
        """Run a background command in a thread of its own. Its events are published, and saved, before its answer."""
        outcome: Outcome
        assert request.task is not None
        try:
            outcome = request.task(request.cancel)
        except Exception as fault:
            outcome = as_error(fault, "a background command broke")
        with self._broadcast.lock:
            abandoned = self._requests.pop(number, None) is None  # Then it was answered, and nothing is kept of it.
            run = outcome.run if isinstance(outcome, commands.BashDone) and not abandoned else None
            # What follows is told, and nothing of it is left to be done without the lock: no job begins by this.
            self._feed_locked(facts.BackgroundEnded(number, self._broadcast.state.session_id, run))
            if not abandoned:
                request.answer(outcome)
            journal = self._storage.journal
        if journal is not None:
            journal.sync()

    def _get_moves(self) -> "Moves":
        """Return the one object that moves, made when it is first needed: few sessions do."""
        with self._broadcast.lock:
            if self._moves is None:
                from linnet.runtime.sessions.moves import Moves

                self._moves = Moves(self._broadcast, self._storage, self._live, self._new_session_id)
            return self._moves


def _kind(work: RunWork) -> JobKind:
    return "prompt" if isinstance(work, commands.Prompt) else "compact"
