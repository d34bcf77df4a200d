"""Every command of the zot document, against the real program."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from linnet import __version__
from linnet.testing.agent import Agent, types
from linnet.testing.model_server import ModelServer

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
ZERO = {"input": 0, "output": 0, "cache_read": 0, "cache_write": 0, "cost_usd": 0}


def test_hello_is_optional_without_a_token(agent: Agent) -> None:
    data = {"protocol_version": 1, "version": __version__, "provider": "anthropic", "model": "claude-sonnet-4-5"}
    answer = {"type": "response", "id": "0", "command": "hello", "success": True, "data": data}
    assert agent.ask("hello", id="0") == answer
    assert agent.ask("hello", id="0", token="anything") == answer


def test_ping_is_answered_with_pong(agent: Agent) -> None:
    assert agent.ask("ping", id="9") == {
        "type": "response",
        "id": "9",
        "command": "ping",
        "success": True,
        "data": {"pong": True},
    }


def test_a_prompt_is_acknowledged_streamed_and_done(agent: Agent) -> None:
    frames = agent.prompt("hi", id="1")
    assert frames[0] == {
        "type": "response",
        "id": "1",
        "command": "prompt",
        "success": True,
        "data": {"started": True},
    }
    assert types(frames) == [
        "response",
        "user_message",
        "turn_start",
        "assistant_start",
        "text_delta",
        "text_delta",
        "usage",
        "assistant_message",
        "turn_end",
        "done",
    ]
    text = "".join(frame["delta"] for frame in frames if frame["type"] == "text_delta")
    assert text == "Hello from the scripted model."
    by_type = {frame["type"]: frame for frame in frames}
    assert by_type["user_message"]["content"] == [{"type": "text", "text": "hi"}]
    assert by_type["turn_start"]["step"] == 1
    assert by_type["assistant_message"]["content"] == [{"type": "text", "text": text}]
    assert by_type["turn_end"] == {"type": "turn_end", "stop": "end_turn"}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", by_type["user_message"]["time"])
    usage = by_type["usage"]
    assert usage["input"] > 0
    assert usage["output"] == 2
    assert usage["cost_usd"] == pytest.approx(usage["input"] * 3e-6 + usage["output"] * 15e-6)
    assert usage["cumulative"] == {name: usage[name] for name in ZERO}


def test_events_carry_no_id(agent: Agent) -> None:
    for frame in agent.prompt("!think", id="1")[1:]:
        assert "id" not in frame


def test_images_reach_the_model_and_are_reported_by_size(agent: Agent, server: ModelServer) -> None:
    frames = agent.prompt("look", images=[{"mime_type": "image/png", "data": PNG}])
    shown = [{"type": "text", "text": "look"}, {"type": "image", "mime_type": "image/png", "bytes": 70}]
    assert frames[1]["content"] == shown
    assert agent.ask("get_messages")["data"]["messages"][0]["content"] == shown
    sent = server.requests[0].body["messages"][0]["content"][1]
    assert sent["source"] == {"type": "base64", "media_type": "image/png", "data": PNG}


def test_images_reach_an_openai_model_too(zot: Callable[..., Agent], server: ModelServer) -> None:
    zot(provider="openai").prompt("look", images=[{"mime_type": "image/png", "data": PNG}])
    sent = server.requests[0].body["messages"][-1]["content"][1]
    assert sent["image_url"]["url"] == f"data:image/png;base64,{PNG}"


def test_abort_when_idle_succeeds_and_has_no_data(agent: Agent) -> None:
    assert agent.ask("abort", id="2") == {"type": "response", "id": "2", "command": "abort", "success": True}


def test_abort_while_streaming_keeps_what_was_said(agent: Agent) -> None:
    agent.send({"id": "1", "type": "prompt", "message": "!gate never"})
    agent.until("text_delta")
    agent.send({"id": "2", "type": "abort"})
    frames = agent.until("done")
    assert types(frames) == ["response", "usage", "assistant_message", "turn_end", "done"]
    assert frames[3] == {"type": "turn_end", "stop": "aborted"}
    messages = agent.ask("get_messages")["data"]["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant"]


def test_abort_before_the_first_word_leaves_only_the_prompt(agent: Agent) -> None:
    agent.send({"id": "1", "type": "prompt", "message": "!hang"})
    agent.until("assistant_start")
    agent.send({"id": "2", "type": "abort"})
    assert types(agent.until("done")) == ["response", "usage", "turn_end", "done"]
    assert len(agent.ask("get_messages")["data"]["messages"]) == 1


def test_abort_before_the_server_answered_at_all(agent: Agent, server: ModelServer) -> None:
    agent.send({"id": "1", "type": "prompt", "message": "!hanghead"})
    agent.until("turn_start")
    agent.send({"id": "2", "type": "abort"})
    frames = agent.until("done")
    assert types(frames) == ["response", "turn_end", "done"]
    assert frames[1] == {"type": "turn_end", "stop": "aborted"}


def test_abort_reaches_a_tool_and_the_calls_after_it(agent: Agent, tmp_path: Path) -> None:
    calls = '[["bash",{"command":"echo begun; sleep 60"}],["bash",{"command":"touch second"}]]'
    agent.send({"id": "1", "type": "prompt", "message": f"!tools {calls}"})
    agent.until("tool_progress")
    agent.send({"id": "2", "type": "abort"})
    frames = agent.until("done")
    assert types(frames) == ["response", "tool_result", "tool_result", "turn_end", "done"]
    assert all(frame["is_error"] for frame in frames[1:3])
    assert frames[-2]["stop"] == "aborted"
    assert not (tmp_path / "work" / "second").exists()
    assert types(agent.prompt("go on"))[-1] == "done"


def test_the_conversation_goes_on_after_an_abort(agent: Agent) -> None:
    agent.send({"id": "1", "type": "prompt", "message": "!gate never"})
    agent.until("text_delta")
    agent.send({"type": "abort"})
    agent.until("done")
    assert agent.prompt("hi")[-2] == {"type": "turn_end", "stop": "end_turn"}


def test_compact_replaces_all_but_the_newest_messages(agent: Agent, server: ModelServer) -> None:
    for _ in range(3):
        agent.prompt("hi")
    agent.send({"id": "3", "type": "compact"})
    frames = agent.until("compact_done")
    assert frames == [
        {"type": "response", "id": "3", "command": "compact", "success": True, "data": {"started": True}},
        {"type": "compact_done", "summary": "SUMMARY: scripted"},
    ]
    messages = agent.ask("get_messages")["data"]["messages"]
    assert len(messages) == 5
    assert messages[0]["role"] == "user"
    assert messages[0]["content"][0]["text"].endswith("SUMMARY: scripted")
    assert agent.prompt("more")[-2]["stop"] == "end_turn"
    assert agent.ask("get_state")["data"]["usage"]["input"] > 0


def test_a_compaction_never_parts_a_call_from_its_result(agent: Agent) -> None:
    agent.prompt("hi")
    agent.prompt('!tool bash {"command":"echo hi"}')
    agent.prompt("bye")
    agent.send({"id": "c", "type": "compact"})
    agent.until("compact_done")
    assert agent.prompt("more")[-2]["stop"] == "end_turn"  # The server refuses a result without its call.


@pytest.mark.parametrize("prompts", [0, 1, 2])
def test_nothing_to_compact_is_an_error_and_a_terminator(agent: Agent, prompts: int) -> None:
    for _ in range(prompts):
        agent.prompt("hi")
    agent.send({"id": "3", "type": "compact"})
    frames = agent.until("done")
    assert types(frames) == ["response", "error", "done"]
    assert frames[1]["message"].startswith("nothing to compact")
    assert not agent.ask("get_state")["data"]["busy"]


def test_get_state_tells_all_the_document_names(agent: Agent, tmp_path: Path) -> None:
    assert agent.ask("get_state", id="4") == {
        "type": "response",
        "id": "4",
        "command": "get_state",
        "success": True,
        "data": {
            "provider": "anthropic",
            "model": "claude-sonnet-4-5",
            "cwd": str(tmp_path / "work"),
            "message_count": 0,
            "busy": False,
            "usage": ZERO,
        },
    }
    usage = next(frame for frame in agent.prompt("hi") if frame["type"] == "usage")
    state = agent.ask("get_state")["data"]
    assert state["message_count"] == 2
    assert state["usage"] == usage["cumulative"]


def test_get_messages_lists_the_whole_transcript(agent: Agent) -> None:
    agent.prompt('!tools [["bash",{"command":"echo 1"}],["read",{"path":"nope"}]]')
    messages = agent.ask("get_messages")["data"]["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant"]
    assert all(message["time"].endswith("Z") for message in messages)
    calls = messages[1]["content"]
    results = messages[2]["content"]
    assert [call["type"] for call in calls] == ["tool_call", "tool_call"]
    assert [set(call) for call in calls] == [{"type", "id", "name", "args"}] * 2
    assert [result["call_id"] for result in results] == [call["id"] for call in calls]
    assert [result["is_error"] for result in results] == [False, True]
    assert agent.ask("get_state")["data"]["message_count"] == 4


def test_clear_drops_the_transcript_and_keeps_the_bill(agent: Agent) -> None:
    agent.prompt("hi")
    assert agent.ask("clear", id="6") == {"type": "response", "id": "6", "command": "clear", "success": True}
    assert agent.ask("get_messages")["data"] == {"messages": []}
    state = agent.ask("get_state")["data"]
    assert state["message_count"] == 0
    assert state["usage"]["input"] > 0


def test_set_model_takes_effect_with_the_next_prompt(agent: Agent, server: ModelServer) -> None:
    answer = agent.ask("set_model", id="7", model="claude-opus-4-5")
    assert answer["data"] == {"model": "claude-opus-4-5"}
    assert agent.ask("get_state")["data"]["model"] == "claude-opus-4-5"
    agent.prompt("hi")
    assert server.requests[-1].body["model"] == "claude-opus-4-5"


@pytest.mark.parametrize("model", ["nope", "gpt-5", ""])
def test_set_model_refuses_a_model_of_another_provider_or_none(agent: Agent, model: str) -> None:
    answer = agent.ask("set_model", model=model)
    assert not answer["success"]
    assert answer["error"].startswith(f'unknown model "{model}" (provider="anthropic")')
    assert agent.ask("get_state")["data"]["model"] == "claude-sonnet-4-5"


def test_get_models_lists_the_providers_own(agent: Agent) -> None:
    models = agent.ask("get_models", id="8")["data"]["models"]
    assert {"claude-sonnet-4-5", "claude-opus-4-5", "claude-haiku-4-5"} <= {model["id"] for model in models}
    for model in models:
        assert set(model) == {"id", "provider", "context_window", "max_output", "reasoning"}
        assert model["provider"] == "anthropic"


@pytest.mark.parametrize(
    "id", [1, 0, -7, 1.5, True, False, [], {}, [1, {"a": None}], {"x": [2]}, "é\u2028😀", "0" * 999]
)
def test_an_id_of_any_type_is_echoed(agent: Agent, id: object) -> None:
    assert agent.ask("ping", id=id)["success"]


@pytest.mark.parametrize("line", [b'{"type":"ping"}', b'{"type":"ping","id":null}', b'{"type":"ping","id":""}'])
def test_without_an_id_the_response_has_none(agent: Agent, line: bytes) -> None:
    agent.send_bytes(line + b"\n")
    assert agent.read() == {"type": "response", "command": "ping", "success": True, "data": {"pong": True}}


def test_an_unknown_command_is_answered_with_its_name_and_id(agent: Agent) -> None:
    answer = agent.ask("frobnicate", id="x")
    assert answer == {
        "type": "response",
        "id": "x",
        "command": "frobnicate",
        "success": False,
        "error": "unknown command",
    }


def test_lines_may_end_with_crlf_be_blank_or_lack_the_last_newline(agent: Agent) -> None:
    agent.send_bytes(b'\n  \r\n\t\n{"type":"ping","id":1}\r\n\n{"type":"ping","id":2}')
    frames = agent.end()
    assert [frame["id"] for frame in frames] == [1, 2]
    assert agent.wait() == 0


def test_bad_input_is_answered_and_the_process_lives_on(agent: Agent) -> None:
    agent.send_bytes(b'{"bad\n')
    frame = agent.read()
    assert frame is not None
    assert frame["command"] == ""
    assert frame["error"].startswith("malformed json: ")
    assert agent.ask("prompt", message=5)["error"] == "`message` must be a string"
    assert agent.ask("prompt", message="x", images=[{"data": "!!"}])["error"].startswith("image 1: ")
    assert agent.ask("ping")["success"]
