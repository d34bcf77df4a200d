"""A handle on one prompt or compaction, from its submission to its end; the listener that passes events to it, and the
stream from which a program takes them.
"""

from collections import deque
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from linnet.changes import Changes
from linnet.core import commands
from linnet.core.cancel import Cancel
from linnet.core.events import Event, Settled
from linnet.core.messages import Usage
from linnet.errors import BadInput, Busy, Cancelled, Closed, LinnetError
from linnet.runtime.listener import Listener
from linnet.runtime.requester import Requester
from linnet.runtime.session import Session
from linnet.sdk.beside import beside
from linnet.sdk.event_types import Event as ToldEvent
from linnet.sdk.event_types import encode
from linnet.sdk.result import Recording, Result

ROOM = 10_000  # Events that nobody has taken, above which a run waits.
NOT_ENDED = "the run has not ended; its result is there after its last event"


class RunListener(Listener):
    """Passes what happens in a session to the handle of the job that goes on.

    Invariant: one job is followed at a time, and another one only after that has ended or was abandoned.
    """

    def __init__(self) -> None:
        self._lock = Lock()  # Of `_latest`: several threads may ask for a job at once, and one of them gets it.
        self._latest: RunHandle | None = None  # The job that was asked for last.
        self.active: RunHandle | None = None  # The one that goes on. Read once in a method: another thread may end it.

    def take_up(self, handle: "RunHandle") -> None:
        """Follow another job. Raises Busy while somebody follows one that has not ended."""
        with self._lock:
            latest = self._latest
            if latest is not None and not (latest.has_ended or latest.abandoned):
                raise Busy
            self._latest = handle

    @property
    def latest(self) -> "RunHandle | None":
        """Return the job that was asked for last."""
        return self._latest

    def hear(self, events: Sequence[Event]) -> None:
        if (active := self.active) is not None:
            active.hear(events)

    def warned(self, sentence: str) -> None:
        if (active := self.active) is not None:
            active.warnings.append(sentence)
        else:  # There is no result that could say it.
            from linnet.runtime.project.text_files import warn

            warn(sentence)

    def pace(self, cancel: Cancel) -> None:
        if (active := self.active) is not None:
            active.stream.pace(cancel)

    def is_behind(self) -> bool:
        active = self.active
        return active is not None and active.stream.is_behind


class Submission(Requester):
    """A command that can be aborted at any moment, also before it is submitted or has a number."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._session: Session | None = None
        self._number: int | None = None
        self._abort_asked = False

    def submit(self, session: Session, command: commands.Command) -> None:
        """Submit a command, and abort it if that was asked for meanwhile."""
        with self._lock:
            self._session = session
        number = session.submit(command, self)  # Not under `_lock`: it calls back, and takes the session's lock.
        with self._lock:
            self._number = number
            aborted = self._abort_asked
        if aborted:
            session.abort(number)

    def abort(self) -> None:
        """Abort a job, which ends with its last events, or kill a background command. Other commands are not undone."""
        with self._lock:
            self._abort_asked = True
            session, number = self._session, self._number
        if session is not None and number is not None:
            session.abort(number)


class RunHandle(Submission):
    """A job, as the program that asked for it sees it: its events, its result, why it was refused, and the way to abort
    it.
    """

    def __init__(self, listener: RunListener, *, streams: bool, room: int = ROOM) -> None:
        """With `streams`, events are kept to be taken; without, only the result is. `room` is that of the stream."""
        super().__init__()
        self.stream = Stream(room)
        self.abandoned = False  # Nobody waits for its end: another job may be asked for, and begins after this one.
        self.error: LinnetError | None = None  # Why it was refused.
        self.warnings: list[str] = []
        self._listener = listener
        self._streams = streams
        self._began = False
        self._recording = Recording()
        self._settled: Settled | None = None
        self._answer: commands.Answer | None = None
        self._before = self._after = Usage()
        self._file: str | None = None
        self._result: Result[Any] | None = None

    @property
    def has_ended(self) -> bool:
        """Return whether the job has ended or was refused."""
        return self.stream.has_ended

    @property
    def result(self) -> Result[Any]:
        """Return the result of a run. Raises BadInput before its end, and what it was refused with if it
        never began.
        """
        if not self.has_ended:
            raise BadInput(NOT_ENDED)
        if self._result is None:
            self.check()
            done = self._answer if isinstance(self._answer, commands.Done) else None
            if done is None:  # It broke, and that is how it ended.
                done = commands.Done("error", str(self.error), self.error)
            self._result = self._recording.result(done, self._before, self._after, self._file, self.warnings)
        return self._result

    @property
    def summary(self) -> str:
        """Return the summary of a compaction. Raises the error for which there is none; Cancelled if it was aborted."""
        if isinstance(self._answer, commands.Compacted):
            return self._answer.result.summary.text
        if self._settled is not None and self._settled.stop == "aborted":
            raise Cancelled
        raise self.error or LinnetError("the compaction was not carried out")

    def check(self) -> None:
        """Raise what the job was refused with, if it never began."""
        if self.error is not None and not self._began:
            raise self.error

    def submit(self, session: Session, command: commands.Command) -> None:
        """Submit the job, unless it was abandoned before. Never raises: what goes wrong ends the job."""
        if self.abandoned:
            self.refused(Closed("the run was left before it began"))
        else:
            super().submit(session, command)

    def abandon(self) -> None:
        """Abort the job, and drop its events from here on. Does not wait for its end."""
        self.abandoned = True
        self.stream.close()
        self.abort()

    def let_go(self) -> None:
        """Abandon the job after Ctrl-C, in another thread, since a second Ctrl-C may come. Another job may begin at
        once.
        """
        self.abandoned = True
        beside.begin(self.abandon)

    def started(self) -> None:
        assert self._session is not None
        self._began = True
        self._before = self._session.spent
        self._listener.active = self

    def hear(self, events: Sequence[Event]) -> None:
        self._recording.add(events)
        if isinstance(events[-1], Settled):
            self._settled = events[-1]
        if self._streams:
            self.stream.put(encode(events))

    def finished(self, answer: commands.Answer) -> None:
        self._answer = answer
        self._end()

    def refused(self, error: LinnetError) -> None:
        self.error = error
        self._end()

    def _end(self) -> None:
        """Note what the session has cost by now, and end the stream, last: whoever waits for that reads the result."""
        if self._began and self._session is not None:
            self._listener.active = None
            self._after = self._session.spent
            self._file = self._session.file
        self.stream.end()


class Stream:
    """Events that were told and not yet taken. With more than `room` of them, the run waits. A closed stream takes in
    nothing more, and no run waits for it.

    `put` and `end` are called under the session's lock, mostly; `take`, `close` and `wait` by the program.
    """

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._changes = Changes()
        self._events: deque[ToldEvent] = deque()
        self._closed = False
        self._ended = False  # The run itself is over, whether or not anybody listens.
        self.notify: Callable[[], None] = lambda: None  # Called when there is something new; must not block.

    def put(self, events: Sequence[ToldEvent]) -> None:
        """Add events to be taken."""
        if not events:
            return
        with self._changes.lock:
            if self._closed:
                return
            was_empty = not self._events
            self._events.extend(events)
            self._changes.tell()
        if was_empty:  # Or else whoever takes them has been told, and has not come yet.
            self.notify()

    def end(self) -> None:
        """Take note that nothing more will come: the run has ended."""
        with self._changes.lock:
            self._ended = True
            self._changes.tell()
        self.notify()

    def pace(self, cancel: Cancel) -> None:
        """Wait until there is room, or the stream is closed. Raises Cancelled if an abort comes."""
        if len(self._events) <= self._room:
            return
        with cancel.interrupting(self._wake):
            self._changes.wait_for(lambda: len(self._events) <= self._room or self._closed or cancel.is_set, None)

    def take(self, most: int, *, block: bool) -> list[ToldEvent]:
        """Return the next events, at most so many. With `block`, wait for one: none means that there will be none."""
        if block:
            self._changes.wait_for(lambda: bool(self._events) or self._closed or self._ended, None)
        with self._changes.lock:
            was_behind = len(self._events) > self._room
            taken = [self._events.popleft() for _ in range(min(most, len(self._events)))]
            if was_behind and len(self._events) <= self._room:
                self._changes.tell()
            return taken

    @property
    def is_behind(self) -> bool:
        """Return whether there is no room for more."""
        return len(self._events) > self._room and not self._closed

    @property
    def is_over(self) -> bool:
        """Return whether there is nothing more to take: the run has ended and all was taken, or the stream is
        closed.
        """
        with self._changes.lock:
            return self._closed or (self._ended and not self._events)

    @property
    def has_ended(self) -> bool:
        """Return whether the run has ended, also if not all of it was taken."""
        return self._ended

    def close(self) -> None:
        """Drop what was not taken, and whatever comes from here on."""
        with self._changes.lock:
            self._closed = True
            self._events.clear()
            self._changes.tell()

    def wait(self) -> None:
        """Block until the run has ended."""
        self._changes.wait_for(lambda: self._ended, None)

    def _wake(self) -> None:
        with self._changes.lock:
            self._changes.tell()
