"""Asks a session that may sleep, and waits for what it says."""

from collections.abc import Callable
from threading import Event as Signal
from typing import TypeVar

from linnet.core import commands
from linnet.core.messages import ToolCall
from linnet.errors import LinnetError
from linnet.eventlog.event_log import EventLog
from linnet.runtime.requester import Requester
from linnet.runtime.session import Session
from linnet.serve.agents.sleeping_session import Act, Refuse
from linnet.serve.agents.snapshot import as_json, taken
from linnet.wire.dialect import Dialect
from linnet.wire.jsonl import encode_lines
from linnet.wire.served_frames import Unavailable

T = TypeVar("T")


class Askable:
    """Whoever inherits from it has a session to which something can be submitted, and a log of its events."""

    submit: Callable[[Act, Refuse], None]

    @property
    def log(self) -> EventLog:
        raise NotImplementedError

    def snapshot(self, dialect: Dialect, last: int | None = None, before: int | None = None) -> bytes:
        """Return how the agent is at this moment, as a JSON object. Blocks, for as long as it takes to wake. Raises
        LinnetError.
        """

        def ask(session: Session) -> bytes:
            with session.still:
                seq, opened = self.log.live()
                return as_json(taken(session, dialect, seq, opened, last, before))

        return self.asked(ask)

    def asked(self, ask: Callable[[Session], T]) -> T:
        """Return what a function says of the session, once that is awake. Blocks. Raises LinnetError."""
        done = Signal()
        found: list[T] = []
        wrong: list[LinnetError] = []

        def act(session: Session) -> None:
            try:
                found.append(ask(session))
            except LinnetError as error:
                wrong.append(error)
            finally:
                done.set()

        def refuse(error: LinnetError) -> None:
            wrong.append(error)
            done.set()

        self.submit(act, refuse)
        done.wait()
        if not found:
            raise wrong[0] if wrong else LinnetError("the agent could not be asked")
        return found[0]

    def tell_snapshot(self, dialect: Dialect, tell: Callable[[int, bytes], None]) -> None:
        def act(session: Session) -> None:
            with session.still:
                seq, opened = self.log.live()
                line = taken(session, dialect, seq, opened).event()
            tell(seq, line)

        self.submit(act, lambda error: tell(self.log.told, encode_lines([Unavailable(str(error))])))

    def end_input(self, *, finishes: bool) -> None:
        def act(session: Session) -> None:
            session.end_input()
            if not finishes:
                session.stop()

        self.submit(act, lambda error: None)

    def denies(self, call: ToolCall) -> bool:
        return self.asked(lambda session: session.denies(call))

    def quietly(self, command: commands.Command) -> None:
        """Carry out a command for which nobody waits."""
        self.submit(lambda session: submitted(session, command), lambda error: None)


def submitted(session: Session, command: commands.Command) -> None:
    """Carry out a command for which nobody waits."""
    session.submit(command, Requester())
