"""What extensions are asked in the course of a run. An abort while they are is left for the run to notice."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec.structs import replace

from linnet.core.cancel import Cancel
from linnet.core.extensions.hooks import AgentStarting, Block, ContextSent, InputGiven, ReplyGiven, TurnStarting
from linnet.core.inputs import Input
from linnet.core.messages import AssistantMessage, Image, Message, Note, Text, Thinking, UserMessage, texts
from linnet.core.slash import to_fetch
from linnet.errors import Cancelled
from linnet.extensions.chain import Chain

BLOCKED = "turn blocked by an extension"


class RunHooks:
    """`system` is what the model is told instead of the system prompt, for this run; None if nobody said so."""

    def __init__(self, chain: Chain, cancel: Cancel) -> None:
        self._chain = chain
        self._cancel = cancel
        self.system: str | None = None

    def heard(self, inputs: Sequence[Input], *, queued: bool) -> list[Input]:
        """What is left of it to be said to the model."""
        return [heard for input in inputs if (heard := self._heard(input, queued=queued)) is not None]

    def starting(self, messages: Sequence[UserMessage | Note], system: Callable[[], str], time: int) -> list[Note]:
        """What is to be said besides. `system` gives the system prompt. Raises Cancelled."""
        if not self._chain.handles("before_agent_start"):
            return []
        said = [message for message in messages if isinstance(message, UserMessage)]
        images = tuple(part for message in said for part in message.content if isinstance(part, Image))
        before = AgentStarting("\n".join(texts(message.content) for message in said), system(), images)
        after = self._chain.ask(before, self._cancel).event
        self.system = after.system_prompt if after.system_prompt != before.system_prompt else None
        return [Note("extension", (Text(after.note),), time)] if after.note else []

    def refusal(self, step: int) -> str:
        """Why the model is not to be asked; empty if it is. Raises Cancelled."""
        if not self._chain.handles("turn_start"):
            return ""
        stop = self._chain.ask(TurnStarting(step), self._cancel).stop
        return (stop.reason or BLOCKED) if isinstance(stop, Block) else ""

    def context(self, messages: list[Message]) -> list[Message]:
        """What is sent to the model. Raises Cancelled."""
        if not self._chain.handles("context"):
            return messages
        return list(self._chain.ask(ContextSent(tuple(messages)), self._cancel).event.messages)

    @property
    def edits_replies(self) -> bool:
        """Whether a reply may be told only when it is complete."""
        return self._chain.handles("assistant_message")

    def replied(self, reply: AssistantMessage) -> AssistantMessage:
        """The reply as it is to be told. What could not be asked about is not told."""
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
    """The same reply with other words, where the first of them were."""
    at = next(index for index, part in enumerate(reply.content) if isinstance(part, Text))
    others = [part for part in reply.content[at:] if not isinstance(part, Text)]
    return replace(reply, content=(*reply.content[:at], *([Text(text)] if text else []), *others))
