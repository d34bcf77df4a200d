"""What was said before is read when it is needed, and before that only if it is not too long."""

from linnet.core.context.conversation import LONG, Conversation
from linnet.core.events import Past
from linnet.core.messages import Message, Text, UserMessage


def begun(count: int) -> tuple[Conversation, list[int]]:
    """A conversation of so many messages, and a list that grows when they are read."""
    read: list[int] = []

    def messages() -> list[tuple[str, Message]]:
        read.append(count)
        return [(str(number), UserMessage((Text("hi"),), 1)) for number in range(count)]

    return Conversation(Past([str(number) for number in range(count)], messages)), read


def test_what_was_said_before_is_read_ahead_once() -> None:
    conversation, read = begun(LONG)
    conversation.read_ahead()
    conversation.read_ahead()
    assert read == [LONG]
    assert len(conversation.messages) == LONG
    assert read == [LONG]


def test_what_no_model_is_ever_shown_is_read_when_somebody_asks() -> None:
    conversation, read = begun(LONG + 1)
    conversation.read_ahead()
    assert read == []
    assert len(conversation) == LONG + 1
    assert len(conversation.messages) == LONG + 1
    assert read == [LONG + 1]
