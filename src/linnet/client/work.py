"""What an agent is doing, as far as its client can tell. Pure: sent commands, answers and events in, ends out."""

from typing import Any, Protocol

from msgspec import Struct

from linnet.client.request import Request
from linnet.wire.incoming import Reply


class Begun(Struct, frozen=True):
    """What this command asked for has begun: the events from here on are about it."""

    id: str


class Ended(Struct, frozen=True):
    """What this command asked for is over, with everything that followed from it."""

    id: str


class Work(Protocol):
    """Every command that begins something is Ended once, in the end, or its answer was a refusal."""

    answers: bool
    """Whether commands are answered at all."""

    @property
    def is_idle(self) -> bool:
        """Nothing runs, waits or is about to follow by itself."""

    @property
    def question(self) -> Request[Any] | None:
        """What to ask the agent to learn whether it is idle, where events do not tell."""

    def sent(self, id: str, request: Request[Any]) -> list[Begun | Ended]: ...

    def answered(self, id: str, request: Request[Any], reply: Reply) -> list[Begun | Ended]: ...

    def heard(self, event: object) -> list[Begun | Ended]: ...

    def learned(self, reply: Reply) -> list[Begun | Ended]:
        """The answer to `question`."""
