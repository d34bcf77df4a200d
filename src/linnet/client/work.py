"""The interface of state machines that follow what an agent does, by what is sent to it and what comes back. Pure."""

from typing import Any, Protocol

from msgspec import Struct

from linnet.client.request import Request
from linnet.wire.incoming import Reply


class Begun(Struct, frozen=True):
    """What a command asked for has begun: the events from here on are about it."""

    id: str


class Ended(Struct, frozen=True):
    """What a command asked for is over, with everything that followed from it."""

    id: str


class Work(Protocol):
    """What an agent is doing, as far as its client can tell.

    Invariant: every command that begins something is Ended once, in the end, or its answer was a refusal.
    """

    answers: bool
    """Whether commands are answered at all."""

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs, waits or is about to follow by itself."""

    @property
    def question(self) -> Request[Any] | None:
        """What to ask the agent to learn whether it is idle, where events do not tell; None if there is no need."""

    def sent(self, id: str, request: Request[Any]) -> list[Begun | Ended]:
        """Take in that a command was sent; return what begins or ends by that, as the others do."""

    def answered(self, id: str, request: Request[Any], reply: Reply) -> list[Begun | Ended]:
        """Take in the answer to a command."""

    def heard(self, event: object) -> list[Begun | Ended]:
        """Take in an event."""

    def learned(self, reply: Reply) -> list[Begun | Ended]:
        """Take in the answer to `question`."""
