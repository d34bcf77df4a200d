"""Prompts, queues and aborts of the pi protocol, against the real program."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.agent import Agent, Frame, types
from linnet.testing.model_server import ModelServer

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
BUSY = "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."


def run(agent: Agent, message: str, **fields: Any) -> list[Frame]:
    agent.send({"id": "p", "type": "prompt", "message": message, **fields})
    return agent.until("agent_end")


def said(frames: list[Frame]) -> list[str]:
    """The texts of user messages, in the order they were delivered."""
    return [
        frame["message"]["content"][0]["text"]
        for frame in frames
        if frame["type"] == "message_end" and frame["message"]["role"] == "user"
    ]


def folded(kinds: list[str]) -> list[str]:
    return [kind for kind, before in zip(kinds, ["", *kinds], strict=False) if kind != before]


def test_a_prompt_goes_from_agent_start_to_agent_end(pi: Callable[..., Agent]) -> None:
    frames = run(pi(), "hello")
    assert frames[0] == {"id": "p", "type": "response", "command": "prompt", "success": True}
    assert folded(types(frames)) == [
        "response",
        "agent_start",
        "turn_start",
        "message_start",
        "message_end",
        "message_start",
        "message_update",
        "message_end",
        "turn_end",
        "agent_end",
    ]
    kinds = [f["assistantMessageEvent"]["type"] for f in frames if f["type"] == "message_update"]
    assert kinds == ["text_start", "text_delta", "text_delta", "text_end"]
    final = frames[-1]["messages"]
    assert [message["role"] for message in final] == ["user", "assistant"]
    assert final[1]["content"] == [{"type": "text", "text": "Hello from the scripted model."}]
    assert final[1]["stopReason"] == "stop"
    assert final[1]["usage"]["totalTokens"] > 0
    assert final[1]["usage"]["cost"]["total"] > 0
    assert final[1]["api"] == "anthropic-messages"


def test_partials_are_true_to_their_moment(pi: Callable[..., Agent]) -> None:
    frames = run(pi(), "!text 50")
    text = ""
    for frame in frames:
        if frame["type"] != "message_update":
            continue
        event = frame["assistantMessageEvent"]
        text += event.get("delta", "")
        assert event["partial"] == frame["message"]
        assert frame["message"]["content"] == [{"type": "text", "text": text}]


def test_deltas_alone_are_enough_for_clients_that_fold(pi: Callable[..., Agent]) -> None:
    agent = pi("--stream", "deltas")
    frames = run(agent, "!text 5")
    updates = [f for f in frames if f["type"] == "message_update"]
    assert all("message" not in f and "partial" not in f["assistantMessageEvent"] for f in updates)
    assert agent.ask("set_stream", mode="full") == {
        "id": "ask",
        "type": "response",
        "command": "set_stream",
        "success": True,
    }
    assert "message" in next(f for f in run(agent, "hi") if f["type"] == "message_update")


def test_tools_are_told_from_call_to_result(pi: Callable[..., Agent]) -> None:
    frames = run(pi(), '!tool bash {"command":"echo hi"}')
    names = [kind for kind in folded(types(frames)) if not kind.startswith(("message", "agent", "response"))]
    assert names == [
        "turn_start",
        "tool_execution_start",
        "tool_execution_update",
        "tool_execution_end",
        "turn_end",
        "turn_start",
        "turn_end",
    ]
    end = next(f for f in frames if f["type"] == "tool_execution_end")
    assert end["result"]["content"] == [{"type": "text", "text": "hi\n"}]
    assert end["isError"] is False
    turn = next(f for f in frames if f["type"] == "turn_end")
    assert [result["toolCallId"] for result in turn["toolResults"]] == [end["toolCallId"]]
    assert [m["role"] for m in frames[-1]["messages"]] == ["user", "assistant", "toolResult", "assistant"]


def test_progress_is_cumulative(pi: Callable[..., Agent], tmp_path: Path) -> None:
    command = "echo one; until [ -e go ]; do sleep 0.01; done; echo two"
    agent = pi()
    agent.send({"type": "prompt", "message": f"!tool bash {json.dumps({'command': command})}"})
    first = agent.until("tool_execution_update")[-1]
    assert first["partialResult"]["content"][0]["text"] == "one\n"
    (tmp_path / "work" / "go").touch()
    frames = agent.until("tool_execution_end")
    updates = [f for f in frames if f["type"] == "tool_execution_update"]
    assert updates[-1]["partialResult"]["content"][0]["text"] == "one\ntwo\n"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (["bash", {"command": "echo out; exit 3"}], "out\n\n\nCommand exited with code 3"),
        (["bash", {"command": "sleep 60", "timeout": 0.1}], "Command timed out after 0.1 seconds"),
        (["bash", {"command": "true"}], "(no output)"),
        (["nosuch", {}], "Tool nosuch not found"),
        (["write", {"path": "a.txt", "content": "one\ntwo\nthree\n"}], "Successfully wrote 14 bytes to a.txt"),
    ],
)
def test_results_are_told_in_the_words_that_pi_clients_know(
    pi: Callable[..., Agent], call: list[Any], words: str
) -> None:
    frames = run(pi(), f"!tools {json.dumps([call])}")
    end = next(f for f in frames if f["type"] == "tool_execution_end")
    assert end["result"]["content"][0]["text"] == words


@pytest.mark.parametrize(
    "image",
    [
        {"type": "image", "source": {"type": "base64", "mediaType": "image/png", "data": PNG}},
        {"type": "image", "data": PNG, "mimeType": "image/png"},
    ],
)
def test_images_reach_the_model_in_both_forms(pi: Callable[..., Agent], server: ModelServer, image: Frame) -> None:
    agent = pi()
    run(agent, "look", images=[image])
    sent = server.requests[0].body["messages"][0]["content"][1]
    assert sent["source"]["data"] == PNG
    agent.send({"type": "steer", "message": "and now", "images": [image]})
    agent.until("agent_end")
    assert server.requests[-1].body["messages"][-1]["content"][1]["source"]["data"] == PNG


def test_a_second_prompt_must_say_how_it_wants_to_be_heard(pi: Callable[..., Agent]) -> None:
    agent = pi()
    agent.send(
        {"id": "1", "type": "prompt", "message": "!gate g"},
        {"id": "2", "type": "prompt", "message": "me too"},
    )
    frames = agent.until(lambda f: f.get("id") == "2")
    assert [f["success"] for f in frames if f["type"] == "response"] == [True, False]
    assert frames[-1]["error"] == BUSY


def test_steering_is_heard_after_the_running_call_and_the_rest_are_skipped(
    pi: Callable[..., Agent], tmp_path: Path
) -> None:
    agent = pi()
    wait = "echo A; until [ -e go ]; do sleep 0.01; done"
    calls = [["bash", {"command": wait}], ["bash", {"command": "touch marker"}]]
    agent.send({"id": "a", "type": "prompt", "message": f"!tools {json.dumps(calls)}"})
    agent.until("tool_execution_update")
    assert agent.ask("steer", message="change course")["success"]
    (tmp_path / "work" / "go").touch()
    frames = agent.until("agent_end")
    ends = [f for f in frames if f["type"] == "tool_execution_end"]
    assert [f["isError"] for f in ends] == [False, True]
    assert ends[1]["result"]["content"][0]["text"] == "Skipped due to queued user message."
    assert said(frames) == ["change course"]
    assert not (tmp_path / "work" / "marker").exists()


def test_follow_ups_are_heard_when_the_agent_is_done_and_steering_goes_first(
    pi: Callable[..., Agent], server: ModelServer
) -> None:
    agent = pi()
    agent.send({"type": "prompt", "message": "!gate g"})
    agent.until("message_update")
    for kind, message in [("follow_up", "f1"), ("follow_up", "f2"), ("steer", "s1")]:
        assert agent.ask(kind, message=message)["success"]
    assert agent.ask("prompt", message="f3", streamingBehavior="followUp")["success"]
    assert agent.ask("get_state")["data"]["pendingMessageCount"] == 4
    server.release("g")
    frames = agent.until("agent_end")
    assert said(frames) == ["s1", "f1", "f2", "f3"]
    assert types(frames).count("turn_start") == 4
    assert agent.ask("get_state")["data"]["pendingMessageCount"] == 0


@pytest.mark.parametrize("kind", ["steer", "follow_up"])
def test_all_at_once_if_that_is_the_mode(pi: Callable[..., Agent], server: ModelServer, kind: str) -> None:
    agent = pi()
    assert agent.ask(f"set_{'steering' if kind == 'steer' else kind}_mode", mode="all")["success"]
    agent.send({"type": "prompt", "message": "!gate g"})
    agent.until("message_update")
    for message in ("one", "two", "three"):
        agent.ask(kind, message=message)
    server.release("g")
    frames = agent.until("agent_end")
    assert said(frames) == ["one", "two", "three"]
    assert types(frames).count("turn_start") == 1


@pytest.mark.parametrize("kind", ["steer", "follow_up"])
def test_what_is_said_to_an_idle_agent_starts_a_run(pi: Callable[..., Agent], kind: str) -> None:
    agent = pi()
    agent.send({"id": "s", "type": kind, "message": "idle words"})
    frames = agent.until("agent_end")
    assert said(frames) == ["idle words"]
    assert frames[0] == {"id": "s", "type": "response", "command": kind, "success": True}


def test_a_follow_up_that_lands_as_the_run_ends_is_heard(pi: Callable[..., Agent]) -> None:
    agent = pi()
    for number in range(30):
        agent.send({"type": "prompt", "message": "hi"})
        agent.until("turn_end")
        agent.send({"id": number, "type": "follow_up", "message": f"late {number}"})
        heard: list[str] = []
        while f"late {number}" not in heard:
            heard += said(agent.until("turn_end"))
        agent.until("agent_end")


def test_an_abort_ends_the_run_properly_and_reports_what_it_drops(pi: Callable[..., Agent]) -> None:
    agent = pi()
    agent.send({"type": "prompt", "message": "!gate never"})
    agent.until("message_update")
    agent.send({"type": "follow_up", "message": "later"})
    agent.until("queue_update")
    agent.send({"id": "x", "type": "abort"})
    frames = agent.until("agent_end")
    assert types(frames)[:2] == ["response", "queue_update"]
    assert frames[1]["followUp"] == []
    assert frames[1]["dropped"] == ["later"]
    assert types(frames)[-3:] == ["message_end", "turn_end", "agent_end"]
    assert frames[-1]["messages"][-1]["stopReason"] == "aborted"
    assert said(run(agent, "next")) == ["next"]


def test_an_abort_in_the_same_write_as_its_prompt_is_not_lost(pi: Callable[..., Agent]) -> None:
    agent = pi()
    for _ in range(10):
        agent.send({"id": "1", "type": "prompt", "message": "!gate never"}, {"id": "2", "type": "abort"})
        frames = agent.until("agent_end")
        assert frames[-1]["messages"][-1]["stopReason"] == "aborted"
        agent.ask("get_state")


def test_an_abort_in_a_tool_ends_with_an_aborted_message(pi: Callable[..., Agent], tmp_path: Path) -> None:
    agent = pi()
    calls = [["bash", {"command": "echo begin; sleep 60"}], ["bash", {"command": "touch marker"}]]
    agent.send({"type": "prompt", "message": f"!tools {json.dumps(calls)}"})
    agent.until("tool_execution_update")
    agent.send({"type": "abort"})
    frames = agent.until("agent_end")
    results = [f["result"]["content"][0]["text"] for f in frames if f["type"] == "tool_execution_end"]
    assert results[0] == "begin\n\n\nCommand aborted"
    assert len(results) == 2
    assert frames[-1]["messages"][-1]["stopReason"] == "aborted"
    assert not (tmp_path / "work" / "marker").exists()


def test_new_session_during_a_run_ends_it_first(pi: Callable[..., Agent]) -> None:
    agent = pi()
    before = agent.ask("get_state")["data"]["sessionId"]
    agent.send({"type": "prompt", "message": "!gate never"})
    agent.until("message_update")
    agent.send({"id": "n", "type": "new_session"})
    frames = agent.until(lambda f: f.get("id") == "n")
    assert types(frames)[-4:] == ["message_end", "turn_end", "agent_end", "response"]
    assert frames[-1]["data"] == {"cancelled": False}
    state = agent.ask("get_state")["data"]
    assert state["messageCount"] == 0
    assert state["isStreaming"] is False
    assert state["sessionId"] != before


def test_the_end_of_stdin_finishes_what_was_asked(pi: Callable[..., Agent]) -> None:
    agent = pi()
    agent.send(
        {"id": "p", "type": "prompt", "message": '!tool bash {"command":"sleep 0.2; echo late"}'},
        {"id": "b", "type": "bash", "command": "sleep 0.3; echo slow"},
        {"id": "f", "type": "follow_up", "message": "and this"},
    )
    frames = agent.end()
    assert types(frames).count("agent_end") == 1
    assert "and this" in said(frames)
    assert next(f for f in frames if f.get("id") == "b")["data"]["output"] == "slow\n"
    assert agent.wait() == 0


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_an_image_may_be_given_by_its_address(pi: Callable[..., Agent], server: ModelServer, provider: str) -> None:
    link = {"type": "url", "url": "https://example.org/a.png"}
    frames = run(pi(provider=provider), "look", images=[{"type": "image", "source": link}])
    assert frames[-1]["messages"][0]["content"][1]["source"] == link
    assert link["url"] in json.dumps(server.requests[0].body["messages"])
