"""A conversation as the fold of its events."""

from collections.abc import Callable, Sequence

from msgspec import Struct

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


class Past(Struct, frozen=True):
    """What was said before, to go on from. It is read when somebody first wants to know; how much it is, is known."""

    ids: Sequence[str] = ()
    read: Callable[[], Sequence[tuple[str, Message]]] = tuple
    last_compaction: Compaction | None = None
    compacted: bool = False


class Conversation:
    """Invariant: applying events, in order, is the only way it changes. Every message has an id of its own."""

    def __init__(self, new_id: Callable[[], str], past: Past = Past()) -> None:  # noqa: B008 - it never changes
        self._new_id = new_id
        self._unread: Past | None = past if past.ids else None
        self._messages: list[Message] = []
        self._ids: list[str] = []
        self.last_compaction = past.last_compaction
        self.compacted = past.compacted  # And nothing said since.
        self._compacted_before = False  # As it was before the last message.

    def __len__(self) -> int:
        return len(self._messages if self._unread is None else self._unread.ids)

    @property
    def messages(self) -> list[Message]:
        self.read()
        return self._messages

    @property
    def ids(self) -> list[str]:
        """One for each message."""
        self.read()
        return self._ids

    def read(self) -> None:
        """What was said before, if that has not happened yet."""
        if self._unread is not None:
            pairs = self._unread.read()
            self._ids = [id for id, _ in pairs]
            self._messages = [message for _, message in pairs]
            self._unread = None

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
        self.read()
        self._messages.append(message)
        self._ids.append(self._new_id())
        self._compacted_before, self.compacted = self.compacted, False

    def _forget_failure(self) -> None:
        """The reply that is about to be asked for again."""
        last = self.messages[-1] if self.messages else None
        if isinstance(last, AssistantMessage) and last.stop == "error":
            self._messages.pop()
            self._ids.pop()
            self.compacted = self._compacted_before

    def _compact(self, compaction: Compaction) -> None:
        cut = len(self.messages) - compaction.kept
        self._messages = [compaction.summary, *self._messages[cut:]]
        self._ids = [self._new_id(), *self._ids[cut:]]
        self.last_compaction = compaction
        self.compacted = True
