"""The events of a reply that an extension was asked about, and perhaps changed, before anybody was told of it."""

from collections.abc import Iterable

import msgspec

from linnet.core.events import CallGrew, Event, PartEnded, PartStarted, ReplyStarted, TextGrew, ThinkingGrew
from linnet.core.messages import AssistantMessage, ReplyPart, Text, Thinking


def retold(held: Iterable[Event], reply: AssistantMessage) -> list[Event]:
    """Return the events that tell the reply as it is now; none if it never started.

    `held` are those it came in, before it was changed.
    """
    started: list[Event] = [event for event in held if isinstance(event, ReplyStarted)]
    if not started:
        return []
    return [*started, *(event for index, part in enumerate(reply.content) for event in _part(index, part))]


def _part(index: int, part: ReplyPart) -> list[Event]:
    if isinstance(part, Text):
        return [PartStarted(index, "text"), TextGrew(index, part.text), PartEnded(index, part)]
    if isinstance(part, Thinking):
        return [PartStarted(index, "thinking"), ThinkingGrew(index, part.text), PartEnded(index, part)]
    args = part.unparsed or msgspec.json.encode(part.args).decode()
    return [
        PartStarted(index, "tool_call", part.id, part.name),
        CallGrew(index, part.id, args),
        PartEnded(index, part),
    ]
