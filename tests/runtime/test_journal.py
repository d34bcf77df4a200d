"""What the journal knows of what it has written."""

from linnet.core.context.conversation import identified
from linnet.core.events import (
    Cleared,
    Event,
    JobStarted,
    ModelSet,
    ReplyEnded,
    RetryScheduled,
    Settled,
    ThinkingSet,
    UserSaid,
)
from linnet.core.messages import AssistantMessage, StopReason, Text, Usage, UserMessage
from linnet.core.models import Model
from linnet.runtime.sessions.journal import Journal
from linnet.runtime.sessions.places import Place
from linnet.store.entries import ModelChanged
from linnet.store.header import Header
from linnet.store.log import MemoryLog
from linnet.store.store import Store


def reply(model: str, stop: StopReason = "end", *, cost: int = 0) -> ReplyEnded:
    usage = Usage(output=cost)
    return ReplyEnded(AssistantMessage((Text("a"),), 1, "p", model, usage, stop), usage)


def said() -> UserSaid:
    return UserSaid(UserMessage((Text("u"),), 1))


class Kept:
    """A journal in memory, told of events as a session would tell them."""

    def __init__(self, *, made: bool = True) -> None:
        self.store = Store(Header("an-id"), MemoryLog())
        place = Place(self.store, made=made)
        self.journal = Journal(place, Model("one", "p"), "low", lambda events: None)

    def hear(self, *events: Event) -> None:
        for event in events:
            self.journal.hear([identified(event, self.store.new_id)])
            position = self.store.position()
            assert (self.journal.model, self.journal.thinking) == (position.model, position.thinking)

    @property
    def types(self) -> list[str]:
        return [node.role or node.type for node in self.store.tree.nodes]


def test_it_knows_what_somebody_who_opens_the_session_would_find_set() -> None:
    kept = Kept()
    assert kept.types == ["model_change", "thinking_level_change"]
    kept.hear(JobStarted("prompt"), said(), ModelSet(Model("two", "p")))
    kept.hear(reply("one"))  # It was asked before the model was changed, which is still what is set.
    assert kept.store.position().model == ModelChanged("p", "two")
    kept.hear(Settled("prompt", "end"), JobStarted("prompt"), said(), reply("two", "error"), ThinkingSet("high"))
    kept.hear(RetryScheduled(1, 3, 2000, "it broke"))  # The level stayed behind with the failure, and is set again.
    assert kept.store.position().thinking == "high"
    kept.hear(Cleared())
    assert kept.store.position().model == ModelChanged("p", "two")


def test_a_session_is_not_changed_by_being_looked_at() -> None:
    kept = Kept(made=False)
    assert kept.types == []
    kept.hear(JobStarted("prompt"), said())
    assert kept.types == ["model_change", "thinking_level_change", "user"]


def test_a_run_that_the_conversation_was_cleared_under_leaves_only_its_cost() -> None:
    kept = Kept()
    kept.hear(JobStarted("prompt"), said(), Cleared())
    before = len(kept.types)
    kept.hear(reply("one", cost=3), Settled("prompt", "end"))
    assert kept.types[before:] == ["custom"]
    kept.hear(JobStarted("prompt"), said(), reply("one"), Settled("prompt", "end"))
    assert kept.types[before + 1 :] == ["user", "assistant"]
