"""A prompt of an editor's that is to be answered, and errors as the protocol has them."""

from collections.abc import Callable
from typing import Protocol

from msgspec import Raw

from linnet.core import commands
from linnet.errors import BadInput, ConfigError, LimitReached, LinnetError, MissingKey
from linnet.runtime.requester import Requester
from linnet.wire.acp import jsonrpc
from linnet.wire.acp.jsonrpc import RpcError

STOPS = {"end": "end_turn", "tool_use": "end_turn", "length": "max_tokens", "aborted": "cancelled"}


class Owner(Protocol):
    """Answers a prompt."""

    def ended(self, turn: "Turn", stop: str, error: LinnetError | None = None) -> None: ...


class Turn(Requester):
    """A prompt that is to be answered. Invariant: it is answered once; with `cancelled` if it was cancelled before."""

    def __init__(self, owner: Owner, id: Raw, command: commands.Prompt | commands.Compact) -> None:
        self.owner = owner
        self.id = id
        self.command = command
        self.number: int | None = None
        self.cancelled = False
        self.answered = False

    def is_cancelled(self) -> bool:
        """Return whether it was cancelled by now: another thread may do that."""
        return self.cancelled

    def finished(self, answer: commands.Answer) -> None:
        if isinstance(answer, commands.Done) and answer.stop == "error":
            self.refused(answer.failure or LinnetError(answer.error))
        else:
            self.owner.ended(self, STOPS[answer.stop] if isinstance(answer, commands.Done) else "end_turn")

    def refused(self, error: LinnetError) -> None:
        if isinstance(error, LimitReached) and error.limit == "max_steps":
            self.owner.ended(self, "max_turn_requests")
        else:
            self.owner.ended(self, "", error)


class Quiet(Requester):
    """Somebody who needs no answer, or only a good one."""

    def __init__(self, then: Callable[[commands.Answer], None] = lambda answer: None) -> None:
        self._then = then

    def finished(self, answer: commands.Answer) -> None:
        self._then(answer)


def rpc_error(error: LinnetError) -> RpcError:
    """Return an error as the protocol has it: its sentence, and our own word for it."""
    from linnet.store.session_folder import NoSuchSession

    code = jsonrpc.INTERNAL
    if isinstance(error, MissingKey):
        code = jsonrpc.AUTH_REQUIRED
    elif isinstance(error, NoSuchSession):
        code = jsonrpc.NOT_FOUND
    elif isinstance(error, BadInput | ConfigError):
        code = jsonrpc.INVALID_PARAMS
    return RpcError(code, str(error), {"code": error.code})
