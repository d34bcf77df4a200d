"""Submits a command to a session, and writes exactly one response to it, at the moment that the protocol demands."""

from collections.abc import Callable

from linnet.core.commands import Accepted, Answer, Started, Work
from linnet.errors import LinnetError
from linnet.runtime.requester import Requester
from linnet.runtime.session import Session
from linnet.wire.dialect import Asked, Dialect, Moment


def dispatch(asked: Asked, dialect: Dialect, session: Session, send: Callable[[bytes, bool], None]) -> None:
    """Submit the command; `send` is called with the line that answers it, and whether it succeeded. Never raises."""
    session.submit(asked.command, Reply(dialect, asked, send))


class Reply(Requester):
    """Sends the first answer that is due, and no other, however the command ends."""

    def __init__(self, dialect: Dialect, asked: Asked, send: Callable[[bytes, bool], None]) -> None:
        self._dialect = dialect
        self._asked = asked
        self._send = send
        self._sent = False
        work = isinstance(asked.command, Work)  # A prompt that turns out to be a command is answered when that ended.
        self._moment: Moment = dialect.moment(asked.command) if work else "finished"

    def accepted(self, *, queued: bool, asked: bool = False) -> None:
        if queued or not asked or self._moment != "heard":
            self._answer("accepted", Accepted(queued))

    def heard(self, *, handled: bool) -> None:
        if not handled:  # Otherwise the end of the prompt, which follows, is the answer.
            self._answer("heard", Accepted())

    def started(self) -> None:
        self._answer("started", Started())

    def finished(self, answer: Answer) -> None:
        self._answer("finished", answer)

    def refused(self, error: LinnetError) -> None:
        if not self._sent:
            self._sent = True
            self._send(self._dialect.refuse(self._asked, self._dialect.explain(error)), False)

    def _answer(self, moment: Moment, answer: Answer) -> None:
        awaited = moment == self._moment or (moment, self._moment) == ("accepted", "heard")
        if (awaited or moment == "finished") and not self._sent:
            self._sent = True
            self._send(self._dialect.answer(self._asked, answer), True)
