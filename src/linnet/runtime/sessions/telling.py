"""What is told of a session whose log may wait: in one order, each only when all before it that must be written is
written. A session whose log is written in place has none of this: it tells as it decides.
"""

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Condition, Lock, RLock, Thread, current_thread
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from linnet.core.cancel import Cancel
from linnet.core.commands import AgentState, Answer, SessionStats, Transcript
from linnet.core.events import Event, SessionFailed
from linnet.errors import LinnetError, LogUnavailable, SessionError
from linnet.logs import broke
from linnet.runtime.error_report import as_error, start
from linnet.runtime.listener import Listener
from linnet.runtime.requester import Requester

if TYPE_CHECKING:
    from linnet.runtime.sessions.queued_log import QueuedLog

ROOM = 1024  # Events, answers and entries that wait, above which a run waits, too.
MOST_LINES = 256  # In one append.
DELAYS = (0.05, 5.0)  # Seconds before an append that failed is tried again: at first, and at most, doubling.
UNSAVED = "what was said last could not be saved before the agent ended"

Act: TypeAlias = Callable[[], None]


class _Told(Struct):
    """Something to tell; `otherwise` is called instead if nothing is told any more."""

    act: Act
    size: int
    otherwise: Callable[[LinnetError], None] | None


class _Line(Struct):
    """An entry to be written."""

    log: "QueuedLog"
    line: bytes
    written: bool = False
    size: int = 1


class _Done(Struct):
    """Something to be done with the log `where` when all before it is written: make it, let go of it."""

    act: Act
    where: str
    size: int = 0


class Telling(Listener):
    """Invariants: everything leaves in the order in which it was decided, one at a time, when all entries before it are
    written; nothing twice. Once an entry was refused, nothing behind it is told, and whoever waits is refused for that
    one reason.

    Whatever is added is added under the session's lock. While nothing waits, it is told at once, by whoever decided it;
    otherwise the thread of this object tells it, without the session's lock: so an abort waits for none of it.
    """

    def __init__(
        self,
        listeners: Sequence[Listener],
        lock: RLock,
        ended: Act,
    ) -> None:
        """`lock` is the session's. `ended` is called, without it, when the log refused an entry: it ends the agent."""
        self.lock = lock
        self._listeners = list(listeners)
        self._ended = ended
        self._changed = Condition(Lock())  # Taken after the session's lock, never before it; nothing is told under it.
        self._steps: deque[_Told | _Line | _Done] = deque()  # The first stays here until it is over.
        self._size = 0
        self._at_once = False  # Whoever decided something is telling it.
        self._fault: LinnetError | None = None  # Why nothing is told any more.
        self._ending = False  # Listeners are about to hear of the fault.
        self._failing = False  # The log cannot be reached, which was told.
        self._idle_due = False
        self._closed = False
        self._thread: Thread | None = None  # None again when it has ended.
        self._current: _Told | _Line | _Done | None = None  # What it is at.

    def begin(self) -> None:
        """Write and tell what waits, from now on. Raises LinnetError if the system has no further thread."""
        with self.lock:
            if self._thread is None:
                # Known before it starts: it may have ended, and said so, before `start` returns.
                self._thread = Thread(target=self._work, name="linnet-log", daemon=True)
                try:
                    start(self._thread)
                except LinnetError:
                    self._thread = None
                    raise

    @property
    def owes(self) -> bool:
        """Whether something waits to be written or told; that it is all over counts, until it was told."""
        return (self._fault is None and bool(self._steps)) or self._ending  # In the order in which `_stop` sets them.

    def is_owing(self) -> bool:
        """Return whether it `owes`. Whoever hears that it does hears of it with `idle` when it does not any more: no
        job may be the reason, and then nothing else tells of its end.
        """
        with self._changed:
            owes = self.owes
            self._idle_due = self._idle_due or owes
            return owes

    def hear(self, events: Sequence[Event]) -> None:
        self._tell(lambda: self._hear(events), len(events))

    def warned(self, sentence: str) -> None:
        self._tell(lambda: self._warn(sentence))

    def broke(self, error: LinnetError) -> None:
        self._tell(lambda: self._break(error))

    def idle(self) -> None:
        with self._changed:
            self._idle_due = self.owes
            if self._idle_due:
                return
        for listener in self._listeners:
            listener.idle()

    def pace(self, cancel: Cancel) -> None:
        if self._size > ROOM:
            with cancel.interrupting(self._notify), self._changed:
                self._changed.wait_for(lambda: self._size <= ROOM or self._fault is not None or cancel.is_set)
        for listener in self._listeners:
            listener.pace(cancel)

    def is_behind(self) -> bool:
        return self._size > ROOM or any(listener.is_behind() for listener in self._listeners)

    def in_turn(self, requester: Requester) -> Requester:
        """Return one whose answers reach that requester in the order of what is told."""
        return _InTurn(requester, self)

    def tell(self, act: Act) -> None:
        """Call it in the order of what is told; at once, where nothing is told any more."""
        self._tell(act, otherwise=lambda error: act())

    def write_locked(self, log: "QueuedLog", line: bytes) -> None:
        """Have a line written, before whatever is told from now on. Whoever calls this holds the session's lock."""
        self._add_locked(_Line(log, line))

    def do_locked(self, where: str, act: Act) -> None:
        """Have something done with the log of that key in the order of its entries, without the lock; also if one was
        refused. It is tried again after LogUnavailable. Whoever calls this holds the session's lock.
        """
        self._add_locked(_Done(act, where))

    def drain(self, timeout: float | None) -> bool:
        """Wait until nothing waits to be told; False if the time was over before. Not to be called under the lock."""
        if current_thread() is self._thread:
            return True
        with self._changed:
            return self._changed.wait_for(lambda: not (self.owes or self._at_once), timeout)

    def close(self, timeout: float) -> None:
        """Wait for what is still to be written, but not for ever: what cannot be is said to be lost. Idempotent."""
        if self._steps:
            with suppress(LinnetError):
                self.begin()
        if not self.drain(timeout):
            error = SessionError(UNSAVED)
            if self._stop(error):
                self._warn(str(error))
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _tell(self, act: Act, size: int = 1, otherwise: Callable[[LinnetError], None] | None = None) -> None:
        with self.lock:
            with self._changed:
                fault = self._fault
                # What is told while something is told, by whoever hears it, waits for its turn as well.
                at_once = fault is None and not self._steps and not self._at_once
                if at_once:
                    self._at_once = True
                elif fault is None:
                    self._push(_Told(act, size, otherwise))
            if fault is not None and otherwise is not None:
                otherwise(fault)
            elif not at_once:
                self._begin_again_locked()
            else:
                try:
                    act()
                finally:
                    with self._changed:
                        self._at_once = False
                        self._changed.notify_all()

    def _add_locked(self, step: _Line | _Done) -> None:
        with self._changed:
            if self._fault is None or isinstance(step, _Done):
                self._push(step)
        self._begin_again_locked()

    def _begin_again_locked(self) -> None:
        """See that what comes after `close` is done, too: the thread may have ended by then. Called under the lock."""
        if self._closed and self._steps and self._thread is None:
            try:
                self.begin()
            except LinnetError as error:
                self._stop(error)

    def _push(self, step: _Told | _Line | _Done) -> None:
        """Called under `_changed`."""
        self._steps.append(step)
        self._size += step.size
        self._changed.notify_all()

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _work(self) -> None:
        """Write, and tell what waited, in the thread of this object."""
        while (step := self._first()) is not None:
            if isinstance(step, _Told):
                try:
                    step.act()
                except Exception:  # Whoever is told next must not suffer for it.
                    broke(__name__, "whoever was told something broke")
            else:
                try:
                    self._carry_out(step)
                except Exception as fault:
                    self._end(as_error(fault, "the log of a session broke"))
            self._pop(step)

    def _first(self) -> _Told | _Line | _Done | None:
        with self._changed:
            self._changed.wait_for(lambda: (self._steps and not self._at_once) or (self._closed and not self._steps))
            self._current = self._steps[0] if self._steps else None
            if self._current is None:
                self._thread = None  # In one step with the last look: whoever adds something later begins another.
            return self._current

    def _pop(self, step: _Told | _Line | _Done) -> None:
        with self._changed:
            self._current = None
            if self._steps and self._steps[0] is step:  # Or else nothing is told any more.
                self._steps.popleft()
                self._size -= step.size
            is_idle = self._idle_due and not self._steps
            self._idle_due = self._idle_due and not is_idle
            self._changed.notify_all()
        if is_idle:
            for listener in self._listeners:
                listener.idle()

    def _carry_out(self, step: _Line | _Done) -> None:
        """Raises SessionError."""
        if isinstance(step, _Done):
            self._persist(step.act, step.where)
        elif not step.written:
            batch = self._batch(step.log)
            self._persist(lambda: step.log.write([each.line for each in batch]), step.log.path or step.log.key)
            for each in batch:
                each.written = True

    def _batch(self, log: "QueuedLog") -> list[_Line]:
        """Return the entries that wait for that log and nothing else, whatever is told between them."""
        batch: list[_Line] = []
        with self._changed:
            for step in self._steps:
                if isinstance(step, _Told):
                    continue
                if isinstance(step, _Done) or step.log is not log or len(batch) == MOST_LINES:
                    break
                batch.append(step)
        return batch

    def _persist(self, act: Act, where: str) -> None:
        """Try until it works, or nothing is told any more. Raises SessionError if it never will."""
        delay, longest = DELAYS
        while True:
            try:
                act()
                self._failing = False
                return
            except LogUnavailable as error:
                if not self._failing and self._fault is None:
                    self._failing = True
                    # Ahead of all that waits for it: nobody else tells anything now, for there are steps.
                    self._hear([SessionFailed(where, f"{error}; trying again")])
            with self._changed:
                if self._changed.wait_for(lambda: self._fault is not None, delay):
                    return
            delay = min(delay * 2, longest)

    def _end(self, error: LinnetError) -> None:
        """End the agent, with all it has started: the log took no more, and never will. If it has ended, say that what
        came too late to be written is lost.
        """
        if self._closed:
            if self._stop(error):
                self._warn(str(error))
        elif self._stop(error, ending=True):
            for act in (self._ended, lambda: self._break(error)):
                try:
                    act()
                except Exception:  # Whoever waits for the end would wait for ever.
                    broke(__name__, "an agent whose log took no more could not be ended")
            with self._changed:
                self._ending = False
                self._changed.notify_all()

    def _stop(self, error: LinnetError, *, ending: bool = False) -> bool:
        """Tell nothing from here on, and refuse whoever waited. Return whether this is the first reason for that."""
        with self._changed:
            if self._fault is not None:
                return False
            self._ending = ending
            self._fault = error  # After that: `owes` is asked without the lock, and must not see neither.
            # Not whoever is being told something at this moment: that would be a second answer.
            told = [step for step in self._steps if isinstance(step, _Told) and step is not self._current]
            self._steps = deque(step for step in self._steps if isinstance(step, _Done))
            self._size = 0
            self._changed.notify_all()
        for step in told:
            if step.otherwise is not None:
                step.otherwise(error)
        return True

    def _hear(self, events: Sequence[Event]) -> None:
        for listener in self._listeners:
            listener.hear(events)

    def _warn(self, sentence: str) -> None:
        for listener in self._listeners:
            listener.warned(sentence)

    def _break(self, error: LinnetError) -> None:
        for listener in self._listeners:
            listener.broke(error)


class _InTurn(Requester):
    """Invariant: once nothing is told any more the requester is refused, once, whatever else would have been said."""

    def __init__(self, requester: Requester, telling: Telling) -> None:
        self._requester = requester
        self._telling = telling
        self._over = False

    def accepted(self) -> None:
        self._answer(self._requester.accepted)

    def started(self) -> None:
        self._answer(self._requester.started)

    def finished(self, answer: Answer) -> None:
        with self._telling.lock:
            if self._telling.owes and isinstance(answer, Transcript | SessionStats | AgentState):
                answer = replace(answer, messages=list(answer.messages))  # As of now, not of when it is told.
            self._answer(lambda: self._requester.finished(answer))

    def refused(self, error: LinnetError) -> None:
        self._answer(lambda: self._requester.refused(error))

    def _answer(self, act: Act) -> None:
        self._telling._tell(act, otherwise=self._end)

    def _end(self, error: LinnetError) -> None:
        with self._telling.lock:
            if self._over:
                return
            self._over = True
        self._requester.refused(error)
