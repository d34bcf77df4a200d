"""One conversation: what has been said, what is running, what waits. How it is told to anybody is not known here."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from threading import Condition, RLock, Thread
from typing import TYPE_CHECKING, Protocol, assert_never

from linnet import __version__
from linnet.core import commands
from linnet.core.cancel import Cancel
from linnet.core.conversation import Conversation
from linnet.core.events import Compacted, Event, ReplyEnded, RunEnded, RunKind
from linnet.core.messages import Usage
from linnet.errors import Busy, Closed, LinnetError
from linnet.runtime.cancel import CancelToken
from linnet.runtime.config import Settings

if TYPE_CHECKING:
    from linnet.core.models import Model
    from linnet.runtime.machinery import Machinery


class Audience(Protocol):
    """Who is told what happens."""

    def hear(self, events: Sequence[Event]) -> None:
        """Called in the order of the changes, one call at a time. Must not block."""

    def pace(self, cancel: Cancel) -> None:
        """Called by a run between its events: where there is no room for more, wait for it, or for an abort."""


class Job:
    """A prompt or a compaction on its way. Exactly one of `started` and `refused` is called, once."""

    def __init__(self, work: commands.Work, started: Callable[[], None], refused: Callable[[str], None]) -> None:
        self.work = work
        self.started = started
        self.refused = refused
        self.cancel = CancelToken()


class Session:
    """State changes happen under one lock, and whoever is told of them is told in their order.

    Invariants: one job is active at a time; waiting ones start in the order they came; an active one ends with exactly
    one RunEnded, at which moment it stops being active. A run works on the conversation it started with: if that is
    cleared meanwhile, the run goes on apart and leaves no trace in the new one.
    """

    def __init__(
        self,
        settings: Settings,
        audience: Audience,
        build: Callable[[], "Machinery"],
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._settings = settings
        self._audience = audience
        self._build = build
        self._clock = clock
        self._lock = RLock()
        self._idle = Condition(self._lock)
        self._model = settings.model
        self._conversation = Conversation()
        self._spent = Usage()
        self._active: Job | None = None
        self._waiting: deque[Job] = deque()
        self._closed = False
        self._ready = RLock()
        self._machinery: Machinery | None = None

    def submit(self, job: Job, *, queue: bool = True) -> None:
        """Start it, or let it wait its turn. The job is active from here on: an abort that follows will find it."""
        with self._lock:
            if self._closed:
                raise Closed
            if self._active is None:
                self._begin(job)
            elif queue:
                self._waiting.append(job)
            else:
                raise Busy

    def ask(self, query: commands.Query, deliver: Callable[[commands.Answer], None]) -> None:
        """Answer at once. `deliver` runs under the lock: an answer keeps its place among the events around it."""
        with self._lock:
            deliver(self._answer(query))
            active = self._active
        if isinstance(query, commands.Abort) and active is not None:
            active.cancel.set()  # Not under the lock: it may have a socket to close and a process tree to kill.

    @property
    def busy(self) -> bool:
        """Whether something runs; what waits is started in the same moment as the last one ends."""
        with self._lock:
            return self._active is not None

    def warm(self) -> None:
        """Import and build what the first run will need."""
        import linnet.runtime.runner  # noqa: F401

        self._get_machinery().provider.warm()

    def finish(self) -> None:
        """Wait until nothing runs and nothing waits."""
        with self._lock:
            self._idle.wait_for(lambda: self._active is None)

    def close(self, timeout: float = 0.5) -> None:
        """Refuse what waits, abort what runs, leave no child behind. Idempotent."""
        with self._lock:
            self._closed = True
            waiting, self._waiting = self._waiting, deque()
            for job in waiting:
                job.refused("the agent is shutting down")
            active = self._active
        if active is not None:
            active.cancel.set()
        with self._lock:
            self._idle.wait_for(lambda: self._active is None, timeout)
        with self._ready:
            if self._machinery is not None:
                self._machinery.close()

    def _answer(self, query: commands.Query) -> commands.Answer:
        match query:
            case commands.Ping():
                return commands.Pong()
            case commands.Hello():
                return commands.Greeting(__version__, self._settings.provider, self._model.id)
            case commands.GetState():
                return commands.State(
                    self._settings.provider,
                    self._model.id,
                    self._settings.cwd,
                    self._active is not None,
                    self._spent,
                    self._conversation.messages,
                )
            case commands.GetMessages():
                return commands.Transcript(self._conversation.messages)
            case commands.GetModels():
                return commands.ModelList(self._settings.models)
            case commands.SetModel(id):
                self._model = self._settings.find_model(id)
                return commands.ModelChosen(id)
            case commands.Clear():
                self._conversation = Conversation()
                return commands.Ok()
            case commands.Abort():
                return commands.Ok()
            case _:
                assert_never(query)

    def _begin(self, job: Job) -> None:
        self._active = job
        job.started()
        # What the run is made of is settled now; a `set_model` or `clear` from here on is for the next one.
        args = (job, self._conversation, self._model)
        Thread(target=self._run, args=args, name="linnet-run", daemon=True).start()

    def _run(self, job: Job, conversation: Conversation, model: "Model") -> None:
        def emit(events: Sequence[Event]) -> None:
            self._emit(job, conversation, events)

        try:
            from linnet.runtime.runner import Runner

            runner = Runner(
                machinery=self._get_machinery(),
                conversation=conversation,
                spent=self._spent,
                model=model,
                settings=self._settings,
                cancel=job.cancel,
                emit=emit,
                clock=self._clock,
            )
            if isinstance(job.work, commands.Prompt):
                runner.prompt(job.work)
            else:
                runner.compact(job.work)
        except Exception as fault:
            if not isinstance(fault, LinnetError):
                import logging  # 8 ms that no healthy run pays

                logging.getLogger(__name__).exception("a run broke")
            if self._active is job:
                kind: RunKind = "prompt" if isinstance(job.work, commands.Prompt) else "compact"
                reason = str(fault) if isinstance(fault, LinnetError) else f"internal error: {fault!r}"
                emit([RunEnded(kind, "error", reason)])

    def _emit(self, job: Job, conversation: Conversation, events: Sequence[Event]) -> None:
        with self._lock:
            for event in events:
                conversation.apply(event)
                if isinstance(event, ReplyEnded | Compacted):
                    self._spent = event.total
            self._audience.hear(events)
            if isinstance(events[-1], RunEnded):
                self._end()
                return
        self._audience.pace(job.cancel)

    def _end(self) -> None:
        self._active = None
        if self._waiting:
            self._begin(self._waiting.popleft())
        else:
            self._idle.notify_all()

    def _get_machinery(self) -> "Machinery":
        with self._ready:
            if self._machinery is None:
                self._machinery = self._build()
            return self._machinery
