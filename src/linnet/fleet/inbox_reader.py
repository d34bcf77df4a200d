"""Carries out the commands that wait for an owned agent, one after the other."""

from collections.abc import Callable
from threading import Lock

from linnet.core import commands
from linnet.core.fleet.records import Answered, Hold, Waiting
from linnet.depot.depot import Depot, Fenced
from linnet.errors import LinnetError, LogUnavailable
from linnet.fleet.batching import Begun
from linnet.fleet.committer import Committer
from linnet.fleet.spoken import Dialects
from linnet.runtime.error_report import hand_over
from linnet.runtime.session import Session
from linnet.server.dispatch import Reply
from linnet.wire.dialect import Rejected

UNKNOWN = (
    "nobody knows what became of this command: the worker that had begun it was lost; it is not carried out again: "
    "find out what was done before you send it with another id"
)


class InboxReader:
    """Invariant: commands are carried out in the order in which they were asked, by a thread that is there while any
    wait.
    """

    def __init__(
        self, depot: Depot, hold: Hold, committer: Committer, session: Session, lost: Callable[[LinnetError], None]
    ) -> None:
        """`lost` is called if somebody else owns the agent."""
        self._depot = depot
        self._hold = hold
        self._committer = committer
        self._session = session
        self._lost = lost
        self._dialects = Dialects()
        self._after = 0  # The number of the last command that was looked at.
        self._lock = Lock()  # Guards what follows.
        self._poked = False
        self._at_work = False
        self._stopped = False

    @property
    def at_work(self) -> bool:
        return self._at_work

    def poke(self) -> None:
        """Look for commands. Never blocks."""
        with self._lock:
            self._poked = True
            if self._at_work or self._stopped:
                return
            self._at_work = True
        try:
            hand_over("linnet-inbox", self._look)
        except LinnetError:  # Whoever polls comes again.
            self._rest()

    def stop(self) -> None:
        """Begin no command any more. Never blocks."""
        self._stopped = True

    def _look(self) -> None:
        while True:
            with self._lock:
                if not self._poked or self._stopped:
                    self._at_work = False
                    return
                self._poked = False
            try:
                waiting = self._depot.commands(self._hold, self._after)
            except Fenced as error:
                self._rest()
                self._lost(error)
                return
            except LogUnavailable:  # Whoever polls comes again.
                self._rest()
                return
            for each in waiting:
                if not self._stopped:
                    self._after = each.number
                    self._carry_out(each)

    def _rest(self) -> None:
        with self._lock:
            self._at_work = False

    def _carry_out(self, waiting: Waiting) -> None:
        """Carry out one command, and answer it in its place. Never raises."""
        said, committer = waiting.asked, self._committer

        def send(line: bytes, succeeded: bool) -> None:
            committer.add(Answered(waiting.number, said.client, said.name, line))

        try:
            dialect = self._dialects.by(said.dialect)
        except LinnetError as error:
            send(str(error).encode(), False)
            return
        asked = dialect.decode(said.line)
        if isinstance(asked, Rejected):
            send(dialect.refuse(asked, asked.reason), False)
            return
        if waiting.begun:
            send(dialect.refuse(asked, UNKNOWN, "unknown"), False)
            return
        begins = Begun(waiting.number)
        if isinstance(asked.command, commands.Bash):  # What it does outside is not undone if its beginning is lost.
            try:
                committer.wait(committer.add(begins))
            except LinnetError:
                return
        with committer.together():
            if not isinstance(asked.command, commands.Query | commands.Bash):
                committer.add(begins)
            self._session.submit(asked.command, Reply(dialect, asked, send))


def refused(waiting: Waiting, error: LinnetError, dialects: Dialects) -> Answered:
    """Return the answer to a command of an agent that cannot be opened."""
    said = waiting.asked
    dialect = dialects.by(said.dialect)
    line = dialect.refuse(dialect.decode(said.line), dialect.explain(error), error.code)
    return Answered(waiting.number, said.client, said.name, line)
