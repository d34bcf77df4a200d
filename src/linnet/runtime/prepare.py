"""What a user said, as the message that the model is sent."""

from linnet.core.inputs import Input
from linnet.core.messages import Text, UserMessage, UserPart


def prepared(input: Input, text: str | None = None) -> UserMessage:
    """`text` is what its words stand for, where that is something else. Words come before images."""
    said = input.text if text is None else text
    content: tuple[UserPart, ...] = (*([Text(said)] if said else []), *input.images)
    return UserMessage(content, input.time)
