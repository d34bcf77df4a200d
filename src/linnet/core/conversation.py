"""A conversation as the fold of its events."""

from collections.abc import Callable

from linnet.core.events import (
    BashRan,
    Compaction,
    CompactionEnded,
    Event,
    Interrupted,
    ReplyEnded,
    RetryScheduled,
    ToolFinished,
    UserSaid,
)
from linnet.core.messages import AssistantMessage, Message


class Conversation:
    """Invariant: applying events, in order, is the only way it changes. Every message has an id of its own."""

    def __init__(self, new_id: Callable[[], str]) -> None:
        self._new_id = new_id
        self.messages: list[Message] = []
        self.ids: list[str] = []
        self.last_compaction: Compaction | None = None
        self.compacted = False  # And nothing said since.

    def apply(self, event: Event) -> None:
        match event:
            case UserSaid(message):
                self._add(message)
            case ReplyEnded(message):
                self._add(message)
            case Interrupted(message):
                self._add(message)
            case ToolFinished(result):
                self._add(result)
            case BashRan(run):
                self._add(run)
            case RetryScheduled():
                self._forget_failure()
            case CompactionEnded() if event.result is not None:
                if event.will_retry:
                    self._forget_failure()
                self._compact(event.result)
            case _:
                pass

    def _add(self, message: Message) -> None:
        self.messages.append(message)
        self.ids.append(self._new_id())
        self.compacted = False

    def _forget_failure(self) -> None:
        """The reply that is about to be asked for again."""
        last = self.messages[-1] if self.messages else None
        if isinstance(last, AssistantMessage) and last.stop == "error":
            self.messages.pop()
            self.ids.pop()

    def _compact(self, compaction: Compaction) -> None:
        cut = len(self.messages) - compaction.kept
        self.messages = [compaction.summary, *self.messages[cut:]]
        self.ids = [self._new_id(), *self.ids[cut:]]
        self.last_compaction = compaction
        self.compacted = True
