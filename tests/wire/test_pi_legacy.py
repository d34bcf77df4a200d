"""The pi protocol before it had responses."""

import json
from base64 import b64encode
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet import errors
from linnet.core import commands, events
from linnet.core.messages import AssistantMessage, Image, Summary, Text, ToolCall, ToolResult, Usage, UserMessage
from linnet.wire.dialect import Asked, Dialect, Encoder, Rejected
from linnet.wire.pi_legacy.dialect import PiLegacy

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SETTLED = events.Settled("prompt", "end")
COMPACTION = events.Compaction(Summary("s", 9, 0), 1, "e1", (), (), Usage())


def decoded(**fields: Any) -> Asked | Rejected:
    return PiLegacy().decode(json.dumps(fields).encode())


def lines(happened: Iterable[events.Event], encoder: Encoder | None = None) -> list[Any]:
    return [json.loads(b"".join(buffers)) for buffers in (encoder or PiLegacy().encoder()).encode(list(happened))]


def test_a_prompt_has_one_start_and_one_end_however_often_it_is_tried() -> None:
    go = UserMessage((Text("go"),), 1)
    failed = AssistantMessage((), 2, "anthropic", "m", stop="error", error="529")
    done = AssistantMessage((Text("Hi"),), 3, "anthropic", "m")
    encoder = PiLegacy().encoder()
    told = lines(
        [
            events.RunStarted(),
            events.UserSaid(go),
            events.StepStarted(1),
            events.ReplyEnded(failed, Usage()),
            events.StepEnded(failed, ()),
            events.RunEnded("error", "529", (go, failed)),
            events.RetryScheduled(1, 3, 2000, "529"),
            events.RunStarted(),
            events.StepStarted(1),
            events.ReplyEnded(done, Usage()),
            events.StepEnded(done, ()),
            events.RunEnded("end", "", (done,)),
            events.RetryEnded(True, 1, ""),
            SETTLED,
        ],
        encoder,
    )
    kinds = [frame["type"] for frame in told]
    assert (kinds[0], kinds[-1]) == ("agent_start", "agent_end")
    assert kinds.count("agent_start") == kinds.count("agent_end") == 1
    assert [m.get("stopReason") for m in told[-1]["messages"]] == [None, "error", "stop"]
    assert "errorMessage" not in told[-1]
    again = lines([events.RunStarted(), events.RunEnded("end", "", ()), SETTLED], encoder)
    assert again == [{"type": "agent_start"}, {"type": "agent_end", "messages": []}]


def test_a_try_that_broke_is_ended_with_those_before_it() -> None:
    go = UserMessage((Text("go"),), 1)
    told = lines(
        [
            events.RunStarted(),
            events.RunEnded("error", "529", (go,)),
            events.RunStarted(),
            events.StepStarted(1),
            events.Settled("prompt", "error", "boom"),
        ]
    )
    kinds = [frame["type"] for frame in told]
    assert kinds.count("agent_start") == kinds.count("agent_end") == 1
    assert kinds[-1] == "agent_end"
    assert told[-1]["errorMessage"] == "boom"


@given(st.binary())
def test_no_line_is_too_strange_to_be_refused(line: bytes) -> None:
    dialect = PiLegacy()
    refused = dialect.refuse(dialect.decode(line), "no")
    assert json.loads(refused) == {"type": "error", "error": "no"}
    assert refused.count(b"\n") == 1


def test_there_are_three_commands() -> None:
    assert decoded(type="abort") == Asked(decoded().id, "abort", commands.Abort())
    compact = decoded(type="compact", customInstructions="files")
    assert isinstance(compact, Asked)
    assert compact.command == commands.Compact("files", at_once=True)
    prompt = decoded(type="prompt", message="hi")
    assert isinstance(prompt, Asked)
    assert isinstance(prompt.command, commands.Prompt)
    assert (prompt.command.text, prompt.command.when_busy) == ("hi", "refuse")
    for name in ("steer", "get_state", "set_stream", "frob"):
        rejected = decoded(type=name, message="hi", mode="full")
        assert isinstance(rejected, Rejected)
        assert rejected.reason == f"Unknown command: {name}"


def test_nothing_is_answered_and_what_fails_is_an_error() -> None:
    dialect: Dialect = PiLegacy()
    asked = dialect.decode(b'{"type":"abort","id":1}')
    assert isinstance(asked, Asked)
    assert dialect.answer(asked, commands.Ok()) == b""
    assert json.loads(dialect.refuse(asked, dialect.explain(errors.Busy()))) == {
        "type": "error",
        "error": "Agent is already processing. Wait for agent_end, or abort, before the next prompt.",
    }
    assert dialect.explain(errors.NothingToCompact("Already compacted")) == "Already compacted"
    assert dialect.moment(commands.Prompt("x")) == "accepted"


def test_a_user_message_is_a_string_unless_it_has_images() -> None:
    said = UserMessage((Text("List files"),), 1)
    looked = UserMessage((Text("look"), Image("image/png", PNG)), 1)
    turn, start, end = lines([events.UserSaid(said)])
    assert turn == {"type": "turn_start"}
    message = {"role": "user", "content": "List files", "timestamp": 1}
    assert (start, end) == (
        {"type": "message_start", "message": message},
        {"type": "message_end", "message": message},
    )
    assert lines([events.UserSaid(looked)])[1]["message"]["content"][1]["type"] == "image"


def test_attachments_are_shown_as_they_were_sent() -> None:
    dialect = PiLegacy()
    sent = [
        {"id": "1", "type": "image", "fileName": "a.png", "mimeType": "image/png", "size": 70, "content": PNG},
        {
            "id": "2",
            "type": "document",
            "fileName": "n.txt",
            "mimeType": "text/plain",
            "size": 2,
            "content": b64encode(b"hi").decode(),
            "preview": "\u2028",
        },
    ]
    line = json.dumps({"type": "prompt", "message": "look", "attachments": sent}, indent=1).replace("\n", "\r")
    asked = dialect.decode(line.encode())
    assert isinstance(asked, Asked)
    assert isinstance(asked.command, commands.Prompt)
    assert asked.command.text == 'look\n\n<file name="n.txt">\nhi\n</file>'
    assert asked.command.images == (Image("image/png", PNG),)
    encoder = dialect.encoder()
    said = UserMessage((Text(asked.command.text), *asked.command.images), 1, asked.command.sent)
    shown = {"role": "user", "content": "look", "timestamp": 1, "attachments": sent}
    happened: list[events.Event] = [
        events.RunStarted(),
        events.UserSaid(said),
        events.RunEnded("end", "", (said,)),
        SETTLED,
    ]
    frames = list(encoder.encode(happened))
    assert all(b"\r" not in b"".join(frame) for frame in frames)
    _, _, start, end, agent_end = (json.loads(b"".join(frame)) for frame in frames)
    assert start["message"] == shown
    assert end["message"] == shown
    assert agent_end["messages"] == [shown]
    assert lines([events.UserSaid(UserMessage((Text("next"),), 2))], encoder)[-1]["message"]["content"] == "next"


def test_attachments_belong_to_the_message_they_came_with_however_late_it_is_told() -> None:
    dialect = PiLegacy()
    encoder = dialect.encoder()
    sent = [{"type": "image", "mimeType": "image/png", "content": PNG}]
    earlier = encoder.encode([events.UserSaid(UserMessage((Text("first"),), 1))])  # Nobody has read it yet.
    asked = dialect.decode(json.dumps({"type": "prompt", "message": "second", "attachments": sent}).encode())
    assert isinstance(asked, Asked)
    assert isinstance(asked.command, commands.Prompt)
    dialect.answer(asked, commands.Accepted())
    assert "attachments" not in [json.loads(b"".join(buffers)) for buffers in earlier][-1]["message"]
    said = UserMessage((Text("second"), Image("image/png", PNG)), 2, asked.command.sent)
    assert lines([events.UserSaid(said)], encoder)[-1]["message"]["attachments"] == sent


@pytest.mark.parametrize("attachments", [None, []])
def test_a_prompt_without_attachments_is_plain(attachments: Any) -> None:
    dialect = PiLegacy()
    asked = dialect.decode(json.dumps({"type": "prompt", "message": "hi", "attachments": attachments}).encode())
    assert isinstance(asked, Asked)
    assert isinstance(asked.command, commands.Prompt)
    shown = lines([events.UserSaid(UserMessage((Text("hi"),), 1, asked.command.sent))])[-1]["message"]
    assert shown["content"] == "hi"


def test_usage_has_no_total() -> None:
    reply = AssistantMessage((Text("x"),), 2, "p", "m", Usage(1, 2))
    start, end = lines([events.ReplyEnded(reply, Usage())])
    assert set(end["message"]["usage"]) == {"input", "output", "cacheRead", "cacheWrite", "cost"}
    assert "totalTokens" not in start["message"]["usage"]


def test_the_result_of_a_tool_is_a_string_if_it_failed() -> None:
    call = ToolCall("c1", "bash", {"command": "ls"})
    good = ToolResult("c1", "bash", (Text("ok"),), 3)
    bad = ToolResult("c1", "bash", (Text("oh"), Text("no")), 3, is_error=True)
    happened: list[events.Event] = [
        events.ToolStarted(call),
        events.ToolProgressed("c1", "bash", "o"),
        events.ToolFinished(good),
    ]
    start, end, *_ = lines(happened)
    assert start == {"type": "tool_execution_start", "toolCallId": "c1", "toolName": "bash", "args": {"command": "ls"}}
    assert end["result"] == {"content": [{"type": "text", "text": "ok"}], "details": {}}
    failed, message, _ = lines([events.ToolFinished(bad)])
    assert failed["result"] == "oh\nno"
    assert failed["isError"] is True
    assert message["message"]["content"] == [{"type": "text", "text": "oh"}, {"type": "text", "text": "no"}]


def test_a_compaction_is_one_event_and_one_that_failed_an_error() -> None:
    assert lines(
        [
            events.CompactionStarted("manual"),
            events.CompactionEnded("manual", COMPACTION),
            events.CompactionStarted("threshold"),
            events.CompactionEnded("threshold", COMPACTION),
            events.CompactionEnded("overflow", None, error="no"),
            events.CompactionEnded("overflow", None, aborted=True),
            events.CompactionEnded("manual", None, error="no"),  # Whoever asked is refused, which is an error too.
        ]
    ) == [
        {"type": "compaction", "summary": "s", "tokensBefore": 9},
        {"type": "compaction", "summary": "s", "tokensBefore": 9, "auto": True},
        {"type": "error", "error": "no"},
    ]


def test_later_events_are_not_known_here() -> None:
    assert not lines(
        [
            events.RetryScheduled(1, 3, 2000, "529"),
            events.RetryEnded(True, 1),
            events.QueueChanged((), ()),
            events.SessionNamed("mine"),
            events.Settled("prompt", "end"),
        ]
    )


def test_a_session_that_is_not_saved_is_an_error() -> None:
    assert lines([events.SessionFailed("/a.jsonl", "it is full")]) == [{"type": "error", "error": "it is full"}]


def test_updates_are_those_of_the_later_protocol() -> None:
    frames = lines(
        [
            events.ReplyStarted("anthropic-messages", "anthropic", "m", 2),
            events.PartStarted(0, "text"),
            events.TextGrew(0, "I'll list"),
        ]
    )
    partial = frames[-1]["message"]
    assert partial["content"] == [{"type": "text", "text": "I'll list"}]
    assert frames[-1]["assistantMessageEvent"] == {
        "type": "text_delta",
        "contentIndex": 0,
        "delta": "I'll list",
        "partial": partial,
    }
