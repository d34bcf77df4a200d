"""The zot protocol's translators, without a process around them."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from linnet.core import commands, events
from linnet.core.messages import (
    AssistantMessage,
    Image,
    Message,
    Summary,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from linnet.core.models import Model
from linnet.wire.dialect import Asked, Rejected
from linnet.wire.jsonl import Overlong, encode_lines
from linnet.wire.zot import answers, encode, frames
from linnet.wire.zot.decode import decode
from linnet.wire.zot.dialect import Zot

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from(
    ["prompt", "hello", "abort", "compact", "get_state", "get_messages", "clear", "set_model", "get_models", "ping"]
)


def decoded(**fields: Any) -> Asked | Rejected:
    return decode(json.dumps(fields).encode())


def shown(*happened: events.Event, **options: Any) -> list[Any]:
    return [json.loads(line) for line in encode_lines(encode.encode(happened, **options)).splitlines()]


@given(st.binary())
def test_no_line_is_too_strange_to_be_answered(line: bytes) -> None:
    assert isinstance(decode(line), Asked | Rejected)


@given(st.fixed_dictionaries({"type": names | values}, optional=dict.fromkeys(["message", "images", "model"], values)))
def test_no_object_is_too_strange_to_be_answered(fields: dict[str, Any]) -> None:
    asked = decoded(**fields, id="x")
    assert bytes(asked.id) == b'"x"'
    assert json.loads(Zot().refuse(asked, "no"))["id"] == "x"


@given(values, names)
def test_an_id_of_any_type_comes_back_as_it_was(id: Any, name: str) -> None:
    asked = decoded(id=id, type=name, message="hi", model="m")
    assert isinstance(asked, Asked)
    answer = json.loads(encode_lines([answers.answer(asked, commands.Ok())]))
    assert answer["command"] == name
    if id is None or id == "":
        assert "id" not in answer
    else:
        assert answer["id"] == id


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("abort", commands.Abort()),
        ("compact", commands.Compact()),
        ("get_state", commands.GetState()),
        ("get_messages", commands.GetMessages()),
        ("clear", commands.Clear()),
        ("get_models", commands.GetModels()),
        ("ping", commands.Ping()),
    ],
)
def test_a_command_without_arguments_ignores_what_it_does_not_know(name: str, command: commands.Command) -> None:
    asked = decoded(type=name, id=1, message=[], images=5, whatever={"a": 1})
    assert isinstance(asked, Asked)
    assert asked.command == command


def test_a_prompt_has_text_and_images() -> None:
    asked = decoded(type="prompt", message="look", images=[{"mime_type": "image/png", "data": PNG}])
    assert isinstance(asked, Asked)
    assert asked.command == commands.Prompt("look", (Image("image/png", PNG),))


def test_images_alone_are_a_prompt_and_null_is_none() -> None:
    assert isinstance(decoded(type="prompt", images=[{"data": PNG}]), Asked)
    assert isinstance(decoded(type="prompt", message="x", images=None), Asked)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"type": "frob"}, "unknown command"),
        ({"type": None}, "unknown command"),
        ({}, "unknown command"),
        ({"type": 5}, "`type` must be a string"),
        ({"type": "prompt"}, "a prompt needs a message or an image"),
        ({"type": "prompt", "message": " "}, "a prompt needs a message or an image"),
        ({"type": "prompt", "message": 5}, "`message` must be a string"),
        ({"type": "prompt", "message": "x", "images": "y"}, '`images` must be a list of {"mime_type", "data"}'),
        ({"type": "prompt", "message": "x", "images": [{"data": "!"}]}, "image 1: image data is not base64"),
        ({"type": "set_model", "model": 1}, "`model` must be a string"),
        ({"type": "hello", "token": {}}, "`token` must be a string"),
    ],
)
def test_a_bad_command_is_rejected_with_its_id_and_a_reason(fields: dict[str, Any], reason: str) -> None:
    rejected = decoded(**fields, id=7)
    assert isinstance(rejected, Rejected)
    assert rejected.reason.startswith(reason)
    assert bytes(rejected.id) == b"7"


@pytest.mark.parametrize("line", [b"{", b"[]", b"5", b'"x"', b"null", b'{"a":\xff}', b"{'a':1}"])
def test_what_is_no_object_is_malformed(line: bytes) -> None:
    rejected = decode(line)
    assert isinstance(rejected, Rejected)
    assert rejected.reason.startswith("malformed json: ")


def test_a_line_over_the_limit_is_answered_with_its_length() -> None:
    rejected = decode(Overlong(300 * 1024 * 1024))
    assert isinstance(rejected, Rejected)
    assert "314572800 bytes" in rejected.reason
    assert "256 MiB" in rejected.reason


def test_a_reply_with_a_call_is_told_as_usage_message_calls_and_end() -> None:
    reply = AssistantMessage(
        (Thinking("hm"), Text("Running."), ToolCall("t1", "bash", {"command": "ls"})),
        1_745_062_200_000,
        "anthropic",
        "m",
        Usage(10, 4),
        "tool_use",
    )
    block = {"type": "tool_call", "id": "t1", "name": "bash", "args": {"command": "ls"}}
    counts = {"cache_read": 0, "cache_write": 0, "cost_usd": 0}
    assert shown(events.ReplyEnded(reply, Usage(30, 8))) == [
        {"type": "usage", "input": 10, "output": 4, **counts, "cumulative": {"input": 30, "output": 8, **counts}},
        {
            "type": "assistant_message",
            "content": [{"type": "text", "text": "Running."}, block],
            "time": "2025-04-19T11:30:00.000Z",
        },
        block,
        {"type": "turn_end", "stop": "tool_use"},
    ]


def test_a_reply_that_failed_at_once_is_only_an_end() -> None:
    reply = AssistantMessage((), 0, "anthropic", "m", stop="error", error="anthropic: http 401: no")
    told = shown(events.ReplyEnded(reply, Usage()), events.Settled("prompt", "error", "anthropic: http 401: no"))
    assert told == [
        {"type": "turn_end", "stop": "error", "error": "anthropic: http 401: no"},
        {"type": "error", "message": "anthropic: http 401: no"},
        {"type": "done"},
    ]


def test_every_run_has_one_terminator() -> None:
    not_asked = AssistantMessage((), 0, "p", "m", stop="aborted")
    compaction = events.Compaction(Summary("s", 9, 0), 4, "id", (), (), Usage())
    assert shown(events.RunEnded("end", "", ()), events.Settled("prompt", "end")) == [{"type": "done"}]
    assert shown(events.Interrupted(not_asked), events.Settled("prompt", "aborted")) == [
        {"type": "turn_end", "stop": "aborted"},
        {"type": "done"},
    ]
    assert shown(events.CompactionEnded("manual", compaction), events.Settled("compact", "end")) == [
        {"type": "compact_done", "summary": "s"}
    ]
    aborted = events.CompactionEnded("manual", None, aborted=True)
    assert shown(aborted, events.Settled("compact", "aborted")) == [
        {"type": "turn_end", "stop": "aborted"},
        {"type": "done"},
    ]
    assert shown(events.Settled("compact", "error", "no")) == [{"type": "error", "message": "no"}, {"type": "done"}]


def test_thinking_is_shown_only_when_asked_for() -> None:
    assert shown(events.ThinkingGrew(0, "hm")) == []
    assert shown(events.ThinkingGrew(0, "hm"), show_thinking=True) == [{"type": "thinking_delta", "delta": "hm"}]


def test_results_of_one_reply_are_one_message_of_role_tool() -> None:
    transcript: list[Message] = [
        UserMessage((Text("look"), Image("image/png", PNG)), 0),
        AssistantMessage((ToolCall("a", "read", {}), ToolCall("b", "read", {})), 0, "p", "m"),
        ToolResult("a", "read", (Text("1"),), 0),
        ToolResult("b", "read", (Text("2"),), 1, is_error=True),
        AssistantMessage((Text("done"),), 0, "p", "m"),
    ]
    listed = json.loads(encode_lines([answers.data(commands.Transcript(transcript))]))["messages"]
    assert [message["role"] for message in listed] == ["user", "assistant", "tool", "assistant"]
    assert listed[0]["content"][1] == {"type": "image", "mime_type": "image/png", "bytes": 70}
    assert [block["call_id"] for block in listed[2]["content"]] == ["a", "b"]
    state = answers.data(
        commands.AgentState(
            model=Model("m", "p"),
            cwd="/",
            busy=False,
            streaming=False,
            compacting=False,
            spent=Usage(),
            messages=transcript,
            thinking="off",
            steering_mode="all",
            follow_up_mode="all",
            auto_compaction=False,
            pending=0,
            session_id="s",
        )
    )
    assert state.message_count == 4


def test_an_answer_without_data_has_no_data_field() -> None:
    asked = decoded(type="abort", id="2")
    assert isinstance(asked, Asked)
    assert answers.answer(asked, commands.Ok()).data is UNSET


def test_models_are_listed_with_what_the_document_names() -> None:
    data = answers.data(commands.ModelList([Model("m", "anthropic", context_window=200_000, max_output=8192)]))
    assert json.loads(encode_lines([data])) == {
        "models": [
            {"id": "m", "provider": "anthropic", "context_window": 200000, "max_output": 8192, "reasoning": False}
        ]
    }


def test_a_frame_knows_its_type() -> None:
    assert frames.TextDelta("x").type == "text_delta"
    assert frames.Done().type == "done"


def test_every_answer_can_be_read_back_with_its_own_type() -> None:
    transcript: list[Message] = [UserMessage((Text("hi"), Image("image/png", PNG)), 0)]
    models = [Model("m", "p")]
    for answer in (commands.Transcript(transcript), commands.ModelList(models), commands.Greeting("1", "p", "m")):
        data = answers.data(answer)
        assert msgspec.json.decode(msgspec.json.encode(data), type=type(data)) == data
