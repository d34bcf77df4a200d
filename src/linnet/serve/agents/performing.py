"""Carries out the commands of one client of an agent: what its role allows, once if it names itself."""

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING

from msgspec.structs import replace

from linnet.core import commands
from linnet.errors import Closed, LinnetError
from linnet.runtime.session import Session
from linnet.serve.agents.doors import Place, Role, Send
from linnet.server.dispatch import Reply
from linnet.wire.dialect import Asked, Dialect, Rejected
from linnet.wire.jsonl import Overlong

if TYPE_CHECKING:
    from linnet.serve.agents.served_agent import Agent

WATCHING = "you are watching this agent: {} would change something; attach with the role drive"
UNKNOWN = (
    "nobody knows what became of this command: the server ended after it had begun; it is not carried out again: find "
    "out what was done before you send it with another id"
)
REUSED = "another command was sent with this id: give each command an id of its own"
NOT_KEPT = "the command is not carried out: what was carried out before is not known, or this could not be noted: {}"


class _Answering:
    """The answer to one command. It is told when the command was submitted, and what that began is written: whatever
    was acknowledged is not lost by a kill. Any thread may decide it.
    """

    def __init__(self, place: Place, note: Callable[[bytes], None]) -> None:
        """`note` is called with the answer before it is told."""
        self._place = place
        self._note = note
        self._lock = Lock()
        self._submitted = False
        self._decided: tuple[Send, bytes, Asked | None] | None = None

    def decide(self, line: bytes, heeded: Asked | None) -> None:
        """Take the answer."""
        send = self._place()
        with self._lock:
            if not self._submitted:
                self._decided = (send, line, heeded)
                return
        self._tell(send, line, heeded)

    def hold(self) -> None:
        """Tell nothing before `submitted` is called, once more: what has waited is about to begin."""
        with self._lock:
            self._submitted = False

    def submitted(self) -> None:
        """Take note that the command was submitted, and what that began is written."""
        with self._lock:
            self._submitted = True
            decided, self._decided = self._decided, None
        if decided is not None:
            self._tell(*decided)

    def _tell(self, send: Send, line: bytes, heeded: Asked | None) -> None:
        self._note(line)
        send(line, heeded)


class _Reply(Reply):
    """Answers a command that may have waited: it is told of its beginning when that is written."""

    def __init__(self, agent: "Agent", dialect: Dialect, asked: Asked, answering: _Answering) -> None:
        super().__init__(dialect, asked, lambda line, succeeded: answering.decide(line, asked if succeeded else None))
        self._agent = agent
        self._answering = answering
        self._begins = isinstance(asked.command, commands.Prompt | commands.Compact)

    def started(self) -> None:
        if self._begins:
            self._answering.hold()
            self._agent.when_begun(self._answering.submitted)
        super().started()


class Performing:
    """`Performs` for an agent of this process."""

    def __init__(
        self, agent: "Agent", dialect: Dialect, role: Role, client: str, place: Place, owner: object = None
    ) -> None:
        """`owner` is whose tools are declared: those of a connection go when it goes."""
        self._agent = agent
        self._dialect = dialect
        self._role = role
        self._client = client
        self._place = place
        self._owner = owner if owner is not None else client or "http"

    def take(self, line: bytes | Overlong, key: str = "") -> None:
        """Carry out the command in this line. `key` is its name, if that is not its id. Never raises."""
        self.carry_out(self._dialect.decode(line), line, key)

    def carry_out(self, asked: Asked | Rejected, line: bytes | Overlong, key: str = "") -> None:
        """Carry out a command, which this line says. `key` is its name, if that is not its id. Never raises."""
        if isinstance(asked, Rejected):
            self._send(self._dialect.refuse(asked, asked.reason), None)
            return
        self._agent.count_command()
        changes = not isinstance(asked.command, commands.Query)
        if changes and self._role == "watch":
            self._refuse(asked, WATCHING.format(asked.name), "watching")
            return
        name = key or bytes(asked.id).decode("utf-8", "replace")
        # A watcher's questions have no names: a driver's would not be free any more, and what is kept has its limits.
        if not self._client or not name or self._role == "watch" or isinstance(line, Overlong):
            self._begin(asked, lambda answer: None)
            return
        self._begin_once(asked, (self._client, name), line, changes=changes)

    def _begin_once(self, asked: Asked, name: tuple[str, str], line: bytes, *, changes: bool) -> None:
        try:
            named = self._agent.named
            verdict = named.begin(name, line, lambda answer: self._send(answer, asked), changes=changes)
        except Closed as error:
            self._refuse(asked, str(error), error.code)
            return
        except (OSError, LinnetError) as error:
            self._refuse(asked, NOT_KEPT.format(getattr(error, "strerror", None) or error), "internal")
            return
        if verdict == "new":
            self._begin(asked, lambda answer: named.finish(name, answer, changes=changes))
            return
        self._agent.rest_named()
        match verdict:
            case "waits":
                pass
            case "unknown":
                self._refuse(asked, UNKNOWN, "unknown")
            case "reused":
                self._refuse(asked, REUSED, "reused")
            case bytes():
                self._send(verdict, asked)

    def _begin(self, asked: Asked, note: Callable[[bytes], None]) -> None:
        answering = _Answering(self._place, note)
        reason, code = self._agent.refusal(asked.command)
        if reason:
            answering.decide(self._dialect.refuse(asked, reason, code), None)
            answering.submitted()
            return
        if isinstance(asked.command, commands.SetTools):
            tools = self._agent.declare(self._owner, asked.command.tools)
            asked = replace(asked, command=commands.SetTools(tools))
        reply = _Reply(self._agent, self._dialect, asked, answering)

        def act(session: Session) -> None:
            session.submit(asked.command, reply)
            answering.submitted()

        def refuse(error: LinnetError) -> None:
            reply.refused(error)
            answering.submitted()

        self._agent.submit(act, refuse)

    def _send(self, line: bytes, heeded: Asked | None) -> None:
        self._place()(line, heeded)

    def _refuse(self, asked: Asked, reason: str, code: str) -> None:
        self._send(self._dialect.refuse(asked, reason, code), None)
