"""What the journal knows of what it has written."""

from linnet.core.conversation import Conversation
from linnet.core.events import Event, ReplyEnded, RetryScheduled, UserSaid
from linnet.core.messages import AssistantMessage, StopReason, Text, Usage, UserMessage
from linnet.runtime.journal import Journal
from linnet.store.entries import ModelChanged, ThinkingChanged
from linnet.store.header import Header
from linnet.store.log import MemoryLog
from linnet.store.store import Store


def reply(model: str, stop: StopReason) -> ReplyEnded:
    return ReplyEnded(AssistantMessage((Text("a"),), 1, "p", model, Usage(), stop), Usage())


def test_it_knows_what_somebody_who_opens_the_session_would_find_set() -> None:
    store = Store(Header("an-id"), MemoryLog())
    journal, conversation = Journal(store, lambda events: None), Conversation(store.new_id)

    def happens(event: Event) -> None:
        conversation.apply(event)
        journal.record(event, conversation, Usage())

    def agrees() -> bool:
        position = store.position()
        return (journal.model, journal.thinking) == (position.model, position.thinking)

    journal.note(ModelChanged("p", "one"))
    journal.note(ThinkingChanged("low"))
    assert agrees()
    happens(UserSaid(UserMessage((Text("u"),), 1)))
    journal.note(ModelChanged("p", "two"))
    happens(reply("one", "end"))  # It was asked before the model was changed.
    assert agrees()
    assert store.position().model == ModelChanged("p", "one")
    happens(UserSaid(UserMessage((Text("u"),), 1)))
    happens(reply("two", "error"))
    journal.note(ThinkingChanged("high"))
    happens(RetryScheduled(1, 3, 2000, "it broke"))
    assert [journal.model, journal.thinking] == [None, None]  # They stayed behind, and are to be set again.
    assert store.position().thinking == "low"
    journal.leave()
    assert agrees()
