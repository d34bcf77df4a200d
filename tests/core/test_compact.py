"""Where to cut, and what to ask."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.core.context.compact import Plan, joined, keep_messages, keep_tokens, questions, touched_files
from linnet.core.context.conversation import Conversation
from linnet.core.context.history import repaired
from linnet.core.context.token_estimate import context_tokens, guess
from linnet.core.events import Compaction, CompactionEnded, ReplyEnded, RetryScheduled, UserSaid
from linnet.core.messages import (
    AssistantMessage,
    BashRun,
    Message,
    Summary,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from linnet.errors import NothingToCompact


def exchange(calls: int) -> list[Message]:
    """A prompt, a reply with so many calls, their results, and a last word."""
    ids = [f"c{n}" for n in range(calls)]
    reply = AssistantMessage(tuple(ToolCall(id, "read", {"path": "x"}) for id in ids), 0, "p", "m")
    end = AssistantMessage((Text("done"),), 0, "p", "m")
    answered: list[Message] = [reply, *(ToolResult(id, "read", (Text("content"),), 0) for id in ids)]
    return [UserMessage((Text("do it"),), 0), *(answered if calls else []), end]


def ids() -> str:
    return "id"


conversations = st.lists(st.integers(0, 3).map(exchange), max_size=6).map(lambda turns: [m for t in turns for m in t])
planners = st.integers(1, 8).map(keep_messages) | st.integers(1, 60).map(keep_tokens)


@given(conversations, planners, st.booleans())
def test_the_part_that_stays_needs_no_repair_and_nothing_falls_between(
    messages: list[Message], planner: object, summarised: bool
) -> None:
    assert callable(planner)
    if summarised:
        messages = [Summary("before", 9, 0), *messages]
    try:
        plan = planner(messages)
    except NothingToCompact:
        return
    kept = messages[len(messages) - plan.kept :]
    assert [*plan.old, *plan.prefix, *kept] == messages
    assert repaired(kept) == kept
    assert not any(isinstance(message, Summary) for message in plan.prefix)
    assert any(questions(plan))


def test_an_empty_conversation_has_nothing_to_compact() -> None:
    with pytest.raises(NothingToCompact, match=r"^nothing to compact$"):
        keep_messages(4)([])
    with pytest.raises(NothingToCompact, match="too small"):
        keep_tokens(20)([])


def test_a_short_conversation_is_kept_whole() -> None:
    with pytest.raises(NothingToCompact, match="nothing to compact: "):
        keep_messages(4)([*exchange(0), *exchange(0)])
    with pytest.raises(NothingToCompact):
        keep_tokens(1000)([Summary("s", 1, 0), *exchange(2)])


def test_the_newest_four_messages_stay_and_results_of_one_reply_count_as_one() -> None:
    plan = keep_messages(4)([*exchange(0), *exchange(2)])
    assert plan.kept == 5
    assert len(plan.old) == 2


@pytest.mark.parametrize(("keep", "kept"), [(10, 1), (11, 2), (20, 2), (21, 3)])
def test_no_more_is_kept_than_is_needed_for_so_many_tokens(keep: int, kept: int) -> None:
    messages: list[Message] = [UserMessage((Text("x" * 40),), 0) for _ in range(5)]  # Ten tokens each.
    assert keep_tokens(keep)(messages).kept == kept


def test_a_turn_that_began_before_a_summary_has_no_part_of_it_in_its_first() -> None:
    """A conversation may go on in mid-turn, right after a summary."""
    _, *rest = exchange(2)
    plan = keep_tokens(1)([Summary("before", 9, 0), *rest])
    assert plan.old == (Summary("before", 9, 0),)
    assert plan.prefix == tuple(rest[:-1])


def test_a_turn_that_is_cut_in_two_has_its_first_part_apart() -> None:
    messages = [*exchange(0), *exchange(2)]
    plan = keep_tokens(1)(messages)
    assert plan.kept == 1
    assert list(plan.old) == exchange(0)
    assert list(plan.prefix) == exchange(2)[:-1]
    history, turn = questions(plan)
    assert "Summarise the conversation" in history
    assert "still going on" in turn
    assert joined(plan, "H", "T", ["a"], ["b"]).startswith("H")
    assert "T" in joined(plan, "H", "T", [], [])


def test_an_earlier_summary_is_updated_not_thrown_away() -> None:
    plan = keep_tokens(1)([Summary("OLD NOTES", 9, 0), *exchange(0), *exchange(0)])
    history, _ = questions(plan)
    assert "<earlier-notes>\nOLD NOTES" in history
    only_turn = Plan((Summary("OLD NOTES", 9, 0),), tuple(exchange(0)), 1)
    assert questions(only_turn)[0] == ""
    assert joined(only_turn, "", "T", [], []).startswith("OLD NOTES")


def test_the_question_quotes_words_calls_commands_and_results_and_asks_for_a_summary() -> None:
    old = (*exchange(1), BashRun("make", "all good", 0, 0))
    history, _ = questions(Plan(old, (), 0), "Mind the tests.")
    for part in ("do it", 'read] {"path":"x"}', "content", "Summarise", "Mind the tests.", "all good"):
        assert part in history


def test_a_long_result_is_shortened_in_the_question() -> None:
    result = ToolResult("c", "bash", (Text("x" * 100_000),), 0)
    assert len(questions(Plan((result,), (), 0))[0]) < 10_000


def test_files_that_were_changed_are_not_listed_as_read_too() -> None:
    calls = (
        ToolCall("1", "read", {"path": "a"}),
        ToolCall("2", "read", {"path": "b"}),
        ToolCall("3", "edit", {"path": "b"}),
        ToolCall("4", "write", {"path": 5}),
        ToolCall("5", "bash", {"path": "c"}),
    )
    assert touched_files([AssistantMessage(calls, 0, "p", "m")]) == (["a"], ["b"])


def test_the_summary_stands_first_and_the_kept_messages_follow() -> None:
    conversation = Conversation()
    messages = [UserMessage((Text(str(n)),), n) for n in range(6)]
    for message in messages:
        conversation.apply(UserSaid(message))
    summary = Summary("all of it", 100, 9)
    conversation.apply(CompactionEnded("manual", Compaction(summary, 2, "id", (), (), Usage())))
    assert conversation.messages == [summary, *messages[-2:]]
    assert len(conversation.ids) == 3
    assert conversation.compacted
    conversation.apply(CompactionEnded("manual", Compaction(summary, 0, "", (), (), Usage())))
    assert conversation.messages == [summary]


def test_a_failed_reply_is_forgotten_when_it_is_asked_for_again() -> None:
    conversation = Conversation()
    conversation.apply(UserSaid(UserMessage((Text("hi"),), 0)))
    conversation.apply(ReplyEnded(AssistantMessage((), 0, "p", "m", stop="error", error="no"), Usage()))
    conversation.apply(RetryScheduled(1, 3, 2000, "no"))
    assert len(conversation.messages) == len(conversation.ids) == 1
    conversation.apply(RetryScheduled(2, 3, 2000, "no"))
    assert len(conversation.messages) == 1


def test_the_vendors_own_count_is_trusted_unless_a_summary_is_newer() -> None:
    prompt, reply = UserMessage((Text("x" * 400),), 1), AssistantMessage((Text("y"),), 2, "p", "m", Usage(input=5000))
    assert context_tokens([prompt, reply]) == 5000
    assert context_tokens([prompt, reply, prompt]) == 5100
    assert context_tokens([Summary("s" * 40, 9, 3), reply]) == 11
    failed = AssistantMessage((), 3, "p", "m", Usage(input=9), "error")
    assert context_tokens([prompt, failed]) == 100


@given(st.text())
def test_about_four_characters_are_a_token(text: str) -> None:
    assert guess(UserMessage((Text(text),), 0)) == -(-len(text) // 4)
