"""A conversation as the fold of its events."""

from linnet.core.events import Compacted, Event, ReplyEnded, ToolFinished, UserSaid
from linnet.core.messages import Message


class Conversation:
    """Invariant: applying the events of a run, in order, is the only way it changes."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def apply(self, event: Event) -> None:
        match event:
            case UserSaid(message):
                self.messages.append(message)
            case ReplyEnded(reply):
                if reply.content:
                    self.messages.append(reply)
            case ToolFinished(result):
                self.messages.append(result)
            case Compacted():
                self.messages = [event.message, *self.messages[len(self.messages) - event.kept :]]
            case _:
                pass
