"""Carries out the commands that wait for an owned agent, one after the other."""

from collections.abc import Callable, Sequence

from msgspec import MsgspecError, Raw
from msgspec.json import encode
from msgspec.structs import replace

from linnet.core import commands
from linnet.core.events import Event
from linnet.core.fleet.records import Answered, Asked, Hold, Waiting
from linnet.core.messages import ToolCall
from linnet.core.toolspec import ToolSpec
from linnet.decoding import decoder_of
from linnet.depot.depot import Depot, Fenced
from linnet.errors import LinnetError, LogUnavailable
from linnet.fleet.asides import Said, SnapshotWanted
from linnet.fleet.batching import Begun
from linnet.fleet.committer import Committer
from linnet.fleet.poked import Poked
from linnet.fleet.spoken import Dialects
from linnet.runtime.requester import Requester
from linnet.runtime.session import Session
from linnet.runtime.tools.open_questions import NotYetAsked
from linnet.serve.agents.snapshot import as_json, taken
from linnet.server.dispatch import Reply
from linnet.wire.dialect import Asked as CommandAsked
from linnet.wire.dialect import Dialect, Rejected

UNKNOWN = (
    "nobody knows what became of this command: the worker that had begun it was lost; it is not carried out again: "
    "find out what was done before you send it with another id"
)


class InboxReader:
    """Invariant: commands are carried out in the order in which they were asked, by a thread that is there while any
    wait.
    """

    def __init__(
        self,
        depot: Depot,
        hold: Hold,
        committer: Committer,
        session: Session,
        live: Callable[[], tuple[int, list[Event]]],
        lost: Callable[[LinnetError], None],
    ) -> None:
        """`live` returns the number of the last event and what is open, while the session is still. `lost` is called if
        somebody else owns the agent.
        """
        self._depot = depot
        self._hold = hold
        self._committer = committer
        self._session = session
        self._live = live
        self._lost = lost
        self._tools: dict[str, Sequence[ToolSpec]] = {}  # Of clients, by the connections that they were declared on.
        self._dialects = Dialects()
        self._after = 0  # The number of the last command that was looked at.
        self._held: list[Waiting] = []  # Answers to questions that are about to be asked again.
        self._looking = Poked("linnet-inbox", self._look)

    @property
    def at_work(self) -> bool:
        return self._looking.at_work

    def poke(self) -> None:
        """Look for commands. Never blocks."""
        self._looking.poke()

    def stop(self) -> None:
        """Begin no command any more. Never blocks."""
        self._looking.stop()

    def _look(self) -> None:
        try:
            waiting = self._depot.commands(self._hold, self._after)
        except Fenced as error:
            self._looking.stop()
            self._lost(error)
            return
        except LogUnavailable:  # Whoever polls comes again.
            return
        held, self._held = self._held, []
        for each in [*held, *waiting]:
            if not self._looking.stopped:
                self._after = max(self._after, each.number)
                self._carry_out(each)

    def _carry_out(self, waiting: Waiting) -> None:
        """Carry out one command, and answer it in its place. Never raises."""
        said, committer = waiting.asked, self._committer
        if said.kind != "line":
            self._see_to(waiting)
            return

        def send(line: bytes, succeeded: bool) -> None:
            committer.add(Answered(waiting.number, said.client, said.name, line, self._session.busy))

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
        if isinstance(asked.command, commands.SetTools):
            self._tools[said.owner] = asked.command.tools
            asked = replace(asked, command=commands.SetTools(self._all_tools()))
        begins = Begun(waiting.number)
        if isinstance(asked.command, commands.Bash):  # What it does outside is not undone if its beginning is lost.
            try:
                committer.wait(committer.add(begins))
            except LinnetError:
                return
        with committer.together():
            if not isinstance(asked.command, commands.Query | commands.Control | commands.Bash):
                committer.add(begins)
            self._session.submit(asked.command, _Reply(dialect, asked, send, lambda: self._held.append(waiting)))

    def _see_to(self, waiting: Waiting) -> None:
        """See to what a door asks for itself. Never raises."""
        said, session = waiting.asked, self._session
        answer = Said()
        with self._committer.together():
            try:
                match said.kind:
                    case "snapshot":
                        answer = Said(self._snapshot(said))
                    case "denies":
                        call = decoder_of(ToolCall).decode(said.line)
                        answer = Said(Raw(b"true" if session.denies(call) else b"false"))
                    case "forget":
                        self._tools.pop(said.client, None)
                        session.submit(commands.SetTools(self._all_tools()), Requester())
                    case "end_input":
                        session.end_input()
                        if not said.line:
                            session.submit(commands.Abort(), Requester())
                    case "abort":
                        session.submit(commands.Abort(), Requester())
                    case _:
                        pass
            except (LinnetError, MsgspecError) as error:
                answer = Said(error=str(error) or type(error).__name__)
            self._committer.add(Answered(waiting.number, said.client, said.name, encode(answer)))

    def _snapshot(self, said: Asked) -> Raw:
        """Return how the agent is, as its answer stands among what is told. Raises LinnetError, MsgspecError."""
        wanted = decoder_of(SnapshotWanted).decode(said.line)
        dialect = self._dialects.by(said.dialect)
        with self._session.still:
            seq, opened = self._live()
            found = taken(self._session, dialect, seq, opened, wanted.last, wanted.before)
        return Raw(as_json(found) if wanted.whole else found.event().strip())

    def _all_tools(self) -> tuple[ToolSpec, ...]:
        """Return the tools that clients run; of two with one name, the one that was declared last."""
        return tuple({spec.name: spec for specs in self._tools.values() for spec in specs}.values())


class _Reply(Reply):
    """Answers no command that came too early: it stays in the inbox, also for the next owner."""

    def __init__(
        self, dialect: Dialect, asked: CommandAsked, send: Callable[[bytes, bool], None], hold: Callable[[], None]
    ) -> None:
        super().__init__(dialect, asked, send)
        self._hold = hold

    def refused(self, error: LinnetError) -> None:
        if isinstance(error, NotYetAsked):
            self._hold()
        else:
            super().refused(error)


def refused(waiting: Waiting, error: LinnetError, dialects: Dialects) -> Answered:
    """Return the answer to a command of an agent that cannot be opened."""
    said = waiting.asked
    dialect = dialects.by(said.dialect)
    line = dialect.refuse(dialect.decode(said.line), dialect.explain(error), error.code)
    return Answered(waiting.number, said.client, said.name, line)
