"""What pi's two documents promise and no other test is about, against the real program."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.core import events
from linnet.testing.agent import Agent, Frame, types
from linnet.testing.model_server import ModelServer
from linnet.wire.pi.encode import PiEncoder

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
FIELDS = {
    "response": {"id", "command", "success"},
    "agent_start": set(),
    "agent_end": {"messages"},
    "turn_start": set(),
    "turn_end": {"message", "toolResults"},
    "message_start": {"message"},
    "message_update": {"message", "assistantMessageEvent"},
    "message_end": {"message"},
    "tool_execution_start": {"toolCallId", "toolName", "args"},
    "tool_execution_update": {"toolCallId", "toolName", "args", "partialResult"},
    "tool_execution_end": {"toolCallId", "toolName", "result", "isError"},
    "auto_compaction_start": {"reason"},
    "auto_compaction_end": {"result", "aborted", "willRetry"},
    "auto_retry_start": {"attempt", "maxAttempts", "delayMs", "errorMessage"},
    "auto_retry_end": {"success", "attempt"},
    "queue_update": {"steering", "followUp"},
}
OPTIONAL = {"response": {"data", "error"}, "auto_retry_end": {"finalError"}, "queue_update": {"dropped"}}
LEGACY_FIELDS = {
    **{name: FIELDS[name] for name in ("agent_start", "agent_end", "turn_start", "turn_end")},
    **{name: FIELDS[name] for name in ("message_start", "message_update", "message_end")},
    **{name: FIELDS[name] for name in ("tool_execution_start", "tool_execution_end")},
    "compaction": {"summary", "tokensBefore"},
    "error": {"error"},
}
USAGE = {"input", "output", "cacheRead", "cacheWrite", "cost"}
COSTS = {"input", "output", "cacheRead", "cacheWrite", "total"}
ASSISTANT = {"role", "content", "api", "provider", "model", "usage", "stopReason", "timestamp"}
MESSAGES = {
    "user": {"role", "content", "timestamp", "attachments"},
    "assistant": ASSISTANT,
    "toolResult": {"role", "toolCallId", "toolName", "content", "details", "isError", "timestamp"},
    "bashExecution": {
        "role",
        "command",
        "output",
        "exitCode",
        "cancelled",
        "truncated",
        "fullOutputPath",
        "timestamp",
    },
}


def run(agent: Agent, message: str, **fields: Any) -> list[Frame]:
    agent.send({"id": "p", "type": "prompt", "message": message, **fields})
    return agent.until("agent_end")


def updates(frames: list[Frame]) -> list[Frame]:
    return [frame["assistantMessageEvent"] for frame in frames if frame["type"] == "message_update"]


@pytest.fixture
def legacy(pi: Callable[..., Agent]) -> Agent:
    return pi("--dialect", "pi-legacy", "--compact-keep", "1")


def test_every_event_has_the_fields_of_the_document_and_no_id(pi: Callable[..., Agent], server: ModelServer) -> None:
    agent = pi("--compact-keep", "1")
    run(agent, '!tool bash {"command":"echo hi"}')
    agent.send({"id": "r", "type": "prompt", "message": "!fail 503 1"})
    agent.until("auto_retry_end")
    agent.send({"id": "o", "type": "prompt", "message": "!overflow 1"})
    agent.until("auto_compaction_end")
    agent.until("agent_end")
    agent.send({"id": "g", "type": "prompt", "message": "!gate g"})
    agent.until("message_update")
    agent.ask("follow_up", message="and then")
    server.release("g")
    agent.until("agent_end")
    assert set(types(agent.seen)) == set(FIELDS)
    for frame in agent.seen:
        fields, kind = set(frame) - {"type"}, frame["type"]
        assert FIELDS[kind] <= fields <= FIELDS[kind] | OPTIONAL.get(kind, set()), frame


def test_messages_have_the_fields_of_the_document(pi: Callable[..., Agent]) -> None:
    agent = pi()
    run(agent, '!tool bash {"command":"echo hi"}')
    agent.ask("bash", command="ls")
    messages = agent.ask("get_messages")["data"]["messages"]
    assert {message["role"] for message in messages} == set(MESSAGES)
    for message in messages:
        assert set(message) == MESSAGES[message["role"]]
        assert message["timestamp"] > 1_700_000_000_000
    reply = next(message for message in messages if message["role"] == "assistant")
    assert set(reply["usage"]) == USAGE | {"totalTokens"}
    assert set(reply["usage"]["cost"]) == COSTS


def test_text_thoughts_and_calls_are_streamed_from_their_start_to_their_end(pi: Callable[..., Agent]) -> None:
    agent = pi()
    thought = updates(run(agent, "!think"))
    assert [event["type"] for event in thought] == [
        "thinking_start",
        "thinking_delta",
        "thinking_delta",
        "thinking_end",
        "text_start",
        "text_delta",
        "text_end",
    ]
    assert [event["contentIndex"] for event in thought] == [0, 0, 0, 0, 1, 1, 1]
    assert (thought[3]["content"], thought[-1]["content"]) == ("Let me think.", "Thought.")

    called = [event for event in updates(run(agent, '!tool bash {"command":"true"}')) if "tool" in event["type"]]
    assert [event["type"] for event in called] == ["toolcall_start", *["toolcall_delta"] * 3, "toolcall_end"]
    assert "".join(event["delta"] for event in called[1:-1]) == '{"command":"true"}'
    call = called[-1]["toolCall"]
    assert (call["type"], call["name"], call["arguments"]) == ("toolCall", "bash", {"command": "true"})
    assert call["id"]


def test_every_reason_to_stop_is_told(pi: Callable[..., Agent]) -> None:
    agent = pi()
    reasons = [run(agent, prompt)[-1]["messages"][1]["stopReason"] for prompt in ("hi", "!length", "!fail 401 9")]
    reasons.append(run(agent, '!tool bash {"command":"true"}')[-1]["messages"][1]["stopReason"])
    agent.send({"type": "prompt", "message": "!gate never"})
    agent.until("message_update")
    agent.send({"type": "abort"})
    reasons.append(agent.until("agent_end")[-1]["messages"][1]["stopReason"])
    assert reasons == ["stop", "length", "error", "toolUse", "aborted"]


def test_an_update_of_a_tool_says_what_was_cut_and_where_it_is(pi: Callable[..., Agent]) -> None:
    frames = run(pi(), '!tool bash {"command":"echo hi"}')
    update = next(frame for frame in frames if frame["type"] == "tool_execution_update")
    assert update["args"] == {"command": "echo hi"}
    assert update["partialResult"] == {
        "content": [{"type": "text", "text": "hi\n"}],
        "details": {"truncation": None, "fullOutputPath": None},
    }


def test_a_bash_command_is_answered_and_nothing_else_is_printed(pi: Callable[..., Agent], server: ModelServer) -> None:
    agent = pi()
    agent.ask("bash", command="echo one")
    agent.ask("bash", command="echo two; false")
    agent.ask("get_state")
    assert types(agent.seen) == ["response"] * 3
    assert not server.requests
    run(agent, "what did I do?")
    said = [block["text"] for block in server.requests[0].body["messages"][0]["content"]]
    assert said[0] == "Ran `echo one`\n```\none\n```"
    assert said[1].startswith("Ran `echo two; false`\n```\ntwo\n```")
    assert said[-1] == "what did I do?"


def test_an_automatic_compaction_that_was_aborted_has_no_result() -> None:
    happened: list[events.Event] = [
        events.CompactionStarted("threshold"),
        events.CompactionEnded("threshold", None, aborted=True),
    ]
    start, end = (json.loads(b"".join(buffers)) for buffers in PiEncoder().encode(happened))
    assert start == {"type": "auto_compaction_start", "reason": "threshold"}
    assert end == {"type": "auto_compaction_end", "result": None, "aborted": True, "willRetry": False}


def test_an_address_that_no_vendor_could_fetch_is_refused_with_a_sentence(pi: Callable[..., Agent]) -> None:
    image = {"type": "image", "source": {"type": "url", "url": "file:///a.png"}}
    answer = pi().ask("prompt", message="look", images=[image])
    assert answer["success"] is False
    assert answer["error"] == "image 1: the url of an image must start with https:// or http://"


def test_what_an_error_says_does_not_decide_whether_to_try_again(pi: Callable[..., Agent], server: ModelServer) -> None:
    agent = pi()
    frames = run(agent, "!sseerror invalid_request_500_overloaded")
    assert "500" in frames[-1]["messages"][-1]["errorMessage"]
    assert agent.ask("get_state")["data"]["isStreaming"] is False
    assert "auto_retry_start" not in types(agent.seen)
    assert len(server.requests) == 1


def test_a_reader_that_stops_reading_stops_nothing_else(pi: Callable[..., Agent], server: ModelServer) -> None:
    agent = pi()
    agent.send({"id": "1", "type": "prompt", "message": "!text 300000"})
    server.wait_for(requests=1)
    agent.send({"id": "state", "type": "get_state"}, {"id": "stop", "type": "abort"})
    server.wait_for(disconnects=1)  # The abort was seen, though nobody has read a byte yet.
    frames = agent.until("agent_end")
    assert [frame["id"] for frame in frames if frame["type"] == "response"] == ["1", "state", "stop"]
    assert frames[-1]["messages"][-1]["stopReason"] == "aborted"


def test_deltas_alone_cost_no_more_than_they_are_long(pi: Callable[..., Agent]) -> None:
    printed = [json.dumps(frame) for frame in run(pi("--stream", "deltas"), "!text 5000")]
    assert sum(map(len, printed)) < 5000 * 150 + 200_000


def test_a_legacy_session_looks_like_the_one_in_the_document(legacy: Agent) -> None:
    legacy.send({"type": "prompt", "message": '!tool bash {"command":"ls -la"}'})
    frames = legacy.until("agent_end")
    told = [kind for kind, before in zip(types(frames), ["", *types(frames)], strict=False) if kind != before]
    reply = ["message_start", "message_update", "message_end"]
    said = ["message_start", "message_end"]
    tool = ["tool_execution_start", "tool_execution_end"]
    first = ["agent_start", "turn_start", *said, *reply, *tool, *said, "turn_end"]
    assert told == [*first, "turn_start", *reply, "turn_end", "agent_end"]
    assert [message["role"] for message in frames[-1]["messages"]] == ["user", "assistant", "toolResult", "assistant"]
    assert frames[2]["message"]["content"] == '!tool bash {"command":"ls -la"}'
    call = frames[-1]["messages"][1]["content"][1]
    ids = [frame["toolCallId"] for frame in frames if "toolCallId" in frame]
    assert ids == [call["id"]] * 2
    turn = next(frame for frame in frames if frame["type"] == "turn_end")
    assert [result["toolCallId"] for result in turn["toolResults"]] == [call["id"]]


def test_every_legacy_event_has_the_fields_of_the_document(legacy: Agent) -> None:
    legacy.send({"type": "prompt", "message": '!tools [["bash",{"command":"echo hi"}],["nosuch",{}]]'})
    ends = [frame for frame in legacy.until("agent_end") if frame["type"] == "tool_execution_end"]
    assert [set(ends[0]["result"]), ends[1]["result"]] == [{"content", "details"}, "Tool nosuch not found"]
    legacy.send({"type": "prompt", "message": "hi"})
    legacy.until("agent_end")
    legacy.send({"type": "compact", "customInstructions": "Focus on code changes"})
    assert "auto" not in legacy.until("compaction")[-1]
    legacy.send({"type": "compact"})
    assert legacy.until("error")[-1]["error"] == "Already compacted"
    assert set(types(legacy.seen)) == set(LEGACY_FIELDS)
    for frame in legacy.seen:
        assert set(frame) - {"type"} == LEGACY_FIELDS[frame["type"]]
    reply = next(frame for frame in legacy.seen if frame["type"] == "turn_end")["message"]
    assert set(reply) == ASSISTANT
    assert set(reply["usage"]) == USAGE
    assert set(reply["usage"]["cost"]) == COSTS


def test_legacy_commands_are_not_answered_and_bad_ones_are_errors(legacy: Agent) -> None:
    legacy.send({"type": "abort"}, {"type": "get_state"})
    assert legacy.read() == {"type": "error", "error": "Unknown command: get_state"}
    legacy.send_bytes(b"{\n")
    bad = legacy.read()
    assert bad
    assert bad["error"].startswith("Failed to parse command: ")
    legacy.send({"type": "prompt", "message": "!gate never"}, {"type": "prompt", "message": "me too"})
    busy = legacy.until("error")[-1]
    assert busy["error"].startswith("Agent is already processing.")
    legacy.send({"type": "abort"})
    assert legacy.until("agent_end")[-1]["messages"][-1]["stopReason"] == "aborted"


def test_legacy_attachments_reach_the_model(legacy: Agent, server: ModelServer) -> None:
    picture = {"id": "1", "type": "image", "fileName": "a.png", "mimeType": "image/png", "size": 70, "content": PNG}
    notes = {"id": "2", "type": "document", "fileName": "n.txt", "mimeType": "text/plain", "size": 2, "content": "aGk="}
    legacy.send({"type": "prompt", "message": "look", "attachments": [picture, notes]})
    shown = legacy.until("message_start")[-1]["message"]
    assert (shown["content"], shown["attachments"]) == ("look", [picture, notes])
    legacy.until("agent_end")
    text, image = server.requests[0].body["messages"][0]["content"]
    assert text["text"] == 'look\n\n<file name="n.txt">\nhi\n</file>'
    assert image["source"]["data"] == PNG


def test_attachments_reach_the_model_and_are_shown_as_they_were_sent(
    pi: Callable[..., Agent], server: ModelServer
) -> None:
    agent = pi()
    notes = {"id": "2", "type": "document", "fileName": "n.txt", "mimeType": "text/plain", "size": 2, "content": "aGk="}
    picture = {"id": "1", "type": "image", "fileName": "a.png", "mimeType": "image/png", "size": 70, "content": PNG}
    shown = run(agent, "look", attachments=[notes, picture])[-1]["messages"][0]
    said = [{"type": "text", "text": "look"}]
    assert (shown["content"], shown["attachments"]) == (said, [notes, picture])
    agent.send({"type": "prompt", "message": "!gate g"})
    agent.until("message_update")
    assert agent.ask("steer", message="and this", attachments=[notes])["success"]
    server.release("g")
    agent.until("agent_end")
    listed = [m for m in agent.ask("get_messages")["data"]["messages"] if m["role"] == "user"]
    assert [m["attachments"] for m in listed] == [[notes, picture], [], [notes]]
    assert listed[2]["content"] == [{"type": "text", "text": "and this"}]
    text, image = server.requests[0].body["messages"][0]["content"]
    assert text["text"] == 'look\n\n<file name="n.txt">\nhi\n</file>'
    assert image["source"]["data"] == PNG
    assert agent.ask("new_session")["success"]
    assert run(agent, "hello")[-1]["messages"][0]["attachments"] == []


def test_attachments_are_shown_wherever_the_conversation_goes_on_from(pi: Callable[..., Agent]) -> None:
    agent = pi()
    notes = {"id": "2", "type": "document", "fileName": "n.txt", "mimeType": "text/plain", "size": 2, "content": "aGk="}
    run(agent, "look", attachments=[notes])

    def attached() -> list[Any]:
        return [m["attachments"] for m in agent.ask("get_messages")["data"]["messages"] if m["role"] == "user"]

    leaf = agent.ask("get_tree")["data"]["leafId"]
    assert agent.ask("navigate", entryId=None)["success"]
    assert attached() == []
    assert agent.ask("navigate", entryId=leaf)["success"]
    assert attached() == [[notes]]
    assert agent.ask("clone")["success"]
    assert attached() == [[notes]]
    file = agent.ask("get_state")["data"]["sessionFile"]
    assert "aGk=" not in Path(file).read_text()
    assert agent.ask("new_session")["success"]
    assert agent.ask("switch_session", sessionPath=file)["success"]
    assert attached() == [[]]


def test_a_legacy_prompt_is_tried_again_and_compacted_inside_its_run(legacy: Agent) -> None:
    legacy.send({"type": "prompt", "message": "hello"})
    legacy.until("agent_end")
    for prompt in ("!fail 503 2", "!overflow 1", "!fail 503 99"):
        legacy.send({"type": "prompt", "message": prompt})
        kinds = types(legacy.until("agent_end"))
        assert (kinds[0], kinds.count("agent_start")) == ("agent_start", 1)
        assert kinds.count("turn_start") == kinds.count("turn_end") >= 2
    assert types(legacy.seen).count("compaction") == 1
    legacy.end()
    assert types(legacy.seen).count("agent_start") == types(legacy.seen).count("agent_end") == 4


def test_the_reserve_of_the_earlier_protocol_is_its_own(pi: Callable[..., Agent]) -> None:
    """Of a window of 20,500 tokens, the first reply fills more than 500 and less than 4,116."""
    model = {"id": "tight", "provider": "anthropic", "context_window": 20_500, "max_output": 1000}
    flags = ("--model", "tight", "--compact-keep", "100", "--no-tools", "--system-prompt", "x")
    for dialect, compacts in (("pi-legacy", True), ("pi", False)):
        agent = pi("--dialect", dialect, *flags, extra_models=[model])
        for _ in range(2):
            agent.send({"type": "prompt", "message": "!text 600"})
            agent.until("agent_end")
        agent.end()
        assert any("compaction" in kind for kind in types(agent.seen)) is compacts


def test_an_automatic_legacy_compaction_says_so(pi: Callable[..., Agent]) -> None:
    small = {"id": "small", "provider": "anthropic", "context_window": 3000, "max_output": 1000}
    flags = ("--dialect", "pi-legacy", "--model", "small", "--compact-reserve", "600", "--compact-keep", "100")
    agent = pi(*flags, extra_models=[small])
    for _ in range(8):
        agent.send({"type": "prompt", "message": "!text 400"})
        agent.until("agent_end")
    told = [frame for frame in agent.seen if frame["type"] == "compaction"]
    assert told
    assert all(frame["auto"] is True for frame in told)


def test_nothing_is_left_in_the_folder_without_sessions(pi: Callable[..., Agent], tmp_path: Path) -> None:
    agent = pi("--no-session")
    run(agent, "hi")
    agent.ask("new_session", parentSession="/somewhere/else.jsonl")
    run(agent, "hi")
    assert "sessionFile" not in agent.ask("get_state")["data"]
    assert agent.end() == []
    assert list((tmp_path / "work").iterdir()) == []
