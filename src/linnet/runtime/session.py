"""One conversation: what has been said, what is running, what waits. How it is told to anybody is not known here."""

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from threading import Condition, RLock, Thread
from typing import TYPE_CHECKING, Protocol

from linnet.core import commands
from linnet.core.cancel import Cancel
from linnet.core.events import BashRan, Event, JobKind, QueueChanged, RunEnded, Settled
from linnet.core.messages import BashRun, StopReason, Usage, UserMessage
from linnet.errors import Busy, Cancelled, Closed
from linnet.runtime.cancel import CancelToken
from linnet.runtime.config import Settings
from linnet.runtime.fault import explained
from linnet.runtime.job import Job
from linnet.runtime.state import State

if TYPE_CHECKING:
    from linnet.core.conversation import Conversation
    from linnet.core.turn import Fact, Turn
    from linnet.runtime.machinery import Machinery
    from linnet.runtime.stage import Next

SHUTTING_DOWN = "the agent is shutting down"


class Audience(Protocol):
    """Who is told what happens."""

    def hear(self, events: Sequence[Event]) -> None:
        """Called in the order of the changes, one call at a time. Must not block."""

    def pace(self, cancel: Cancel) -> None:
        """Called by a run between its events: where there is no room for more, wait for it, or for an abort."""

    def is_behind(self) -> bool:
        """Whether there is no room for more now."""

    def idle(self) -> None:
        """Called when the last job or command has ended. Must not block."""


class Session:
    """State changes happen under one lock, and whoever is told of them is told in their order.

    Invariants: one job is active at a time; waiting ones start in the order they came; an active one ends with exactly
    one Settled, at which moment it stops being active. A run works on the conversation it started with: if that is
    cleared meanwhile, the run goes on apart and leaves no trace in the new one.
    """

    def __init__(
        self,
        settings: Settings,
        audience: Audience,
        build: Callable[[], "Machinery"],
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        new_id: Callable[[], str] = lambda: os.urandom(4).hex(),
        new_session_id: Callable[[], str] = lambda: _uuid(),
    ) -> None:
        self.settings = settings
        self.clock = clock
        self._audience = audience
        self._build = build
        self._lock = RLock()
        self._idle = Condition(self._lock)
        self._state = State(settings, new_id, new_session_id)
        self._active: Job | None = None
        self._waiting: deque[Job] = deque()
        self._commands: set[CancelToken] = set()
        self._ran: list[BashRun] = []  # Commands that ended while a job was active.
        self._end_wait: Callable[[], None] | None = None
        self._closed = False
        self._ready = RLock()
        self._machinery: Machinery | None = None

    def submit(self, job: Job, *, queue: bool = True) -> None:
        """Start it, let it wait its turn, or say it to the agent that is working. Raises Busy where it may not.

        A job is active from here on: an abort that follows will find it.
        """
        interrupted: CancelToken | None = None
        with self._lock:
            if self._closed:
                raise Closed
            work = job.work
            if self._active is None:
                job.accepted()
                self._begin(job)
            elif not queue:
                raise Busy
            elif isinstance(work, commands.Prompt) and work.when_busy != "wait" and self._is_listening():
                if work.when_busy == "refuse":
                    raise Busy
                job.accepted()
                self._say(work)
            else:
                job.accepted()
                if _cuts_short(work, self._active.work):
                    interrupted = self._interrupt()
                self._waiting.append(job)
        if interrupted is not None:
            interrupted.set()

    def ask(self, query: commands.Query, deliver: Callable[[commands.Answer], None]) -> None:
        """Answer at once. `deliver` runs under the lock: an answer keeps its place among the events around it."""
        actions: list[Callable[[], None]] = []
        with self._lock:
            deliver(self._state.answer(query, busy=self._active is not None))
            if isinstance(query, commands.Abort):
                interrupted = self._interrupt()
                actions = [interrupted.set] if interrupted is not None else []
            elif isinstance(query, commands.AbortRetry):
                actions = [self._end_wait] if self._end_wait is not None else []
            elif isinstance(query, commands.AbortBash):
                actions = [token.set for token in self._commands]
        for action in actions:
            action()  # Not under the lock: it may have a socket to close and a process tree to kill.

    def bash(self, command: str, finished: Callable[[commands.Answer], None], refused: Callable[[str], None]) -> None:
        """Run it now, beside whatever else runs. The model is told of it with the next prompt."""
        token = CancelToken()
        with self._lock:
            if self._closed:
                raise Closed
            self._commands.add(token)
        args = (command, token, finished, refused)
        Thread(target=self._run_command, args=args, name="linnet-bash", daemon=True).start()

    @property
    def busy(self) -> bool:
        """Whether anything runs; what waits is started in the same moment as the last one ends."""
        with self._lock:
            return self._active is not None or bool(self._commands)

    def warm(self) -> None:
        """Import and build what the first run will need."""
        import linnet.runtime.worker  # noqa: F401

        self._get_machinery().warm()

    def finish(self) -> None:
        """Wait until nothing runs and nothing waits."""
        with self._lock:
            self._idle.wait_for(lambda: not self.busy)

    def close(self, timeout: float = 0.5) -> None:
        """Refuse what waits, abort what runs, leave no child behind. Idempotent."""
        with self._lock:
            self._closed = True
            waiting, self._waiting = self._waiting, deque()
            for job in waiting:
                job.refused(SHUTTING_DOWN)
            self._tell_lost(waiting)
            interrupted = self._interrupt()
            tokens = [*self._commands, *([interrupted] if interrupted is not None else [])]
        for token in tokens:
            token.set()
        with self._lock:
            self._idle.wait_for(lambda: not self.busy, timeout)
        with self._ready:
            if self._machinery is not None:
                self._machinery.close()

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

    def _tell_lost(self, jobs: Iterable[Job]) -> None:
        """A prompt that was accepted already cannot be refused any more, but it can be said that it was dropped."""
        lost = [job.work for job in jobs if isinstance(job.work, commands.Prompt) and job.work.when_busy != "wait"]
        if lost:
            from linnet.runtime.worker import user_message

            self._tell_queue(tuple(user_message(prompt, self.clock()) for prompt in lost))

    def _tell_queue(self, dropped: tuple[UserMessage, ...] = ()) -> None:
        queues = self._state.queues
        self._audience.hear([QueueChanged(tuple(queues.steering), tuple(queues.follow_ups), dropped)])

    def _begin(self, job: Job) -> None:
        self._active = job
        job.started()
        work = job.work
        if isinstance(work, commands.NewSession):
            self._state.open_session(work.parent)
            job.finished(commands.SessionOpened())
            self._active = None
            return
        self._state.streaming = isinstance(work, commands.Prompt)
        # What the job is made of is settled now; a change of model from here on is for the next one.
        stage = _Stage(self, job, self._state)
        args = (job, stage, self.clock())
        Thread(target=self._run, args=args, name="linnet-run", daemon=True).start()

    def _run(self, job: Job, stage: "_Stage", begun: int) -> None:
        try:
            from linnet.runtime.worker import Worker, user_message

            worker = Worker(stage, self._get_machinery(), self.settings)
            if isinstance(job.work, commands.Prompt):
                worker.prompt((user_message(job.work, begun),))
            elif isinstance(job.work, commands.Compact):
                worker.compact(job, job.work)
        except Exception as fault:
            reason = explained(fault, "a run broke")
            with self._lock:
                if self._active is job:
                    kind: JobKind = "prompt" if isinstance(job.work, commands.Prompt) else "compact"
                    self._publish([Settled(kind, "error", reason)], stage.conversation)
                    job.refused(reason)
                    self._end()

    def _publish(self, events: Sequence[Event], conversation: "Conversation") -> None:
        self._state.apply(events, conversation)
        self._audience.hear(events)

    def _end(self) -> None:
        self._active = None
        self._state.streaming = self._state.compacting = False
        self._tell_commands()
        while self._waiting and self._active is None:  # A new session is opened on the spot, and the next may begin.
            self._begin(self._waiting.popleft())
        if not self.busy:
            self._rest()

    def _rest(self) -> None:
        self._idle.notify_all()
        self._audience.idle()

    def _tell_commands(self) -> None:
        ran, self._ran = self._ran, []
        if ran:
            self._publish([BashRan(run) for run in ran], self._state.conversation)

    def _run_command(
        self,
        command: str,
        token: CancelToken,
        finished: Callable[[commands.Answer], None],
        refused: Callable[[str], None],
    ) -> None:
        run: BashRun | None = None
        reason = ""
        try:
            from linnet.runtime.command import run_command

            run = run_command(command, self.settings.cwd, self._get_machinery().processes, token, self.clock)
        except Exception as fault:
            reason = explained(fault, "a command broke")
        with self._lock:
            self._commands.discard(token)
            if run is not None:
                self._ran.append(run)
                finished(commands.BashDone(run))
            else:
                refused(reason)
            if self._active is None:
                self._tell_commands()
                if not self.busy:
                    self._rest()

    def _get_machinery(self) -> "Machinery":
        with self._ready:
            if self._machinery is None:
                self._machinery = self._build()
            return self._machinery


class _Stage:
    """See runtime.stage. Here because it works on the session's insides, under the session's lock."""

    def __init__(self, session: Session, job: Job, state: State) -> None:
        self._session = session
        self._job = job
        self._state = state
        self.conversation = state.conversation
        self.model = state.model
        self.reasoning = state.thinking
        self.queues = state.queues

    @property
    def cancel(self) -> Cancel:
        return self._job.cancel

    @property
    def spent(self) -> Usage:
        return self._state.spent

    @property
    def auto_retry(self) -> bool:
        return self._state.auto_retry

    @property
    def auto_compaction(self) -> bool:
        return self._state.auto_compaction

    def now(self) -> int:
        return self._session.clock()

    def emit(self, events: Sequence[Event]) -> None:
        with self._session._lock:
            self._session._publish(events, self.conversation)
        self._pace()

    def preview(self, event: Event) -> bool:
        if self._session._audience.is_behind():
            return False
        with self._session._lock:
            self._session._publish([event], self.conversation)
        return True

    def advance(self, turn: "Turn", fact: "Fact") -> "Next":
        from linnet.core.turn import Emit

        with self._session._lock:
            events: list[Event] = []
            following: Next | None = None
            for effect in turn.feed(fact):
                if isinstance(effect, Emit):
                    events.append(effect.event)
                else:
                    following = effect
            if following is None:
                ended = events.pop()
                assert isinstance(ended, RunEnded)
                following = ended
            if events:
                self._session._publish(events, self.conversation)
        self._pace()
        return following

    def settle(
        self,
        events: Sequence[Event],
        kind: JobKind,
        stop: StopReason,
        error: str,
        answer: Callable[[], None] = lambda: None,
    ) -> tuple[UserMessage, ...]:
        with self._session._lock:
            heard = self.queues.take_next() if kind == "prompt" else []
            if heard:
                changed = QueueChanged(tuple(self.queues.steering), tuple(self.queues.follow_ups))
                self._session._publish([*events, changed], self.conversation)
                self._state.streaming = True
            else:
                self._session._publish([*events, Settled(kind, stop, error)], self.conversation)
                answer()
                self._session._end()
        return tuple(heard)

    def waiting(self, end: Callable[[], None] | None) -> None:
        with self._session._lock:
            self._session._end_wait = end

    def _pace(self) -> None:
        with suppress(Cancelled):  # Whoever runs notices an abort by itself.
            self._session._audience.pace(self._job.cancel)


def _cuts_short(work: commands.Work, running: commands.Work) -> bool:
    """Whether what runs is aborted for the sake of what was asked for."""
    if isinstance(work, commands.Compact):
        return work.at_once and isinstance(running, commands.Prompt)
    return isinstance(work, commands.NewSession)


def _uuid() -> str:
    """A random UUID, without the 3 ms that the module of that name takes to load."""
    digits = bytearray(os.urandom(16))
    digits[6] = digits[6] & 0x0F | 0x40
    digits[8] = digits[8] & 0x3F | 0x80
    text = digits.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
