"""What may be sent to a model."""

from hypothesis import given
from hypothesis import strategies as st

from linnet.core.history import repaired
from linnet.core.messages import AssistantMessage, Message, Text, ToolCall, ToolResult, UserMessage

ids = st.sampled_from("abcd")
users = st.builds(UserMessage, st.just((Text("u"),)), st.just(0))
replies = st.builds(
    lambda calls, text: AssistantMessage((*text, *(ToolCall(id, "read", {}) for id in calls)), 0, "p", "m"),
    st.lists(ids, unique=True, max_size=3),
    st.lists(st.builds(Text, st.just("t")), max_size=1),
)
results = st.builds(ToolResult, ids, st.just("read"), st.just((Text("r"),)), st.just(0))
conversations = st.lists(users | replies | results, max_size=12)


@given(conversations)
def test_every_call_is_answered_right_after_it_and_every_result_has_its_call(messages: list[Message]) -> None:
    open_calls: list[str] = []
    for message in repaired(messages):
        match message:
            case ToolResult():
                assert message.call_id == open_calls.pop(0)
            case AssistantMessage():
                assert not open_calls
                assert message.content
                open_calls = [call.id for call in message.calls]
            case UserMessage():
                assert not open_calls
    assert not open_calls


@given(conversations)
def test_a_repaired_conversation_needs_no_repair(messages: list[Message]) -> None:
    once = repaired(messages)
    assert repaired(once) == once


@given(conversations)
def test_nothing_that_was_said_is_lost(messages: list[Message]) -> None:
    kept = repaired(messages)
    for message in messages:
        if isinstance(message, UserMessage | AssistantMessage) and message.content:
            assert message in kept


def test_of_two_results_of_one_call_the_first_is_sent() -> None:
    asked = AssistantMessage((ToolCall("a", "read", {}),), 0, "p", "m", stop="tool_use")
    first, second = (ToolResult("a", "read", (Text(text),), 0) for text in ("first", "second"))
    assert repaired([asked, first, second]) == [asked, first]
