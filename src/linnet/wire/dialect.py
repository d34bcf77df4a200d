"""What a protocol on the pipe is: a way to read commands, to answer them, and to tell what happens."""

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from msgspec import Raw, Struct

from linnet.core.commands import Answer, Command
from linnet.core.events import Event
from linnet.wire.jsonl import Overlong


class Asked(Struct, frozen=True):
    """A command as it was sent. `id` is the client's own bytes, echoed as they came; empty if there was none."""

    id: Raw
    name: str
    command: Command


class Rejected(Struct, frozen=True):
    """A line that is no command. It is answered all the same."""

    id: Raw
    name: str
    reason: str


class Dialect(Protocol):
    """`answers_work`: whether a prompt is answered when it is accepted or when its run starts."""

    answers_work: Literal["accepted", "started"]

    def decode(self, line: bytes | Overlong) -> Asked | Rejected:
        """Never raises."""

    def answer(self, asked: Asked, answer: Answer) -> Any:
        """The one frame that answers a command that succeeded."""

    def refuse(self, asked: Asked | Rejected, reason: str) -> Any:
        """The one frame that answers a command that did not."""

    def encode(self, events: Sequence[Event]) -> Sequence[Any]:
        """Frames for what happened."""
