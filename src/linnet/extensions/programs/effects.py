"""What is to be done about a program, and what its answers come to: what the machine in `protocol` decides. Pure."""

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from linnet.core.toolspec import ToolSpec
from linnet.extensions.programs import frames
from linnet.tools.spec import ToolOutput


class Allow(Struct, frozen=True):
    """`args`, `text` and `output` are what is to be used instead, if anything."""

    args: dict[str, Any] | None = None
    text: str = ""
    output: ToolOutput | None = None


class Deny(Struct, frozen=True):
    """`failed`: it did not say so but failed to judge, and this is why. Whoever asked tells the client."""

    reason: str
    failed: bool = False


class CommandDone(Struct, frozen=True):
    action: Literal["prompt", "insert", "display", "noop"]
    text: str = ""


class CommandFailed(Struct, frozen=True):
    why: str


Outcome: TypeAlias = ToolOutput | Allow | Deny | CommandDone | CommandFailed


class Write(Struct, frozen=True):
    frame: frames.Outgoing


class EndInput(Struct, frozen=True):
    """No frame will follow."""


class Offer(Struct, frozen=True):
    spec: ToolSpec


class OfferCommand(Struct, frozen=True):
    name: str
    description: str


class Become(Struct, frozen=True):
    """It is ready, and from here on it is told what happens."""


class Settle(Struct, frozen=True):
    """The answer to a question, for whoever asked it."""

    id: str
    outcome: Outcome


class Progress(Struct, frozen=True):
    id: str
    text: str


class Ask(Struct, frozen=True):
    """Whoever drives the agent."""

    question: frames.Ask


class Withdraw(Struct, frozen=True):
    """Its open questions to whoever drives the agent: nobody waits for the answers any more."""


class Notify(Struct, frozen=True):
    level: str
    message: str


class Report(Struct, frozen=True):
    """Something went wrong that the client should know of. `event` is what it was about."""

    event: str
    error: str


class Log(Struct, frozen=True):
    text: str


class Kill(Struct, frozen=True):
    pass


Effect: TypeAlias = (
    Write | EndInput | Offer | OfferCommand | Become | Settle | Progress | Ask | Withdraw | Notify | Report | Log | Kill
)
