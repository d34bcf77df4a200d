"""What a user said, as the message that the model is sent."""

from msgspec.structs import replace

from linnet.core.inputs import Input
from linnet.core.messages import Note, Text, UserMessage, UserPart


def asking(message: UserMessage | Note, more: str) -> UserMessage | Note:
    """The same with these words after the last of its own."""
    words = [at for at, part in enumerate(message.content) if isinstance(part, Text)]
    if not words:
        return replace(message, content=(*message.content, Text(more.strip())))
    at = words[-1]
    last = message.content[at]
    assert isinstance(last, Text)
    return replace(message, content=(*message.content[:at], Text(last.text + more), *message.content[at + 1 :]))


def prepared(input: Input, text: str | None = None) -> UserMessage | Note:
    """`text` is what its words stand for, where that is something else. Words come before images."""
    said = input.text if text is None else text
    content: tuple[UserPart, ...] = (*([Text(said)] if said else []), *input.images)
    if input.kind:
        return Note(input.kind, content, input.time, details=input.details)
    return UserMessage(content, input.time, input.sent)
