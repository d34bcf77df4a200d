"""What may be sent to a model."""

from hypothesis import given
from hypothesis import strategies as st

from linnet.core.context.history import Repair, repaired
from linnet.core.messages import AssistantMessage, BashRun, Message, Text, Thinking, ToolCall, ToolResult, UserMessage

ids = st.sampled_from("abcd")
users = st.builds(UserMessage, st.just((Text("u"),)), st.just(0))
said = st.builds(Text, st.sampled_from(["t", " \n"])) | st.builds(Thinking, st.just("h"), st.sampled_from(["", "sig"]))
replies = st.builds(
    lambda calls, before, after: AssistantMessage(
        (*before, *(ToolCall(id, "read", {}) for id in calls), *after), 0, "p", "m"
    ),
    st.lists(ids, unique=True, max_size=3),
    st.lists(said, max_size=2),
    st.lists(said, max_size=2),
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
                assert isinstance(message.content[-1], Text | ToolCall)
                open_calls = [call.id for call in message.calls]
            case UserMessage():
                assert not open_calls
    assert not open_calls


@given(conversations)
def test_a_repaired_conversation_needs_no_repair(messages: list[Message]) -> None:
    once = repaired(messages)
    assert repaired(once) == once


@given(conversations)
def test_nothing_that_was_said_is_lost_but_thoughts_that_led_to_nothing(messages: list[Message]) -> None:
    kept = repaired(messages)
    assert [m for m in kept if isinstance(m, UserMessage)] == [m for m in messages if isinstance(m, UserMessage)]
    before = [m for m in messages if isinstance(m, AssistantMessage) and (m.text.strip() or m.calls)]
    after = [m for m in kept if isinstance(m, AssistantMessage)]
    for whole, sent in zip(before, after, strict=True):
        assert sent.content == whole.content[: len(sent.content)]
        assert sent.calls == whole.calls
        assert sent.text.rstrip() == whole.text.rstrip()


private = st.just(BashRun("ls", "", 0, 0, private=True)) | st.just(BashRun("ls", "", 0, 0))


@given(conversations, st.lists(st.tuples(st.integers(0, 30), private), max_size=3))
def test_a_conversation_that_is_repaired_as_it_grows_is_the_same(
    messages: list[Message], runs: list[tuple[int, BashRun]]
) -> None:
    for at, run in runs:
        messages.insert(at, run)
    repair = Repair()
    for length in range(len(messages) + 1):
        assert repair.follow(messages[:length]) == repaired(messages[:length])


def test_of_two_results_of_one_call_the_first_is_sent() -> None:
    asked = AssistantMessage((ToolCall("a", "read", {}),), 0, "p", "m", stop="tool_use")
    first, second = (ToolResult("a", "read", (Text(text),), 0) for text in ("first", "second"))
    assert repaired([asked, first, second]) == [asked, first]
