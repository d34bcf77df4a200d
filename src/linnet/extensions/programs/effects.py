"""The effects that the state machine in `protocol` returns, and the outcomes of what a program is asked. Pure."""

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from linnet.core.toolspec import ToolSpec
from linnet.extensions.programs import frames
from linnet.tools.spec import ToolOutput


class Allow(Struct, frozen=True):
    """The program lets it happen, with what is to be used instead, if anything."""

    args: dict[str, Any] | None = None
    text: str = ""
    output: ToolOutput | None = None


class Deny(Struct, frozen=True):
    """It must not happen."""

    reason: str
    failed: bool = False  # Whether the program did not say so but failed to judge. Whoever asked tells the client.


class CommandDone(Struct, frozen=True):
    """The program ran a command, and this is to be done."""

    action: Literal["prompt", "insert", "display", "noop"]
    text: str = ""


class CommandFailed(Struct, frozen=True):
    """A command failed."""

    why: str


Outcome: TypeAlias = ToolOutput | Allow | Deny | CommandDone | CommandFailed


class Write(Struct, frozen=True):
    """Send a frame to the program."""

    frame: frames.Outgoing


class EndInput(Struct, frozen=True):
    """End the program's input: no frame will follow."""


class Offer(Struct, frozen=True):
    """Offer a tool that the program registered, unless somebody else has one of that name."""

    spec: ToolSpec


class OfferCommand(Struct, frozen=True):
    """Offer a command that the program registered."""

    name: str
    description: str


class Become(Struct, frozen=True):
    """Note that the program is ready: from here on it is told what happens."""


class Settle(Struct, frozen=True):
    """Give the answer to a question to whoever asked it."""

    id: str
    outcome: Outcome


class Progress(Struct, frozen=True):
    """Report new output of a call."""

    id: str
    text: str


class Ask(Struct, frozen=True):
    """Put a question of the program's to whoever drives the agent."""

    question: frames.Ask


class Withdraw(Struct, frozen=True):
    """Withdraw the program's open questions to whoever drives the agent: nobody waits for the answers any more."""


class Notify(Struct, frozen=True):
    """Show a message of the program's."""

    level: str
    message: str


class Report(Struct, frozen=True):
    """Tell the client that something went wrong."""

    event: str  # What it was about.
    error: str


class Log(Struct, frozen=True):
    """Write a line to the program's log."""

    text: str


class Kill(Struct, frozen=True):
    """Kill the program."""


Effect: TypeAlias = (
    Write | EndInput | Offer | OfferCommand | Become | Settle | Progress | Ask | Withdraw | Notify | Report | Log | Kill
)
