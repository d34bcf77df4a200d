"""Asks extensions what they want to change in a run: inputs, the system prompt, the context, replies."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from msgspec.structs import replace

from linnet.core.cancel import Cancel
from linnet.core.extensions.hooks import AgentStarting, Block, ContextSent, InputGiven, ReplyGiven, TurnStarting
from linnet.core.inputs import Input
from linnet.core.messages import AssistantMessage, Image, Message, Note, Text, Thinking, UserMessage, texts
from linnet.core.slash import to_fetch
from linnet.errors import Cancelled
from linnet.extensions.chain import Chain

AnyMessage = TypeVar("AnyMessage", bound=Message)
BLOCKED = "turn blocked by an extension"


class RunHooks:
    """Called in the thread of the run, never under the session's lock: extensions may take their time."""

    def __init__(self, chain: Chain, cancel: Cancel) -> None:
        self._chain = chain
        self._cancel = cancel
        self.system: str | None = None  # The system prompt of this run, if an extension gave one.

    def heard(self, inputs: Sequence[Input], *, queued: bool) -> list[Input]:
        """Return the inputs as extensions want them, without those that they have seen to. An abort is left for the run
        to notice.
        """
        return [heard for input in inputs if (heard := self._heard(input, queued=queued)) is not None]

    def starting(self, messages: Sequence[UserMessage | Note], system: Callable[[], str], time: int) -> list[Note]:
        """Ask what a run is to begin with. Returns notes to add to the messages, and sets `system` if an extension gave
        a system prompt; the argument returns linnet's own. Raises Cancelled.
        """
        waiting = self._chain.waiting
        notes = [waiting.popleft() for _ in range(len(waiting))]
        if not self._chain.handles("before_agent_start"):
            return notes
        said = [message for message in messages if isinstance(message, UserMessage)]
        images = tuple(part for message in said for part in message.content if isinstance(part, Image))
        before = AgentStarting("\n".join(texts(message.content) for message in said), system(), images)
        after = self._chain.ask(before, self._cancel).event
        self.system = after.system_prompt if after.system_prompt != before.system_prompt else None
        said_before = [Note("extension", (Text(after.note),), time)] if after.note else []
        return [*notes, *said_before, *after.notes]

    def ending(self, messages: Sequence[Message]) -> None:
        """Have extensions hear that a run has ended, before it is told. An abort is left for the job to notice."""
        with suppress(Cancelled):
            self._chain.ending(messages, self._cancel)

    def ended(self, message: AnyMessage) -> AnyMessage:
        """Return a message as extensions want it that hear of its end, before it is told. An abort is left for the run
        to notice.
        """
        if self._chain.wants("message_end"):
            with suppress(Cancelled):
                after = self._chain.ended(message, self._cancel)
                return after if type(after) is type(message) else message
        return message

    @property
    def settles(self) -> bool:
        """Whether an extension has a say before the agent is done with a prompt."""
        return self._chain.wants("agent_before_settle")

    def settling(self, messages: Sequence[Message], outcome: str) -> tuple[list[Note], bool]:
        """Return notes to add before the agent is done with a prompt, and whether it is to go on."""
        with suppress(Cancelled):
            return self._chain.settling(messages, outcome, self._cancel)
        return [], False

    def refusal(self, step: int) -> str:
        """Return why the model is not to be asked in this step; empty if it is. Raises Cancelled."""
        if not self._chain.handles("turn_start"):
            return ""
        stop = self._chain.ask(TurnStarting(step), self._cancel).stop
        return (stop.reason or BLOCKED) if isinstance(stop, Block) else ""

    def context(self, messages: list[Message]) -> list[Message]:
        """Return the messages that are sent to the model instead of these. Raises Cancelled."""
        if not self._chain.handles("context"):
            return messages
        return list(self._chain.ask(ContextSent(tuple(messages)), self._cancel).event.messages)

    @property
    def edits_replies(self) -> bool:
        """Return whether an extension may change replies: then none is told before it is complete."""
        return self._chain.handles("assistant_message")

    def replied(self, reply: AssistantMessage) -> AssistantMessage:
        """Return the reply as extensions want it. After an abort its text and its calls are dropped, for extensions
        have not seen them.
        """
        if not reply.text:
            return reply
        try:
            outcome = self._chain.ask(ReplyGiven(reply.text), self._cancel)
        except Cancelled:
            kept = tuple(part for part in reply.content if isinstance(part, Thinking))
            return replace(reply, content=kept, stop="aborted", error="")  # None of its calls will run.
        text = "" if outcome.stop is not None else outcome.event.text
        return reply if text == reply.text else _saying(reply, text)

    def _heard(self, input: Input, *, queued: bool) -> Input | None:
        """Return one input as extensions want it; None if one of them has seen to it."""
        if input.kind or not self._chain.handles("input"):
            return input
        with suppress(Cancelled):
            outcome = self._chain.ask(InputGiven(input.text, input.images, queued), self._cancel)
            if outcome.stop is not None:
                return None
            text, images = outcome.event.text, outcome.event.images
            meant = input.meant if text == input.text else to_fetch(text)  # The extension's words are new ones.
            return replace(input, text=text, images=images, meant=meant)
        return input


def _saying(reply: AssistantMessage, text: str) -> AssistantMessage:
    """Return the reply with this text in the place of its first one, and without its others."""
    at = next(index for index, part in enumerate(reply.content) if isinstance(part, Text))
    others = [part for part in reply.content[at:] if not isinstance(part, Text)]
    return replace(reply, content=(*reply.content[:at], *([Text(text)] if text else []), *others))
