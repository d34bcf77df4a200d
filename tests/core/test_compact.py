"""Where to cut, and what to ask."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.core import compact
from linnet.core.conversation import Conversation
from linnet.core.events import Compacted, UserSaid
from linnet.core.history import repaired
from linnet.core.messages import AssistantMessage, Message, Text, ToolCall, ToolResult, Usage, UserMessage
from linnet.errors import NothingToCompact


def exchange(calls: int) -> list[Message]:
    """A prompt, a reply with so many calls, their results, and a last word."""
    ids = [f"c{n}" for n in range(calls)]
    reply = AssistantMessage(tuple(ToolCall(id, "read", {"path": "x"}) for id in ids), 0, "p", "m")
    end = AssistantMessage((Text("done"),), 0, "p", "m")
    answered: list[Message] = [reply, *(ToolResult(id, "read", (Text("content"),), 0) for id in ids)]
    return [UserMessage((Text("do it"),), 0), *(answered if calls else []), end]


conversations = st.lists(st.integers(0, 3).map(exchange), max_size=6).map(lambda turns: [m for t in turns for m in t])


@given(conversations, st.integers(1, 8))
def test_the_part_that_stays_needs_no_repair(messages: list[Message], keep: int) -> None:
    try:
        plan = compact.plan(messages, keep)
    except NothingToCompact:
        return
    kept = messages[len(messages) - plan.kept :]
    assert [*plan.old, *kept] == messages
    assert repaired(kept) == kept
    assert plan.old


def test_an_empty_conversation_has_nothing_to_compact() -> None:
    with pytest.raises(NothingToCompact, match=r"^nothing to compact$"):
        compact.plan([])


def test_a_short_conversation_is_kept_whole() -> None:
    with pytest.raises(NothingToCompact, match="nothing to compact: "):
        compact.plan([*exchange(0), *exchange(0)])


def test_the_newest_four_messages_stay_and_results_of_one_reply_count_as_one() -> None:
    plan = compact.plan([*exchange(0), *exchange(2)])
    assert plan.kept == 5
    assert len(plan.old) == 2


def test_the_question_quotes_words_calls_and_results_and_asks_for_a_summary() -> None:
    asked = compact.question(exchange(1), "Mind the tests.")
    for part in ("do it", 'read] {"path":"x"}', "content", "Summarise", "Mind the tests."):
        assert part in asked


def test_a_long_result_is_shortened_in_the_question() -> None:
    result = ToolResult("c", "bash", (Text("x" * 100_000),), 0)
    assert len(compact.question([result])) < 10_000


def test_the_summary_stands_first_and_the_kept_messages_follow() -> None:
    conversation = Conversation()
    messages = [UserMessage((Text(str(n)),), n) for n in range(6)]
    for message in messages:
        conversation.apply(UserSaid(message))
    summary = compact.summary_message("all of it", 9)
    conversation.apply(Compacted("all of it", summary, 2, Usage()))
    assert conversation.messages == [summary, *messages[-2:]]
    conversation.apply(Compacted("again", summary, 0, Usage()))
    assert conversation.messages == [summary]
