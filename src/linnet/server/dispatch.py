"""Takes a command to the session, and sees that it is answered exactly once."""

from collections.abc import Callable

from linnet.core.commands import (
    Accepted,
    Answer,
    Bash,
    Branch,
    CloneSession,
    Compact,
    ExportHtml,
    ListSessions,
    Navigate,
    NewSession,
    Prompt,
    Started,
    SwitchSession,
    Work,
)
from linnet.errors import LinnetError
from linnet.runtime.fault import explained
from linnet.runtime.job import Job
from linnet.runtime.session import Session
from linnet.wire.dialect import Asked, Dialect


def dispatch(asked: Asked, dialect: Dialect, session: Session, send: Callable[[bytes], None]) -> None:
    """`send` takes lines. Never raises."""
    reply = _Reply(dialect, asked, send)
    command = asked.command
    try:
        if isinstance(command, Prompt | Compact | NewSession | SwitchSession | Branch | CloneSession | Navigate):
            session.submit(reply.job(command))
        elif isinstance(command, Bash | ExportHtml | ListSessions):
            session.aside(command, reply.answer, reply.refuse)
        else:
            session.ask(command, reply.answer)
    except LinnetError as error:
        reply.refuse(dialect.explain(error))
    except Exception as fault:
        reply.refuse(explained(fault, f"a command broke: {asked.name}"))


class _Reply:
    """However the story of a command ends, the first answer that is given goes out, and no other."""

    def __init__(self, dialect: Dialect, asked: Asked, send: Callable[[bytes], None]) -> None:
        self._dialect = dialect
        self._asked = asked
        self._send = send
        self._sent = False

    def answer(self, answer: Answer) -> None:
        if not self._sent:
            self._sent = True
            self._send(self._dialect.answer(self._asked, answer))

    def refuse(self, reason: str) -> None:
        if not self._sent:
            self._sent = True
            self._send(self._dialect.refuse(self._asked, reason))

    def job(self, work: Work) -> Job:
        moment = self._dialect.moment(work)
        return Job(
            work,
            accepted=lambda: self.answer(Accepted()) if moment == "accepted" else None,
            started=lambda: self.answer(Started()) if moment == "started" else None,
            finished=lambda answer: self.answer(answer) if moment == "finished" else None,
            refused=self.refuse,
        )
