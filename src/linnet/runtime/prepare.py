"""What a user said, as the message that the model is sent."""

from linnet.core.inputs import Input
from linnet.core.messages import Text, UserMessage, UserPart


def prepared(input: Input) -> UserMessage:
    """Words come before images. Called in the run's thread, without any lock."""
    content: tuple[UserPart, ...] = (*([Text(input.text)] if input.text else []), *input.images)
    return UserMessage(content, input.time)
