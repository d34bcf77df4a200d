"""A question that waits is told again, in both dialects, with all that it was first told with."""

from types import ModuleType
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.core import questions as asked
from linnet.core.messages import ToolCall
from linnet.core.questions import QuestionAsked
from linnet.wire.pi import questions as pi
from linnet.wire.zot import questions as zot

calls = st.builds(ToolCall, st.text(), st.text(), st.dictionaries(st.text(), st.integers()))
every = st.one_of(
    st.builds(asked.Confirm, st.text(), st.text()),
    st.builds(asked.Select, st.text(), st.lists(st.text()).map(tuple)),
    st.builds(asked.EnterText, st.text(), st.text()),
    st.builds(asked.EditText, st.text(), st.text()),
    st.builds(asked.Permit, calls, st.text(), st.text()),
    st.builds(asked.RunClientTool, calls),
)


@pytest.mark.parametrize("dialect", [zot, pi], ids=["zot", "pi"])
@given(every, st.none() | st.floats(0, 1e6))
def test_what_waits_can_be_drawn_again(dialect: ModuleType, question: asked.Question, timeout: float | None) -> None:
    event = QuestionAsked("q", question, timeout)
    told: dict[str, Any] = msgspec.to_builtins(dialect.asked(event))
    waiting: dict[str, Any] = msgspec.to_builtins(dialect.waiting(event))
    assert told.pop("type")
    id = told.pop("request_id", None) or told.pop("requestId", None) or told.pop("id")
    assert id == (waiting.get("request_id") or waiting["id"]) == "q"
    assert {**told, **waiting} == waiting
    match question:
        case asked.Permit(call):
            expected: tuple[str, str | None] = ("permission", call.id)
        case asked.RunClientTool(call):
            expected = ("tool", call.id)
            assert waiting["title"] == call.name
        case _:
            expected = ("question", None)
    assert (waiting["kind"], waiting.get("call_id", waiting.get("toolCallId"))) == expected
