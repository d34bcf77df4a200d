"""For a session whose log may take its time, such as a database: a queue of entries to write and of all that is told,
and a thread that works it off, so that nothing is told before the entries that came before it are written.

A session whose log is written in place has none of this: what it decides, it tells at once.
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

ROOM = 1024  # Events, answers and entries in the queue, above which a run waits, too.
MOST_LINES = 256  # In one append.
DELAYS = (0.05, 5.0)  # Seconds before an append that failed is tried again: at first, and at most, doubling.
UNSAVED = "what was said last could not be saved before the agent ended"

Act: TypeAlias = Callable[[], None]


class _Told(Struct):
    """Something to tell, by calling `act`."""

    act: Act
    size: int
    otherwise: Callable[[LinnetError], None] | None
    """Called instead if nothing is told any more."""


class _Line(Struct):
    """An entry to be written."""

    log: "QueuedLog"
    line: bytes
    written: bool = False
    """It was written together with one before it, and only keeps its place."""
    size: int = 1


class _Done(Struct):
    """Something to be done with the log of the key `where` when all before it is written: make it, close it."""

    act: Act
    where: str
    size: int = 0


class Telling(Listener):
    """Invariants: all is told in the order in which it was decided, one thing at a time, when all entries before it are
    written, and only once. Once an entry was refused for good, nothing behind it is told, and requesters that wait are
    refused for that reason.

    Steps are added with the session's lock held. While the queue is empty, whoever decided something tells it at once,
    still under that lock; otherwise the thread of this object tells it without that lock, so that an abort need not
    wait. `_changed` guards the queue. It is taken after the session's lock, never before it, and nothing is told under
    it: whoever is told something may take the session's lock.
    """

    def __init__(self, listeners: Sequence[Listener], lock: RLock, ended: Act) -> None:
        """`lock` is the session's. `ended` ends the agent: it is called, without the lock, when an entry was
        refused.
        """
        self.lock = lock
        self._listeners = list(listeners)
        self._ended = ended
        self._changed = Condition(Lock())
        self._steps: deque[_Told | _Line | _Done] = deque()  # The first stays here until it is over.
        self._size = 0
        self._at_once = False  # Somebody tells what they decided; the thread waits for that.
        self._fault: LinnetError | None = None  # Why nothing is told any more.
        self._ending = False  # Listeners are about to hear of the fault.
        self._failing = False  # The log cannot be reached, which was told.
        self._idle_due = False  # Listeners are to hear `idle` when the queue is empty.
        self._closed = False
        self._thread: Thread | None = None  # None again when it has ended.
        self._current: _Told | _Line | _Done | None = None  # What it does now.

    def begin(self) -> None:
        """Start the thread, which writes and tells what waits. Raises LinnetError if the system has no
        further thread.
        """
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
        """Return whether something waits to be written or told; that the log refused an entry counts until it
        was told.
        """
        return (self._fault is None and bool(self._steps)) or self._ending  # In the order in which `_stop` sets them.

    def is_owing(self) -> bool:
        """Return whether it `owes`; if so, listeners hear `idle` when it does not any more. There may be no job whose
        end would tell them.
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
        with self._changed:  # Later, if something waits: to whoever is told, that is not done before it is told.
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
        """Return a requester that passes its answers on to this one in the order of what is told."""
        return _InTurn(requester, self)

    def tell(self, act: Act) -> None:
        """Call the function in its turn among what is told; at once, if nothing is told any more."""
        self._tell(act, otherwise=lambda error: act())

    def write_locked(self, log: "QueuedLog", line: bytes) -> None:
        """Have a line written before whatever is told from now on."""
        self._add_locked(_Line(log, line))

    def do_locked(self, where: str, act: Act) -> None:
        """Have the thread call `act`, for the log of the key `where`, after the entries before it; also if one of those
        was refused. It is called again after LogUnavailable.
        """
        self._add_locked(_Done(act, where))

    def drain(self, timeout: float | None) -> bool:
        """Wait until nothing waits to be told, and return True; False if that takes longer than `timeout` seconds. Not
        to be called under the session's lock.
        """
        if current_thread() is self._thread:  # It would wait for itself.
            return True
        with self._changed:
            return self._changed.wait_for(lambda: not (self.owes or self._at_once), timeout)

    def close(self, timeout: float) -> None:
        """Wait up to `timeout` seconds for what is still to be written; if it is not by then, warn that it is lost. The
        thread ends when the queue is empty. Idempotent.
        """
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
        """Call `act` now or queue it; if nothing is told any more, call `otherwise` with the reason for that."""
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
        """Start the thread again for what is queued after `close`, when it may have ended."""
        if self._closed and self._steps and self._thread is None:
            try:
                self.begin()
            except LinnetError as error:
                self._stop(error)

    def _push(self, step: _Told | _Line | _Done) -> None:
        """Queue a step. Called with `_changed` held."""
        self._steps.append(step)
        self._size += step.size
        self._changed.notify_all()

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _work(self) -> None:
        """Work off the queue: what the thread of this object does."""
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
        """Wait for the next step, and return it; None if there will be none, and then the thread ends."""
        with self._changed:
            self._changed.wait_for(lambda: (self._steps and not self._at_once) or (self._closed and not self._steps))
            self._current = self._steps[0] if self._steps else None
            if self._current is None:
                self._thread = None  # In one step with the last look: whoever adds something later begins another.
            return self._current

    def _pop(self, step: _Told | _Line | _Done) -> None:
        """Take a step that is over out of the queue, and tell `idle` if it is due and this was the last."""
        with self._changed:
            self._current = None
            if self._steps and self._steps[0] is step:  # Or else `_stop` has emptied the queue.
                self._steps.popleft()
                self._size -= step.size
            is_idle = self._idle_due and not self._steps
            self._idle_due = self._idle_due and not is_idle
            self._changed.notify_all()
        if is_idle:
            for listener in self._listeners:
                listener.idle()

    def _carry_out(self, step: _Line | _Done) -> None:
        """Write this entry with those behind it, or do what is to be done. Raises SessionError if the log refuses."""
        if isinstance(step, _Done):
            self._persist(step.act, step.where)
        elif not step.written:
            batch = self._batch(step.log)
            self._persist(lambda: step.log.write([each.line for each in batch]), step.log.path or step.log.key)
            for each in batch:
                each.written = True

    def _batch(self, log: "QueuedLog") -> list[_Line]:
        """Return the first entries in the queue, all of that log, up to anything that is to be done with a log. What is
        told between them does not matter: it comes after the first, and entries may be written early.
        """
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
        """Call `act` until it works, or nothing is told any more. Raises SessionError if the log refuses for good."""
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
        """End the agent, since its log refused an entry for good. If it is closed already, warn that what came too late
        to be written is lost.
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
            self._fault = error  # After `_ending`: `owes` may be asked without `_changed`, and must find one of them.
            # Not the one that is being told at this moment: it would be answered twice.
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
    """Passes answers on in their turn. Invariant: once nothing is told any more, the requester is refused, once,
    instead of whatever else it would have been told.
    """

    def __init__(self, requester: Requester, telling: Telling) -> None:
        self._requester, self._telling, self._over = requester, telling, False

    def accepted(self, *, queued: bool, asked: bool = False) -> None:
        self._answer(lambda: self._requester.accepted(queued=queued, asked=asked))

    def heard(self, *, handled: bool) -> None:
        self._answer(lambda: self._requester.heard(handled=handled))

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
            over, self._over = self._over, True
        if not over:
            self._requester.refused(error)
