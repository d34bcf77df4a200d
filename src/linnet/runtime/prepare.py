"""What a user said, as the message that the model is sent."""

from linnet.core.inputs import Input
from linnet.core.messages import Note, Text, UserMessage, UserPart


def prepared(input: Input, text: str | None = None) -> UserMessage | Note:
    """`text` is what its words stand for, where that is something else. Words come before images."""
    said = input.text if text is None else text
    content: tuple[UserPart, ...] = (*([Text(said)] if said else []), *input.images)
    if input.kind:
        return Note(input.kind, content, input.time, details=input.details)
    return UserMessage(content, input.time)
