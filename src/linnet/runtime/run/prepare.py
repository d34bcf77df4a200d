"""Turns what a user said into the message that the model is sent. Pure."""

from msgspec.structs import replace

from linnet.core.inputs import Input
from linnet.core.messages import Note, Text, UserMessage, UserPart


def asking(message: UserMessage | Note, more: str) -> UserMessage | Note:
    """Return the same message with `more` after its last text."""
    words = [at for at, part in enumerate(message.content) if isinstance(part, Text)]
    if not words:
        return replace(message, content=(*message.content, Text(more.strip())))
    at = words[-1]
    last = message.content[at]
    assert isinstance(last, Text)
    return replace(message, content=(*message.content[:at], Text(last.text + more), *message.content[at + 1 :]))


def prepared(input: Input, text: str | None = None) -> UserMessage | Note:
    """Return the message of an input, its text before its images; `text` instead of its own if that stands for more.
    An input that an extension said is a Note.
    """
    said = input.text if text is None else text
    content: tuple[UserPart, ...] = (*([Text(said)] if said else []), *input.images)
    if input.kind:
        return Note(input.kind, content, input.time, input.display, input.details)
    return UserMessage(content, input.time, input.sent)
