"""How a run changes its session: see `stage` for what it may do."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import RLock
from typing import Protocol

from linnet.core.cancel import Cancel
from linnet.core.conversation import Conversation
from linnet.core.events import Event, JobKind, QueueChanged, RunEnded, Settled
from linnet.core.messages import StopReason, Usage, UserMessage
from linnet.core.run import Emit, Fact, Turn
from linnet.errors import Cancelled
from linnet.runtime.job import Job
from linnet.runtime.listener import Listener
from linnet.runtime.stage import Next
from linnet.runtime.state import State


class Theatre(Protocol):
    """What of a session its stage works with. All of it but the clock is used under the lock."""

    lock: RLock
    listener: Listener
    clock: Callable[[], int]
    end_wait: Callable[[], None] | None

    def publish(self, events: Sequence[Event], conversation: Conversation) -> None: ...

    def end(self) -> None: ...


class Acting:
    """A job's Stage: the model, the conversation and the file are those it began with."""

    def __init__(self, job: Job, state: State, theatre: Theatre) -> None:
        self._theatre = theatre
        self._job = job
        self._state = state
        self.journal = state.journal
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
        return self._theatre.clock()

    def emit(self, events: Sequence[Event]) -> None:
        with self._theatre.lock:
            self._theatre.publish(events, self.conversation)
        self._pace()

    def preview(self, event: Event) -> bool:
        if self._theatre.listener.is_behind():
            return False
        with self._theatre.lock:
            self._theatre.publish([event], self.conversation)
        return True

    def advance(self, turn: Turn, fact: Fact) -> Next:
        with self._theatre.lock:
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
                self._theatre.publish(events, self.conversation)
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
        with self._theatre.lock:
            heard = self.queues.take_next() if kind == "prompt" else []
            if heard:
                changed = QueueChanged(tuple(self.queues.steering), tuple(self.queues.follow_ups))
                self._theatre.publish([*events, changed], self.conversation)
                self._state.streaming = True
            else:
                self._theatre.publish([*events, Settled(kind, stop, error)], self.conversation)
                if kind == "compact" and self.journal is not None:
                    self.journal.sync()  # Whoever asked for it is told that it is done.
                answer()
                self._theatre.end()
        return tuple(heard)

    def waiting(self, end: Callable[[], None] | None) -> None:
        with self._theatre.lock:
            self._theatre.end_wait = end

    def _pace(self) -> None:
        with suppress(Cancelled):  # Whoever runs notices an abort by itself.
            self._theatre.listener.pace(self._job.cancel)
