"""One conversation: what has been said, what is running, what waits. How it is told to anybody is not known here."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from threading import Condition, Lock, RLock, Thread
from typing import TYPE_CHECKING

from linnet.core import commands
from linnet.core.events import BashRan, Event, JobKind, QueueChanged, Settled
from linnet.core.messages import BashRun, UserMessage
from linnet.errors import Busy, Closed
from linnet.runtime.cancel import CancelToken
from linnet.runtime.config import Settings
from linnet.runtime.fault import explained, start
from linnet.runtime.ids import entry_id, session_id
from linnet.runtime.job import Job
from linnet.runtime.listener import Listener
from linnet.runtime.state import State

if TYPE_CHECKING:
    from linnet.core.conversation import Conversation
    from linnet.runtime.acting import Acting
    from linnet.runtime.background import Errand
    from linnet.runtime.journal import Journal
    from linnet.runtime.resources import Resources

SHUTTING_DOWN = "the agent is shutting down"
_IN_THE_FILE = (commands.GetBranchMessages, commands.GetTree, commands.GetEntries, commands.SetSessionName)


class Session:
    """State changes happen under one lock, and whoever is told of them is told in their order.

    Invariants: one job is active at a time; waiting ones start in the order they came; an active one ends with exactly
    one Settled, at which moment it stops being active. A run works on the conversation it started with: if that is
    cleared meanwhile, the run goes on apart and leaves no trace in the new one.
    """

    def __init__(
        self,
        settings: Settings,
        listener: Listener,
        build: Callable[[], "Resources"],
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        new_id: Callable[[], str] = entry_id,
        new_session_id: Callable[[], str] = session_id,
    ) -> None:
        """Raises SessionError if a session was asked for that cannot be used."""
        self.settings = settings
        self.clock = clock
        self.listener = listener
        self._build = build
        self.lock = RLock()
        self._idle = Condition(self.lock)
        self._state = State(settings, clock, new_id, new_session_id, listener.hear)
        self._active: Job | None = None
        self._waiting: deque[Job] = deque()
        self._commands: set[CancelToken] = set()
        self._errands = 0  # Commands among them.
        self._ran: list[BashRun] = []  # Commands that ended while a job was active.
        self.end_wait: Callable[[], None] | None = None
        self._closed = False
        self._ready = RLock()
        self._switching = Lock()  # Taken before `lock`, so that what one switch fetched is not in the way of another.
        self._resources: Resources | None = None

    def submit(self, job: Job, *, queue: bool = True) -> None:
        """Start it, let it wait its turn, or say it to the agent that is working. Raises Busy where it may not.

        A job is active from here on: an abort that follows will find it.
        """
        if isinstance(job.work, commands.SwitchSession):
            with self._switching:
                self._fetch(job, job.work)
                self._submit(job, queue=queue)
        else:
            self._submit(job, queue=queue)

    def _submit(self, job: Job, *, queue: bool) -> None:
        ended: list[CancelToken | None] = []
        work = job.work
        with self.lock:
            if self._closed:
                job.drop(SHUTTING_DOWN)
                raise Closed
            self._check(work)
            if self._active is None:
                job.accepted()
                self._begin(job)
            elif not queue:
                job.drop("")
                raise Busy
            elif isinstance(work, commands.Prompt) and work.when_busy != "wait" and self._is_listening():
                if work.when_busy == "refuse":
                    raise Busy
                job.accepted()
                self._say(work)
            else:
                job.accepted()
                if _cuts_short(work, self._active.work):
                    ended += [self._interrupt(), *self._end_waiting(work)]
                self._waiting.append(job)
        for token in ended:
            if token is not None:
                token.set()

    def cancel(self, job: Job) -> None:
        """Abort it, if it is what runs."""
        with self.lock:
            token = self._interrupt() if self._active is job else None
        if token is not None:
            token.set()

    def ask(self, query: commands.Query, deliver: Callable[[commands.Answer], None]) -> None:
        """Answer at once. `deliver` runs under the lock: an answer keeps its place among the events around it."""
        actions: list[Callable[[], None]] = []
        with self.lock:
            if self._closed and isinstance(query, _IN_THE_FILE):
                raise Closed
            deliver(self._state.answer(query, busy=self._active is not None))
            if isinstance(query, commands.Abort):
                interrupted = self._interrupt()
                actions = [interrupted.set] if interrupted is not None else []
            elif isinstance(query, commands.AbortRetry):
                actions = [self.end_wait] if self.end_wait is not None else []
            elif isinstance(query, commands.AbortBash):
                actions = [token.set for token in self._commands]
        for action in actions:
            action()  # Not under the lock: it may have a socket to close and a process tree to kill.

    def aside(
        self, command: commands.Aside, finished: Callable[[commands.Answer], None], refused: Callable[[str], None]
    ) -> None:
        """Do it now, beside whatever else runs. The model is told of a command with the next prompt."""
        from linnet.runtime.background import errand

        token = CancelToken()
        with self.lock:
            if self._closed:
                raise Closed
            work = errand(command, self.settings.cwd, self._state, self._get_resources, self.clock)
            begun_in = None if self._is_leaving() else self._state.journal
            args = (work, token, begun_in, finished, refused)
            start(Thread(target=self._run_errand, args=args, name="linnet-errand", daemon=True))
            self._errands += 1
            if isinstance(command, commands.Bash):
                self._commands.add(token)

    @property
    def busy(self) -> bool:
        """Whether anything runs; what waits is started in the same moment as the last one ends."""
        with self.lock:
            return self._active is not None or self._errands > 0

    def warm(self) -> None:
        """Import and build what the first run will need."""
        import linnet.runtime.worker  # noqa: F401

        with self.lock:
            journal = self._state.journal
            self._state.conversation.read()
        if journal is not None:
            journal.sync()
        self._get_resources().warm()

    @property
    def remarks(self) -> Sequence[str]:
        """What whoever started the program should know."""
        return self._state.remarks

    def finish(self) -> None:
        """Wait until nothing runs and nothing waits."""
        with self.lock:
            self._idle.wait_for(lambda: not self.busy)

    def close(self, timeout: float = 0.5) -> None:
        """Refuse what waits, abort what runs, leave no child behind. Idempotent."""
        with self.lock:
            self._closed = True
            waiting, self._waiting = self._waiting, deque()
            for job in waiting:
                job.drop(SHUTTING_DOWN)
            self._tell_lost(waiting)
            interrupted = self._interrupt()
            tokens = [*self._commands, *([interrupted] if interrupted is not None else [])]
        for token in tokens:
            token.set()
        with self.lock:
            self._idle.wait_for(lambda: not self.busy, timeout)
            if self._state.journal is not None:
                self._state.journal.close()
        with self._ready:
            if self._resources is not None:
                self._resources.close()

    def _is_listening(self) -> bool:
        """Whether what is said now is said to the run that goes on: not if it is being ended, for whatever reason."""
        active = self._active
        return self._state.streaming and active is not None and not active.ending and not self._waiting

    def _say(self, prompt: commands.Prompt) -> None:
        from linnet.runtime.worker import user_message

        queues = self._state.queues
        queue = queues.steering if prompt.when_busy == "steer" else queues.follow_ups
        queue.append(user_message(prompt, self.clock()))
        self._tell_queue()

    def _interrupt(self) -> CancelToken | None:
        """What to set to abort the active job. What was waiting to be said to it is dropped, and that is told."""
        if self._active is None:
            return None
        dropped = self._state.queues.clear()
        if dropped:
            self._tell_queue(tuple(dropped))
        self._active.ending = True
        return self._active.cancel

    def _end_waiting(self, work: commands.Work) -> list[CancelToken]:
        """What waits before a move is ended as soon as it begins, or the move might wait for ever."""
        if isinstance(work, commands.Compact):
            return []
        waiting = [job for job in self._waiting if isinstance(job.work, commands.Prompt | commands.Compact)]
        for job in waiting:
            job.ending = True
        return [job.cancel for job in waiting]

    def _tell_lost(self, jobs: Iterable[Job]) -> None:
        """A prompt that was accepted already cannot be refused any more, but it can be said that it was dropped."""
        lost = [job.work for job in jobs if isinstance(job.work, commands.Prompt) and job.work.when_busy != "wait"]
        if lost:
            from linnet.runtime.worker import user_message

            self._tell_queue(tuple(user_message(prompt, self.clock()) for prompt in lost))

    def _tell_queue(self, dropped: tuple[UserMessage, ...] = ()) -> None:
        queues = self._state.queues
        self.listener.hear([QueueChanged(tuple(queues.steering), tuple(queues.follow_ups), dropped)])

    def _begin(self, job: Job) -> None:
        """What goes wrong here is told to whoever asked: it must not take the session along."""
        self._active = job
        job.started()
        work = job.work
        if not isinstance(work, commands.Prompt | commands.Compact):
            self._move(job, work)
            self._active = None
            return
        self._state.streaming = isinstance(work, commands.Prompt)
        try:
            self._state.conversation.read()
            from linnet.runtime.acting import Acting

            # What the job is made of is settled now; a change of model from here on is for the next one.
            stage = Acting(job, self._state, self)
            args = (job, stage, self.clock())
            start(Thread(target=self._run, args=args, name="linnet-run", daemon=True))
        except Exception as fault:
            self._fail(job, self._state.conversation, fault)
            self._active = None
            self._state.streaming = False

    def _check(self, work: commands.Work) -> None:
        if not isinstance(work, commands.Prompt | commands.Compact | commands.SwitchSession):
            from linnet.runtime.moves import check

            if not self._is_leaving():
                check(work, self._state)

    def _is_leaving(self) -> bool:
        """Whether what is asked for now is about the session that a move is going to lead to."""
        return any(isinstance(job.work, commands.Move) for job in self._waiting)

    def _fetch(self, job: Job, work: commands.SwitchSession) -> None:
        from linnet.runtime.moves import check, fetch

        with self.lock:
            check(work, self._state)
            others_wait = any(job.fetched is not None for job in self._waiting)
        job.fetched = fetch(work, self._state, self.lock, others_wait=others_wait)

    def _move(self, job: Job, work: commands.Move) -> None:
        from linnet.runtime.moves import carry_out

        try:
            answer = carry_out(work, job.fetched, self._state)
        except Exception as fault:
            job.drop(explained(fault, "a session could not be opened"))
        else:
            job.finished(answer)

    def _run(self, job: Job, stage: "Acting", begun: int) -> None:
        try:
            from linnet.runtime.worker import Worker, user_message

            worker = Worker(stage, self._get_resources(), self.settings)
            if isinstance(job.work, commands.Prompt):
                worker.prompt((user_message(job.work, begun),))
            elif isinstance(job.work, commands.Compact):
                worker.compact(job, job.work)
        except Exception as fault:
            with self.lock:
                if self._active is job:
                    self._fail(job, stage.conversation, fault)
                    self.end()
        if stage.journal is not None:
            stage.journal.sync()

    def _fail(self, job: Job, conversation: "Conversation", fault: Exception) -> None:
        reason = explained(fault, "a run broke")
        kind: JobKind = "prompt" if isinstance(job.work, commands.Prompt) else "compact"
        self.publish([Settled(kind, "error", reason)], conversation)
        job.refused(reason)

    def publish(self, events: Sequence[Event], conversation: "Conversation") -> None:
        self._state.apply(events, conversation)
        self.listener.hear(events)

    def end(self) -> None:
        self._active = None
        self._state.streaming = self._state.compacting = False
        self._state.rest()
        self._tell_commands()
        while self._waiting and self._active is None:  # A new session is opened on the spot, and the next may begin.
            self._begin(self._waiting.popleft())
        if not self.busy:
            self._rest()

    def _rest(self) -> None:
        self._idle.notify_all()
        self.listener.idle()

    def _tell_commands(self) -> None:
        ran, self._ran = self._ran, []
        if ran:
            self.publish([BashRan(run) for run in ran], self._state.conversation)

    def _run_errand(
        self,
        work: "Errand",
        token: CancelToken,
        begun_in: "Journal | None",
        finished: Callable[[commands.Answer], None],
        refused: Callable[[str], None],
    ) -> None:
        """A command that ends in another session than it began in is not told there: it has nothing to do with it. One
        that began in none, between two sessions, is told wherever it ends.
        """
        answer: commands.Answer | None = None
        reason = ""
        try:
            answer = work(token)
        except Exception as fault:
            reason = explained(fault, "an errand broke")
        with self.lock:
            self._commands.discard(token)
            self._errands -= 1
            here = self._state.journal
            if isinstance(answer, commands.BashDone) and (begun_in is None or begun_in is here):
                self._ran.append(answer.run)
                if self._active is None:
                    self._tell_commands()  # Before it is answered: what was answered is saved.
                elif here is not None:
                    here.keep(answer.run)
            if answer is not None:
                finished(answer)
            else:
                refused(reason)
            journal = self._state.journal
            if not self.busy:
                self._rest()
        if journal is not None:
            journal.sync()

    def _get_resources(self) -> "Resources":
        with self._ready:
            if self._resources is None:
                self._resources = self._build()
            return self._resources


def _cuts_short(work: commands.Work, running: commands.Work) -> bool:
    """Whether what runs is aborted for the sake of what was asked for."""
    if isinstance(work, commands.Compact):
        return work.at_once and isinstance(running, commands.Prompt)
    return not isinstance(work, commands.Prompt)
