"""The pi protocol: lines as commands, and the lines that answer them."""

import json
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw, structs

from linnet import errors
from linnet.core import commands
from linnet.core.events import Compaction
from linnet.core.messages import (
    AssistantMessage,
    BashRun,
    Cost,
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
from linnet.core.models import Model, Prices
from linnet.core.session_info import OutlineEntry
from linnet.wire.dialect import Asked, Dialect, Rejected
from linnet.wire.jsonl import Overlong
from linnet.wire.pi.dialect import Pi

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PICTURE = Image("image/png", PNG)
MODEL = Model(
    "m", "anthropic", "Em", 200_000, 16_384, True, True, Prices(3, 15, 0.3, 3.75), "anthropic-messages", "https://x"
)
SHOWN_MODEL = {
    "id": "m",
    "name": "Em",
    "api": "anthropic-messages",
    "provider": "anthropic",
    "baseUrl": "https://x",
    "reasoning": True,
    "input": ["text", "image"],
    "contextWindow": 200000,
    "maxTokens": 16384,
    "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75},
}
BARE: list[tuple[str, commands.Command]] = [
    ("abort", commands.Abort()),
    ("get_state", commands.GetState()),
    ("get_messages", commands.GetMessages()),
    ("cycle_model", commands.CycleModel()),
    ("get_available_models", commands.GetModels(everywhere=True)),
    ("cycle_thinking_level", commands.CycleThinking()),
    ("get_available_thinking_levels", commands.GetThinkingLevels()),
    ("abort_retry", commands.AbortRetry()),
    ("abort_bash", commands.AbortBash()),
    ("get_session_stats", commands.GetStats()),
    ("get_last_assistant_text", commands.GetLastText()),
    ("get_branch_messages", commands.GetBranchMessages()),
    ("get_fork_messages", commands.GetBranchMessages()),
    ("get_tree", commands.GetTree()),
    ("get_entries", commands.GetEntries()),
    ("list_sessions", commands.ListSessions()),
    ("clone", commands.CloneSession()),
    ("export_html", commands.ExportHtml()),
    ("new_session", commands.NewSession()),
    ("compact", commands.Compact(at_once=True)),
]
COMPLETE: dict[str, dict[str, Any]] = {
    "prompt": {"message": "hi"},
    "steer": {"message": "hi"},
    "follow_up": {"message": "hi"},
    "set_model": {"provider": "p", "modelId": "m"},
    "set_thinking_level": {"level": "high"},
    "set_steering_mode": {"mode": "all"},
    "set_follow_up_mode": {"mode": "all"},
    "set_auto_compaction": {"enabled": True},
    "set_auto_retry": {"enabled": False},
    "bash": {"command": "ls"},
    "switch_session": {"sessionPath": "/a.jsonl"},
    "branch": {"entryId": "e1"},
    "fork": {"entryId": "e1"},
    "navigate": {"entryId": None},
    "set_session_name": {"name": "mine"},
    "set_stream": {"mode": "deltas"},
    **{name: {} for name, _ in BARE},
}
OPTIONAL = ["images", "attachments", "streamingBehavior", "customInstructions", "since", "all", "outputPath"]
FIELDS = sorted({field for fields in COMPLETE.values() for field in fields})
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from(sorted(COMPLETE))


def decoded(**fields: Any) -> Asked | Rejected:
    return Pi().decode(json.dumps(fields).encode())


def command(**fields: Any) -> commands.Command:
    asked = decoded(**fields)
    assert isinstance(asked, Asked), asked
    return asked.command


def reason(**fields: Any) -> str:
    rejected = decoded(**fields)
    assert isinstance(rejected, Rejected), rejected
    return rejected.reason


def answered(answer: commands.Answer, name: str = "abort", id: bytes = b"") -> Any:
    line = Pi().answer(Asked(Raw(id), name, commands.Abort()), answer)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    return json.loads(line)


@given(st.binary())
def test_no_line_is_too_strange_to_be_answered(line: bytes) -> None:
    pi = Pi()
    asked = pi.decode(line)
    assert json.loads(pi.refuse(asked, "no"))["success"] is False


@given(
    st.fixed_dictionaries(
        {"type": names | values},
        optional=dict.fromkeys([*FIELDS, *OPTIONAL], values),
    )
)
def test_no_object_is_too_strange_to_be_answered(fields: dict[str, Any]) -> None:
    asked = decoded(**fields, id="x")
    assert bytes(asked.id) == b'"x"'
    assert json.loads(Pi().refuse(asked, "no"))["id"] == "x"


@given(values, names)
def test_an_id_of_any_type_comes_back_as_it_was(id: Any, name: str) -> None:
    asked = decoded(id=id, type=name, **COMPLETE[name])
    assert isinstance(asked, Asked)
    assert json.loads(Pi().answer(asked, commands.Ok())) == {
        "id": id,
        "type": "response",
        "command": name,
        "success": True,
    }
    assert json.loads(Pi().refuse(asked, "no")) == {
        "id": id,
        "type": "response",
        "command": name,
        "success": False,
        "error": "no",
    }


def test_an_id_that_was_not_sent_is_not_sent_back() -> None:
    assert answered(commands.Ok()) == {"type": "response", "command": "abort", "success": True}


def test_an_id_stays_on_its_line() -> None:
    asked = Pi().decode('{"id":{"a":\r"\u2028"},"type":"abort"}'.encode())
    line = Pi().refuse(asked, "no")
    assert b"\r" not in line
    assert "\u2028".encode() not in line
    assert json.loads(line)["id"] == {"a": "\u2028"}


@pytest.mark.parametrize(("name", "meant"), BARE)
def test_a_command_without_arguments_ignores_what_it_does_not_know(name: str, meant: commands.Command) -> None:
    assert command(type=name, message=[], images=5, whatever={"a": 1}) == meant


@pytest.mark.parametrize(
    ("fields", "meant"),
    [
        ({"type": "prompt", "message": "hi"}, commands.Prompt("hi", (), "refuse", slash="at_once")),
        (
            {"type": "prompt", "message": "hi", "streamingBehavior": None},
            commands.Prompt("hi", (), "refuse", slash="at_once"),
        ),
        (
            {"type": "prompt", "message": "hi", "streamingBehavior": "steer"},
            commands.Prompt("hi", (), "steer", slash="at_once"),
        ),
        (
            {"type": "prompt", "message": "hi", "streamingBehavior": "followUp"},
            commands.Prompt("hi", (), "follow_up", slash="at_once"),
        ),
        ({"type": "steer", "message": "hi"}, commands.Prompt("hi", (), "steer", slash="refuse")),
        ({"type": "follow_up", "message": "hi"}, commands.Prompt("hi", (), "follow_up", slash="refuse")),
        ({"type": "new_session", "parentSession": "/a.jsonl"}, commands.NewSession("/a.jsonl")),
        ({"type": "set_model", "provider": "p", "modelId": "m"}, commands.SetModel("m", "p")),
        ({"type": "set_thinking_level", "level": "xhigh"}, commands.SetThinking("xhigh")),
        ({"type": "set_steering_mode", "mode": "all"}, commands.SetSteeringMode("all")),
        ({"type": "set_follow_up_mode", "mode": "one-at-a-time"}, commands.SetFollowUpMode("one-at-a-time")),
        ({"type": "compact", "customInstructions": "files"}, commands.Compact("files", at_once=True)),
        ({"type": "set_auto_compaction", "enabled": False}, commands.SetAutoCompaction(False)),
        ({"type": "set_auto_retry", "enabled": True}, commands.SetAutoRetry(True)),
        ({"type": "bash", "command": "ls -la"}, commands.Bash("ls -la")),
        ({"type": "switch_session", "sessionPath": "a.jsonl"}, commands.SwitchSession("a.jsonl")),
        ({"type": "branch", "entryId": "e1"}, commands.Branch("e1")),
        ({"type": "fork", "entryId": "e1"}, commands.Branch("e1")),
        ({"type": "navigate", "entryId": "e1"}, commands.Navigate("e1")),
        ({"type": "navigate", "entryId": None}, commands.Navigate(None)),
        ({"type": "get_entries", "since": "e1"}, commands.GetEntries("e1")),
        ({"type": "list_sessions", "all": True}, commands.ListSessions(True)),
        ({"type": "set_session_name", "name": " mine\n"}, commands.SetSessionName("mine")),
        ({"type": "export_html", "outputPath": "a.html"}, commands.ExportHtml("a.html")),
    ],
)
def test_a_command_with_arguments_has_them(fields: dict[str, Any], meant: commands.Command) -> None:
    assert command(**fields) == meant


@pytest.mark.parametrize(
    "sent",
    [
        {"type": "image", "source": {"type": "base64", "mediaType": "image/png", "data": PNG}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        {"type": "image", "data": PNG, "mimeType": "image/png"},
    ],
)
@pytest.mark.parametrize("name", ["prompt", "steer", "follow_up"])
def test_an_image_comes_in_either_form_with_every_kind_of_message(name: str, sent: Any) -> None:
    prompt = command(type=name, message="look", images=[sent])
    assert isinstance(prompt, commands.Prompt)
    assert prompt.images == (PICTURE,)
    assert command(type="prompt", images=[sent]) == commands.Prompt("", (PICTURE,), "refuse", slash="at_once")


def test_attachments_are_images_and_texts_under_their_names() -> None:
    document = {"type": "document", "fileName": "notes.txt", "mimeType": "text/plain"}
    prompt = command(
        type="prompt",
        message="look",
        attachments=[
            {"id": "1", "type": "image", "fileName": "a.png", "mimeType": "image/png", "size": 70, "content": PNG},
            {**document, "content": b64encode("größer \xe4".encode()).decode()},
            {**document, "fileName": 'a\n"b".pdf', "content": "", "extractedText": "read from it"},
        ],
    )
    text = 'look\n\n<file name="notes.txt">\ngrößer \xe4\n</file>\n\n<file name="a \'b\'.pdf">\nread from it\n</file>'
    assert isinstance(prompt, commands.Prompt)
    assert (prompt.text, prompt.images, prompt.when_busy, prompt.slash) == (text, (PICTURE,), "refuse", "at_once")


@pytest.mark.parametrize("attachments", [None, []])
def test_a_prompt_without_attachments_is_plain(attachments: Any) -> None:
    plain = commands.Prompt("hi", (), "refuse", slash="at_once")
    assert command(type="prompt", message="hi", attachments=attachments) == plain


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"type": "frob"}, "Unknown command: frob"),
        ({"type": "get_everything"}, "Unknown command: get_everything"),
        ({"type": "prompt"}, "`message` must be a string that is not empty, unless there are images"),
        ({"type": "prompt", "message": " \n"}, "`message` must be a string that is not empty"),
        ({"type": "steer"}, "`message` must be a string that is not empty"),
        ({"type": "prompt", "message": 5}, "`message` must be a string"),
        ({"type": "prompt", "message": "x", "streamingBehavior": "now"}, "`streamingBehavior` must be one of steer,"),
        ({"type": "prompt", "message": "x", "images": "y"}, "`images` must be a list of "),
        ({"type": "prompt", "message": "x", "images": [{"data": "!"}]}, "image 1: image data is not base64"),
        ({"type": "prompt", "message": "x", "images": [{"data": ""}]}, "image 1: image data is empty"),
        (
            {"type": "prompt", "message": "x", "images": [{"source": {"type": "url", "url": "file:///a.png"}}]},
            "image 1: the url of an image must start with https:// or http://",
        ),
        ({"type": "prompt", "attachments": [{"type": "film"}]}, "attachment 1: `type` must be"),
        ({"type": "prompt", "attachments": [{"type": "document"}]}, "attachment 1: file is empty"),
        (
            {"type": "prompt", "attachments": [{"type": "document", "fileName": "a.bin", "content": "AAECAwQF"}]},
            "attachment 1: a.bin is not a text file",
        ),
        ({"type": "prompt", "attachments": [{"type": "document", "content": "?"}]}, "attachment 1: file: the content"),
        ({"type": "set_model", "modelId": "m"}, "`provider` must be the name of a provider"),
        ({"type": "set_model", "provider": "p", "modelId": ""}, "`modelId` must be the id of a model"),
        (
            {"type": "set_thinking_level", "level": "bogus"},
            "`level` must be one of off, minimal, low, medium, high, xh",
        ),
        ({"type": "set_thinking_level"}, "`level` must be one of"),
        ({"type": "set_steering_mode", "mode": "some"}, "`mode` must be one of all, one-at-a-time"),
        ({"type": "set_auto_retry", "enabled": "yes"}, "`enabled` must be true or false"),
        ({"type": "set_auto_compaction"}, "`enabled` must be true or false"),
        ({"type": "bash"}, "`command` must be a shell command"),
        ({"type": "bash", "command": ""}, "`command` must be a shell command"),
        ({"type": "set_stream", "mode": "half"}, "`mode` must be one of full, deltas"),
        ({"type": "new_session", "parentSession": 5}, "`parentSession` must be a path"),
        ({"type": "switch_session"}, "`sessionPath` must be the path of a session file, or the beginning of a"),
        ({"type": "switch_session", "sessionPath": ""}, "`sessionPath` must be the path of a session file"),
        ({"type": "branch"}, "`entryId` must be the id of an entry"),
        ({"type": "branch", "entryId": None}, "`entryId` must be the id of an entry"),
        ({"type": "fork", "entryId": 5}, "`entryId` must be the id of an entry"),
        ({"type": "navigate"}, "`entryId` must be the id of an entry"),
        ({"type": "get_entries", "since": []}, "`since` must be the id of an entry"),
        ({"type": "list_sessions", "all": "yes"}, "`all` must be true or false"),
        ({"type": "set_session_name"}, "Session name cannot be empty"),
        ({"type": "set_session_name", "name": " \n"}, "Session name cannot be empty"),
        ({"type": "set_session_name", "name": {}}, "`name` must be a string"),
        ({"type": "export_html", "outputPath": 5}, "`outputPath` must be a path"),
        ({}, "Failed to parse command: `type` must be a string"),
        ({"type": 5}, "Failed to parse command: `type` must be a string"),
    ],
)
def test_a_bad_command_is_rejected_with_its_id_and_a_reason(fields: dict[str, Any], why: str) -> None:
    rejected = decoded(**fields, id=7)
    assert isinstance(rejected, Rejected)
    assert rejected.reason.startswith(why)
    assert bytes(rejected.id) == b"7"


@pytest.mark.parametrize("line", [b"{", b"[]", b"5", b'"x"', b"null", b'{"a":\xff}', b"{'a':1}", b"[" * 100_000])
def test_what_is_no_object_could_not_be_parsed(line: bytes) -> None:
    rejected = Pi().decode(line)
    assert isinstance(rejected, Rejected)
    response = json.loads(Pi().refuse(rejected, rejected.reason))
    assert response.pop("error").startswith("Failed to parse command: ")
    assert response == {"type": "response", "command": "parse", "success": False}


def test_a_line_over_the_limit_is_answered_with_its_length() -> None:
    rejected = Pi().decode(Overlong(300 * 1024 * 1024))
    assert isinstance(rejected, Rejected)
    assert "314572800 bytes" in rejected.reason


def test_half_a_surrogate_pair_becomes_a_replacement_character() -> None:
    asked = Pi().decode(b'{"type":"prompt","message":"a\\ud83d"}')
    assert isinstance(asked, Asked)
    assert asked.command == commands.Prompt("a\ufffd", (), "refuse", slash="at_once")


def test_it_is_a_dialect_that_answers_a_prompt_when_it_is_accepted() -> None:
    pi: Dialect = Pi()
    assert pi.moment(commands.Prompt("x")) == "accepted"
    assert pi.moment(commands.Compact()) == "finished"
    for move in (commands.NewSession(), commands.SwitchSession("a"), commands.Branch("e"), commands.Navigate(None)):
        assert pi.moment(move) == "finished"
    assert pi.moment(commands.Bash("ls")) == "finished"


def test_errors_are_explained_in_the_words_that_clients_know() -> None:
    explain = Pi().explain
    assert explain(errors.Busy()) == (
        "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."
    )
    assert explain(errors.UnknownModel("model", "invalid", [])) == "Model not found: invalid/model"
    assert explain(errors.NothingToCompact("Already compacted")) == "Already compacted"


def test_the_stream_is_a_matter_of_the_dialect() -> None:
    pi = Pi()
    asked = pi.decode(b'{"type":"set_stream","mode":"deltas"}')
    assert isinstance(asked, Asked)
    assert isinstance(asked.command, commands.Ping)
    line = pi.answer(asked, commands.Pong())
    assert json.loads(line) == {"type": "response", "command": "set_stream", "success": True}


def test_the_state_is_told_as_documented() -> None:
    state = commands.AgentState(
        model=MODEL,
        cwd="/",
        busy=True,
        streaming=True,
        compacting=False,
        spent=Usage(),
        messages=[UserMessage((Text("hi"),), 0)],
        thinking="medium",
        steering_mode="all",
        follow_up_mode="one-at-a-time",
        auto_compaction=True,
        pending=2,
        session_id="abc",
        session_file="/s.jsonl",
    )
    expected = {
        "model": SHOWN_MODEL,
        "thinkingLevel": "medium",
        "isStreaming": True,
        "isCompacting": False,
        "steeringMode": "all",
        "followUpMode": "one-at-a-time",
        "sessionFile": "/s.jsonl",
        "sessionId": "abc",
        "autoCompactionEnabled": True,
        "messageCount": 1,
        "pendingMessageCount": 2,
    }
    assert answered(state, "get_state", b"1") == {
        "id": 1,
        "type": "response",
        "command": "get_state",
        "success": True,
        "data": expected,
    }
    more = structs.replace(state, session_name="mine", session_error="it is full")
    assert answered(more)["data"] == {**expected, "sessionName": "mine", "sessionError": "it is full"}


def test_messages_are_told_as_documented() -> None:
    usage = Usage(100, 50, 2, 1, Cost(0.0003, 0.00075, 0.0, 0.0))
    transcript: list[Message] = [
        Summary("before", 150_000, 1),
        UserMessage((Text("look"), PICTURE), 2),
        AssistantMessage(
            (Thinking("hm", "sig"), Text("so"), ToolCall("c1", "bash", {"command": "ls"})),
            3,
            "anthropic",
            "m",
            usage,
            "tool_use",
            api="anthropic-messages",
        ),
        ToolResult("c1", "bash", (Text("a"),), 4, is_error=True, details={"x": 1}),
        ToolResult("c2", "bash", (Text("b"),), 4),
        BashRun("sleep 9", "", None, 5, cancelled=True),
        AssistantMessage((), 6, "anthropic", "m", stop="aborted"),
    ]
    zero = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    assert answered(commands.Transcript(transcript), "get_messages")["data"]["messages"] == [
        {"role": "compactionSummary", "summary": "before", "tokensBefore": 150000, "timestamp": 1},
        {
            "role": "user",
            "content": [{"type": "text", "text": "look"}, {"type": "image", "data": PNG, "mimeType": "image/png"}],
            "timestamp": 2,
            "attachments": [],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"},
                {"type": "text", "text": "so"},
                {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}},
            ],
            "api": "anthropic-messages",
            "provider": "anthropic",
            "model": "m",
            "usage": {
                "input": 100,
                "output": 50,
                "cacheRead": 2,
                "cacheWrite": 1,
                "totalTokens": 153,
                "cost": {"input": 0.0003, "output": 0.00075, "cacheRead": 0, "cacheWrite": 0, "total": 0.00105},
            },
            "stopReason": "toolUse",
            "timestamp": 3,
        },
        {
            "role": "toolResult",
            "toolCallId": "c1",
            "toolName": "bash",
            "content": [{"type": "text", "text": "a"}],
            "details": {"x": 1},
            "isError": True,
            "timestamp": 4,
        },
        {
            "role": "toolResult",
            "toolCallId": "c2",
            "toolName": "bash",
            "content": [{"type": "text", "text": "b"}],
            "isError": False,
            "timestamp": 4,
        },
        {
            "role": "bashExecution",
            "command": "sleep 9",
            "output": "",
            "exitCode": None,
            "cancelled": True,
            "truncated": False,
            "fullOutputPath": None,
            "timestamp": 5,
        },
        {
            "role": "assistant",
            "content": [],
            "api": "",
            "provider": "anthropic",
            "model": "m",
            "usage": {**zero, "totalTokens": 0, "cost": {**zero, "total": 0}},
            "stopReason": "aborted",
            "timestamp": 6,
            "errorMessage": "Request was aborted.",
        },
    ]


def test_stats_count_the_messages_and_what_was_spent() -> None:
    transcript: list[Message] = [
        UserMessage((Text("go"),), 0),
        AssistantMessage((ToolCall("a", "read", {}), ToolCall("b", "read", {})), 0, "p", "m"),
        ToolResult("a", "read", (), 0),
        ToolResult("b", "read", (), 0),
        AssistantMessage((Text("done"),), 0, "p", "m"),
        BashRun("ls", "", 0, 0),
    ]
    spent = Usage(10, 4, 3, 2, Cost(0.1, 0.2))
    assert answered(commands.SessionStats(transcript, spent, "abc", "/s.jsonl"))["data"] == {
        "sessionFile": "/s.jsonl",
        "sessionId": "abc",
        "userMessages": 1,
        "assistantMessages": 2,
        "toolCalls": 2,
        "toolResults": 2,
        "totalMessages": 6,
        "tokens": {"input": 10, "output": 4, "cacheRead": 3, "cacheWrite": 2, "total": 19},
        "cost": 0.3,
    }


@pytest.mark.parametrize(
    ("answer", "data"),
    [
        (commands.ModelChosen(MODEL), SHOWN_MODEL),
        (commands.ModelCycled(None), None),
        (commands.ModelCycled(MODEL, "high"), {"model": SHOWN_MODEL, "thinkingLevel": "high", "isScoped": False}),
        (commands.ModelList([MODEL]), {"models": [SHOWN_MODEL]}),
        (commands.ThinkingCycled(None), None),
        (commands.ThinkingCycled("low"), {"level": "low"}),
        (commands.LastText(None), {"text": None}),
        (commands.LastText("so"), {"text": "so"}),
        (commands.SessionOpened(), {"cancelled": False}),
        (commands.Branched("as it was"), {"text": "as it was", "cancelled": False}),
        (commands.Navigated(None), {"leafId": None, "cancelled": False}),
        (commands.BranchMessages([("e1", "one")]), {"messages": [{"entryId": "e1", "text": "one"}]}),
        (
            commands.Outline([OutlineEntry("e1", None, "T", "message", "user", "one", "start")], "e1"),
            {
                "leafId": "e1",
                "nodes": [
                    {
                        "id": "e1",
                        "parentId": None,
                        "type": "message",
                        "timestamp": "T",
                        "role": "user",
                        "text": "one",
                        "label": "start",
                    }
                ],
            },
        ),
        (
            commands.EntryList([b'{"id":"e1","later":[1]}'], "e1"),
            {"entries": [{"id": "e1", "later": [1]}], "leafId": "e1"},
        ),
        (commands.Exported("/a.html"), {"path": "/a.html"}),
        (
            commands.Compacted(Compaction(Summary("s", 9, 0), 1, "e1", ("a",), ("b",), Usage())),
            {
                "summary": "s",
                "firstKeptEntryId": "e1",
                "tokensBefore": 9,
                "details": {"readFiles": ["a"], "modifiedFiles": ["b"]},
            },
        ),
        (
            commands.BashDone(BashRun("ls", "a\n", 0, 0)),
            {"output": "a\n", "exitCode": 0, "cancelled": False, "truncated": False},
        ),
        (
            commands.BashDone(BashRun("ls", "a\n", None, 0, True, True, "/tmp/x")),
            {"output": "a\n", "exitCode": None, "cancelled": True, "truncated": True, "fullOutputPath": "/tmp/x"},
        ),
    ],
)
def test_an_answer_has_the_documented_data(answer: commands.Answer, data: Any) -> None:
    assert answered(answer)["data"] == data


@pytest.mark.parametrize("answer", [commands.Accepted(), commands.Started(), commands.Pong(), commands.Ok()])
def test_an_answer_without_data_has_no_data_field(answer: commands.Answer) -> None:
    assert "data" not in answered(answer)


def test_a_model_without_a_name_goes_by_its_id() -> None:
    shown = answered(commands.ModelChosen(Model("m", "p", images=False)))["data"]
    assert shown["name"] == "m"
    assert shown["input"] == ["text"]
