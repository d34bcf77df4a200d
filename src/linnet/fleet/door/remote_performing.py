"""Carries out the commands of one client of an agent that runs elsewhere: they are put into its inbox."""

from collections.abc import Callable
from hashlib import blake2b
from typing import TYPE_CHECKING
from uuid import uuid4

from linnet.core import commands
from linnet.core.fleet.records import Asked as Queued
from linnet.decoding import decoder_of
from linnet.errors import LinnetError
from linnet.serve.agents.doors import Place, Role
from linnet.serve.agents.performing import REUSED, WATCHING
from linnet.wire.dialect import Asked, Dialect, Rejected
from linnet.wire.jsonl import Overlong

if TYPE_CHECKING:
    from linnet.fleet.door.remote_agent import RemoteAgent

from msgspec import DecodeError, Struct

GONE = "the agent is gone: it was closed"


class _Outcome(Struct):
    success: bool = True


_outcome = decoder_of(_Outcome)


class RemotePerforming:
    """`Performs` for an agent that runs elsewhere."""

    def __init__(
        self, agent: "RemoteAgent", dialect: Dialect, role: Role, client: str, place: Place, connection: str
    ) -> None:
        """`connection` is whose tools are declared."""
        self._agent = agent
        self._dialect = dialect
        self._role: Role = role
        self._client = client
        self._place = place
        self._connection = connection

    def carry_out(self, asked: Asked | Rejected, line: bytes | Overlong, key: str = "") -> None:
        if isinstance(asked, Rejected):
            self._send(self._dialect.refuse(asked, asked.reason), None)
            return
        if isinstance(line, Overlong):
            self._send(self._dialect.refuse(asked, line.reason), None)
            return
        self._agent.count_command()
        if self._role == "watch" and not isinstance(asked.command, commands.Query):
            self._refuse(asked, WATCHING.format(asked.name), "watching")
            return
        reason, code = self._agent.refusal(asked.command)
        if reason:
            self._refuse(asked, reason, code)
            return
        id = key or bytes(asked.id).decode("utf-8", "replace")
        named = bool(self._client and id) and self._role != "watch"
        self._ask(asked, line, (self._client, id) if named else (self._connection, uuid4().hex))

    def _ask(self, asked: Asked, line: bytes, name: tuple[str, str]) -> None:
        if isinstance(asked.command, commands.SetTools):
            self._agent.declares(self._connection)
        digest = blake2b(line.strip(), digest_size=12).hexdigest()
        client, id = name
        said = Queued(
            client=client,
            name=id,
            dialect=self._dialect.name,
            role=self._role,
            owner=self._connection,
            line=line,
            digest=digest,
        )
        try:
            became = self._agent.ask(said, lambda answer, after: self._answered(asked, answer))
        except LinnetError as error:
            self._refuse(asked, str(error), error.code)
            return
        if became == "reused":
            self._refuse(asked, REUSED, "reused")
        elif became == "gone":
            self._refuse(asked, GONE, "closed")

    def _answered(self, asked: Asked, line: bytes) -> None:
        try:
            succeeded = not line or _outcome.decode(line).success
        except DecodeError:
            succeeded = False
        self._send(line, asked if succeeded else None)

    def _refuse(self, asked: Asked, reason: str, code: str) -> None:
        self._send(self._dialect.refuse(asked, reason, code), None)

    def _send(self, line: bytes, heeded: Asked | None) -> None:
        self._place()(line, heeded)


def sending(send: Callable[[bytes], None]) -> Place:
    """Return a place for the answer to the one command of a request."""
    return lambda: lambda line, heeded: send(line)
