"""An answer that is waited for, and an error that is raised."""

from threading import Event
from typing import TypeVar

from linnet.core import commands
from linnet.errors import LinnetError
from linnet.runtime.requester import Requester
from linnet.runtime.session import Session

T = TypeVar("T")


def ask(session: Session, command: commands.Command, kind: type[T] = object) -> T:  # type: ignore[assignment]
    """Submit it, and wait for its answer. Raises what it was refused with."""
    waiting = _Waiting()
    session.submit(command, waiting)
    answer = waiting.take()
    assert isinstance(answer, kind)
    return answer


class _Waiting(Requester):
    """An answer that this or another thread will give."""

    def __init__(self) -> None:
        self._given = Event()
        self._answer: commands.Answer | None = None
        self._error: LinnetError | None = None

    def finished(self, answer: commands.Answer) -> None:
        self._answer = answer
        self._given.set()

    def refused(self, error: LinnetError) -> None:
        self._error = error
        self._given.set()

    def take(self) -> commands.Answer:
        self._given.wait()
        if self._error is not None:
            raise self._error
        assert self._answer is not None
        return self._answer
