"""The facts that a run is told and the effects that it wants done. `run` decides what follows from what."""

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from linnet.core.events import Event
from linnet.core.inputs import Input
from linnet.core.messages import AssistantMessage, Note, SystemMessage, ToolCall, ToolResult, UserMessage

if TYPE_CHECKING:
    from linnet.core.left_off import OpenRun  # Few runs are taken up.


Opening: TypeAlias = UserMessage | Note | SystemMessage
"""Messages that may be told before the model is asked."""


class Prompted(Struct, frozen=True):
    """The run begins with these messages. Without any it takes up a conversation where an earlier run failed."""

    messages: tuple[Opening, ...] = ()


class TakenUp(Struct, frozen=True):
    """The run goes on from where another process left it off."""

    run: "OpenRun"
    time: int  # Now, in milliseconds since 1970.
    cut: AssistantMessage | None = None
    """The reply that stands for the interruption, if the run was being cut short. Then it ends, and nothing is asked or
    run for its sake.
    """


class Prepared(Struct, frozen=True):
    """The inputs that were to be prepared have become these messages; none, if an extension saw to all of them."""

    messages: tuple[UserMessage | Note, ...]


class Replied(Struct, frozen=True):
    """The model call is over. A failure or an abort is a reply that stopped for that reason."""

    message: AssistantMessage


class Answered(Struct, frozen=True):
    """A call has its result."""

    index: int  # The one that RunTool had.
    result: ToolResult
    said: ToolResult | None = None  # What the model is told instead, if that is something else.


class Aborted(Struct, frozen=True):
    """A call was cut short, and the run with it. What cuts a run short while the model speaks arrives as a reply."""

    index: int  # The one that RunTool had.
    result: ToolResult  # What the call had by then.
    reply: AssistantMessage
    """The reply that stands for the interruption. It says why: it stopped for an abort, or with an error."""


class Reviewed(Struct, frozen=True):
    """The answer that Review was about has been looked at."""

    objection: UserMessage | None = None
    """Why the answer cannot be used, to be said to the model; None if the answer is to be left at that."""
    cut: AssistantMessage | None = None
    """The reply that stands for an interruption, if the run was cut short meanwhile."""


class RoomMade(Struct, frozen=True):
    """The conversation has been shortened, if that was needed."""

    cut: AssistantMessage | None = None
    """The reply that stands for an interruption, if the run was cut short meanwhile."""


class Prepare(Struct, frozen=True):
    """Make messages of what was said meanwhile. Ends with Prepared."""

    inputs: tuple[Input, ...]


class AskModel(Struct, frozen=True):
    """Ask the model for a reply to the conversation as it is. Ends with Replied."""

    step: int  # Counts from 1.


class RunTool(Struct, frozen=True):
    """Run a tool. Ends with Answered or Aborted."""

    index: int  # Counts the calls of one reply from 0: their ids may not be unique.
    call: ToolCall


class Review(Struct, frozen=True):
    """See whether the answer that would be the last can be used. Ends with Reviewed."""

    text: str


class MakeRoom(Struct, frozen=True):
    """Shorten the conversation, if it has become too long for another step. Ends with RoomMade."""


class Emit(Struct, frozen=True):
    """Publish this event."""

    event: Event


Fact: TypeAlias = Prompted | TakenUp | Prepared | Replied | Answered | Aborted | Reviewed | RoomMade
Task: TypeAlias = Prepare | AskModel | RunTool | Review | MakeRoom
"""Effects that take time: the outcome of each is a later fact."""
Effect: TypeAlias = Task | Emit
