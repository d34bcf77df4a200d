"""The messages of a conversation and their ids, kept up to date by applying its events."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec.structs import replace

from linnet.core.events import (
    BashRan,
    Compaction,
    CompactionEnded,
    Event,
    FailureForgotten,
    Interrupted,
    NoteAdded,
    Past,
    ReplyEnded,
    RetryScheduled,
    SystemTold,
    ToolFinished,
    UserSaid,
)
from linnet.core.messages import AssistantMessage, Message, SystemMessage, UserMessage

if TYPE_CHECKING:
    from linnet.core.context.history import Repair, Sendable

NONE_SENT: Mapping[str, UserMessage] = MappingProxyType({})

LONG = 20_000  # So many messages are more than a model is ever shown.


class Conversation:
    """The fold of a conversation's events.

    Invariants: applying events, in order, is the only way it changes; `ids` has the id of each message.
    """

    def __init__(self, past: Past = Past(), sent: Mapping[str, UserMessage] = NONE_SENT) -> None:  # noqa: B008
        """`sent` has, by id, the messages of the past that came with attachments: a store does not keep these."""
        self._sent = sent
        self._unread: Past | None = past if past.ids else None
        self._messages: list[Message] = []
        self._ids: list[str] = []
        self.last_compaction = past.last_compaction
        self.compacted = past.compacted  # Nothing has been said since the last compaction.
        self._compacted_before = False  # As it was before the last message.
        self._system: SystemMessage | None = None  # All that the model was told before the conversation, merged.
        self._repair: Repair | None = None  # Made by the first request, and by the first after a change.

    def __len__(self) -> int:
        return len(self._messages if self._unread is None else self._unread.ids)

    @property
    def messages(self) -> list[Message]:
        if self._unread is not None:
            self.read()
        return self._messages

    def sendable(self) -> "list[Sendable]":
        """Return the messages as any vendor's model may be sent them. A call costs what was said since the last one."""
        repair = self._repair
        if repair is None:
            from linnet.core.context.history import Repair

            repair = self._repair = Repair()
        return repair.follow(self.messages)

    @property
    def ids(self) -> list[str]:
        self.read()
        return self._ids

    def read(self) -> None:
        """Read what was said before, unless that has been done."""
        if self._unread is not None:
            pairs = self._unread.read()
            self._ids = [id for id, _ in pairs]
            self._messages = [self._as_sent(id, message) for id, message in pairs]
            self._unread = None
            for message in self._messages:
                if isinstance(message, SystemMessage):
                    self._merge_system(message)

    @property
    def system_messages(self) -> int:
        """Return how many of the messages are not said, but tell what the model is told before."""
        if self._unread is not None:
            return self._unread.system_messages
        return sum(isinstance(message, SystemMessage) for message in self._messages) if self._system else 0

    @property
    def system(self) -> SystemMessage | None:
        """Return all that was told of what the model is told before the conversation; None if nothing was."""
        self.read()
        return self._system

    def _merge_system(self, change: SystemMessage) -> None:
        from linnet.core.context.system_changes import merged  # Few conversations tell it.

        self._system = merged(self._system, change)

    def _as_sent(self, id: str, message: Message) -> Message:
        sent = self._sent.get(id)
        if sent is None or not isinstance(message, UserMessage) or sent.content != message.content:
            return message
        return sent

    def read_ahead(self) -> None:
        """Read what was said before, unless it is so long that it would only take memory."""
        if len(self) <= LONG:
            self.read()

    def apply(self, event: Event) -> None:
        """Change as the event says. Most events change nothing here."""
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
            case SystemTold(message):
                self._tell_system(message, event.id)
            case RetryScheduled() | FailureForgotten():
                self._forget_failure()
            case CompactionEnded() if event.result is not None:
                if event.will_retry:
                    self._forget_failure()
                self._compact(event.result, event.id)
            case _:
                pass

    def _add(self, message: Message, id: str) -> None:
        if self._unread is not None:
            self.read()
        self._messages.append(message)
        self._ids.append(id)
        self._compacted_before, self.compacted = self.compacted, False

    def _tell_system(self, change: SystemMessage, id: str) -> None:
        compacted = self.compacted
        self._add(change, id)
        self._merge_system(change)
        self.compacted = compacted  # Nobody has said anything.

    def _forget_failure(self) -> None:
        """Take away the reply that failed, if it was the last: it is about to be asked for again."""
        last = self.messages[-1] if self.messages else None
        if isinstance(last, AssistantMessage) and last.stop == "error":
            self._messages.pop()
            self._ids.pop()
            self._repair = None
            self.compacted = self._compacted_before

    def _compact(self, compaction: Compaction, id: str) -> None:
        cut = len(self.messages) - compaction.kept
        pairs = zip(self._ids[cut:], self._messages[cut:], strict=True)
        kept: list[tuple[str, Message]]
        kept = [(each, said) for each, said in pairs if not isinstance(said, SystemMessage)]
        kept.insert(0, (id, compaction.summary))
        if compaction.system is not None:  # It stands for all that was told before; else it will be told again.
            kept.insert(0, (id, compaction.system))
        self._system = compaction.system
        self._ids = [each for each, _ in kept]
        self._messages = [said for _, said in kept]
        self._repair = None
        self.last_compaction = compaction
        self.compacted = True


ADDING = frozenset((UserSaid, ReplyEnded, ToolFinished, Interrupted, BashRan, NoteAdded, SystemTold, CompactionEnded))
"""Kinds of events that may add a message to the conversation."""

CHANGING = ADDING | {RetryScheduled, FailureForgotten}
"""Events that may change it at all."""


def identified(event: Event, new_id: Callable[[], str]) -> Event:
    """Return the same event, with a new id for the message that it adds to the conversation, if it adds one."""
    if type(event) not in ADDING or (isinstance(event, CompactionEnded) and event.result is None):
        return event
    return replace(event, id=new_id())
