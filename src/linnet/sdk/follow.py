"""One prompt or compaction, followed from the moment it is asked for to its end."""

from collections.abc import Sequence
from threading import Lock
from typing import Any

from linnet.core import commands
from linnet.core.cancel import Cancel
from linnet.core.events import Event, Settled
from linnet.core.messages import Usage
from linnet.errors import BadInput, Busy, Cancelled, Closed, LinnetError
from linnet.runtime.listener import Listener
from linnet.runtime.requester import Requester
from linnet.runtime.session import Session
from linnet.sdk.beside import beside
from linnet.sdk.events import encode
from linnet.sdk.result import Recording, Result
from linnet.sdk.stream import ROOM, Stream

NOT_ENDED = "the run has not ended; its result is there after its last event"


class Ear(Listener):
    """Hears all that happens in a session, and hands it to whoever follows the job that goes on.

    Invariant: one job is followed at a time, and another one only after that has ended or was let go of.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._latest: Followed | None = None
        self.active: Followed | None = None

    def take_up(self, followed: "Followed") -> None:
        """Raises Busy while somebody follows a job that has not ended."""
        with self._lock:
            latest = self._latest
            if latest is not None and not (latest.has_ended or latest.abandoned):
                raise Busy
            self._latest = followed

    @property
    def latest(self) -> "Followed | None":
        return self._latest

    def hear(self, events: Sequence[Event]) -> None:
        if self.active is not None:
            self.active.hear(events)

    def warned(self, sentence: str) -> None:
        if self.active is not None:
            self.active.warnings.append(sentence)
        else:  # There is no result that could say it.
            from linnet.runtime.text_files import warn

            warn(sentence)

    def pace(self, cancel: Cancel) -> None:
        if self.active is not None:
            self.active.stream.pace(cancel)

    def is_behind(self) -> bool:
        return self.active is not None and self.active.stream.is_behind


class Followed(Requester):
    """Without `streams`, only the result is kept. `abandoned`: nobody waits for its end any more, so that the next job
    may be asked for, which begins when this one has ended.
    """

    def __init__(self, ear: Ear, *, streams: bool, room: int = ROOM) -> None:
        self.stream = Stream(room)
        self.abandoned = False
        self.error: LinnetError | None = None  # Why it was refused.
        self.warnings: list[str] = []
        self._ear = ear
        self._streams = streams
        self._lock = Lock()
        self._session: Session | None = None
        self._number: int | None = None
        self._abort_asked = False
        self._began = False
        self._recording = Recording()
        self._settled: Settled | None = None
        self._answer: commands.Answer | None = None
        self._before = self._after = Usage()
        self._file: str | None = None
        self._result: Result[Any] | None = None

    @property
    def has_ended(self) -> bool:
        return self.stream.has_ended

    @property
    def result(self) -> Result[Any]:
        """Raises BadInput before the end, and what it was refused with."""
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
        """Of a compaction. Raises why there is none; Cancelled, if it was aborted."""
        if isinstance(self._answer, commands.Compacted):
            return self._answer.result.summary.text
        if self._settled is not None and self._settled.stop == "aborted":
            raise Cancelled
        raise self.error or LinnetError("the compaction was not carried out")

    def check(self) -> None:
        """Raises why it was refused, if it never began."""
        if self.error is not None and not self._began:
            raise self.error

    def submit(self, session: Session, work: commands.Prompt | commands.Compact) -> None:
        """Never raises; what goes wrong is an end, too."""
        with self._lock:
            self._session = session
        if self.abandoned:
            self.refused(Closed("the run was left before it began"))
            return
        number = session.submit(work, self)
        with self._lock:
            self._number = number
            aborted = self._abort_asked
        if aborted:
            session.abort(number)

    def fail(self, error: LinnetError) -> None:
        """It could not even be submitted."""
        self.refused(error)

    def abort(self) -> None:
        """It ends, with its last events. An abort that comes before it was submitted counts too."""
        with self._lock:
            self._abort_asked = True
            session, number = self._session, self._number
        if session is not None and number is not None:
            session.abort(number)

    def abandon(self) -> None:
        """Abort it, and take no more of its events. Returns at once."""
        self.abandoned = True
        self.stream.close()
        self.abort()

    def let_go(self) -> None:
        """The same for whoever was interrupted; another job may be asked for from here on."""
        self.abandoned = True
        beside.begin(self.abandon)

    def started(self) -> None:
        assert self._session is not None
        self._began = True
        self._before = self._session.spent
        self._ear.active = self

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
        if self._began and self._session is not None:
            self._ear.active = None
            self._after = self._session.spent
            self._file = self._session.file
        self.stream.end()
