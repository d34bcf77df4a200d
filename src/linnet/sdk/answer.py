"""An answer that is waited for, and an error that is raised."""

from collections.abc import Callable
from threading import Lock
from typing import TypeVar

from linnet.changes import Changes
from linnet.core import commands
from linnet.errors import LinnetError
from linnet.runtime.requester import Requester
from linnet.runtime.session import Session
from linnet.sdk.beside import beside
from linnet.sdk.questions import Question

T = TypeVar("T")


def ask(session: Session, question: Question[T]) -> T:
    """Submit it, and wait for its answer. Raises what it was refused with."""
    changes = Changes()

    def tell() -> None:
        with changes.lock:
            changes.tell()

    answered = Answered(tell)
    try:
        beside.begin(lambda: answered.submit(session, question.command))
        changes.wait_for(lambda: answered.is_there, None)
    except BaseException:  # KeyboardInterrupt, say: what nobody waits for is not left running.
        beside.begin(answered.abort)
        raise
    return question.read(answered.take())


def say(session: Session, prompt: commands.Prompt) -> None:
    """To the agent that is working. Raises NotRunning if none is."""
    answered = Answered(lambda: None)
    beside.do(lambda: answered.submit(session, prompt))
    answered.check()


class Answered(Requester):
    """An answer that this or another thread will give; `notify` is called then, and must not block."""

    def __init__(self, notify: Callable[[], None]) -> None:
        self._notify = notify
        self._lock = Lock()
        self._session: Session | None = None
        self._number: int | None = None
        self._aborted = False
        self._answer: commands.Answer | None = None
        self._error: LinnetError | None = None

    def submit(self, session: Session, command: commands.Command) -> None:
        with self._lock:
            self._session = session
        number = session.submit(command, self)
        with self._lock:
            self._number = number
            aborted = self._aborted
        if aborted:
            session.abort(number)

    def abort(self) -> None:
        """A command in the background, such as a shell command, is killed; what is answered at once has been done."""
        with self._lock:
            self._aborted = True
            session, number = self._session, self._number
        if session is not None and number is not None:
            session.abort(number)

    def finished(self, answer: commands.Answer) -> None:
        self._answer = answer
        self._notify()

    def refused(self, error: LinnetError) -> None:
        self._error = error
        self._notify()

    @property
    def is_there(self) -> bool:
        return self._answer is not None or self._error is not None

    def check(self) -> None:
        if self._error is not None:
            raise self._error

    def take(self) -> commands.Answer:
        self.check()
        assert self._answer is not None
        return self._answer
