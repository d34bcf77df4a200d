"""What a user said, as the message that the model is sent."""

from linnet.core.inputs import Input
from linnet.core.messages import Note, Text, UserMessage, UserPart


def prepared(input: Input) -> UserMessage | Note:
    """Words come before images. Called in the run's thread, without any lock."""
    content: tuple[UserPart, ...] = (*([Text(input.text)] if input.text else []), *input.images)
    if input.kind:
        return Note(input.kind, content, input.time, details=input.details)
    return UserMessage(content, input.time)
