"""A conversation as the fold of its events."""

from collections.abc import Callable

from msgspec.structs import replace

from linnet.core.events import (
    BashRan,
    Compaction,
    CompactionEnded,
    Event,
    Interrupted,
    NoteAdded,
    Past,
    ReplyEnded,
    RetryScheduled,
    ToolFinished,
    UserSaid,
)
from linnet.core.messages import AssistantMessage, Message


class Conversation:
    """Invariant: applying events, in order, is the only way it changes. `ids` has the id of each message."""

    def __init__(self, past: Past = Past()) -> None:  # noqa: B008 - it never changes
        self._unread: Past | None = past if past.ids else None
        self._messages: list[Message] = []
        self._ids: list[str] = []
        self.last_compaction = past.last_compaction
        self.compacted = past.compacted  # Nothing has been said since the last compaction.
        self._compacted_before = False  # As it was before the last message.

    def __len__(self) -> int:
        return len(self._messages if self._unread is None else self._unread.ids)

    @property
    def messages(self) -> list[Message]:
        self.read()
        return self._messages

    @property
    def ids(self) -> list[str]:
        self.read()
        return self._ids

    def read(self) -> None:
        """Read what was said before, unless that has been done."""
        if self._unread is not None:
            pairs = self._unread.read()
            self._ids = [id for id, _ in pairs]
            self._messages = [message for _, message in pairs]
            self._unread = None

    def apply(self, event: Event) -> None:
        match event:
            case UserSaid(message):
                self._add(message, event.id)
            case ReplyEnded(message):
                self._add(message, event.id)
            case Interrupted(message):
                self._add(message, event.id)
            case ToolFinished(result):
                self._add(result, event.id)
            case BashRan(run):
                self._add(run, event.id)
            case NoteAdded(note):
                self._add(note, event.id)
            case RetryScheduled():
                self._forget_failure()
            case CompactionEnded() if event.result is not None:
                if event.will_retry:
                    self._forget_failure()
                self._compact(event.result, event.id)
            case _:
                pass

    def _add(self, message: Message, id: str) -> None:
        self.read()
        self._messages.append(message)
        self._ids.append(id)
        self._compacted_before, self.compacted = self.compacted, False

    def _forget_failure(self) -> None:
        """Take away the reply that failed, if it was the last: it is about to be asked for again."""
        last = self.messages[-1] if self.messages else None
        if isinstance(last, AssistantMessage) and last.stop == "error":
            self._messages.pop()
            self._ids.pop()
            self.compacted = self._compacted_before

    def _compact(self, compaction: Compaction, id: str) -> None:
        cut = len(self.messages) - compaction.kept
        self._messages = [compaction.summary, *self._messages[cut:]]
        self._ids = [id, *self._ids[cut:]]
        self.last_compaction = compaction
        self.compacted = True


def identified(event: Event, new_id: Callable[[], str]) -> Event:
    """The same event, with a new id for the message that it adds to the conversation, if it adds one."""
    if isinstance(event, UserSaid | ReplyEnded | ToolFinished | Interrupted | BashRan | NoteAdded):
        return replace(event, id=new_id())
    if isinstance(event, CompactionEnded) and event.result is not None:
        return replace(event, id=new_id())
    return event
