"""Limits, and what is said of thinking, in pi's words."""

import json
from collections.abc import Callable
from pathlib import Path

from linnet.testing.agent import Agent, types
from linnet.testing.model_server import ModelServer
from linnet.testing.sessions import run, state


def test_a_run_may_take_more_than_a_hundred_steps(spawn: Callable[..., Agent], tmp_path: Path) -> None:
    (tmp_path / "work" / "note").write_text("x")
    looking = [{"call": "read", "args": {"path": "note"}}]
    (tmp_path / "script.json").write_text(json.dumps({"turns": [*[looking] * 400, [{"text": "done"}]]}))
    for flags in (["--mode", "rpc"], ["rpc"]):
        agent = spawn(*flags, "--script", str(tmp_path / "script.json"), "--stream", "deltas")
        agent.send({"id": "1", "type": "prompt", "message": "go"})
        frames = agent.until("agent_end" if flags[0] == "--mode" else "done")
        assert types(frames).count("turn_start") == 401
        assert "error" not in types(frames)
        assert "errorMessage" not in frames[-1]


def test_what_waits_when_the_time_is_up_is_dropped_and_the_next_prompt_is_another(
    pi: Callable[..., Agent], server: ModelServer
) -> None:
    agent = pi("--max-seconds", "1")
    agent.send({"type": "prompt", "message": "!hang"})
    agent.until("turn_start")
    agent.send({"type": "follow_up", "message": "and then?"})
    told = agent.until("agent_end")
    assert [frame.get("dropped") for frame in told if frame["type"] == "queue_update"] == [None, ["and then?"]]
    last = told[-1]["messages"][-1]
    sentence = "max seconds (1) reached: the run was interrupted (--max-seconds)"
    assert (last["stopReason"], last["errorMessage"]) == ("error", sentence)
    assert state(agent)["pendingMessageCount"] == 0
    assert run(agent, "hi")[-1]["messages"][-1]["stopReason"] == "stop"
    assert [message["role"] for message in agent.ask("get_messages")["data"]["messages"]].count("user") == 2


def test_a_command_of_the_clients_has_the_time_that_was_configured(pi: Callable[..., Agent]) -> None:
    agent = pi("--bash-timeout", "0.2")
    data = agent.ask("bash", command="echo begun; sleep 600")["data"]
    assert data["output"] == "begun\n\nCommand timed out after 0.2 seconds\n"
    assert (data.get("exitCode"), data["cancelled"]) == (None, True)


def test_the_state_shows_how_much_the_model_is_asked_to_think(pi: Callable[..., Agent], server: ModelServer) -> None:
    agent = pi("--model", "gpt-5.5", "--thinking", "high", provider="openai")
    assert state(agent)["thinkingLevel"] == "off"
    assert agent.ask("cycle_thinking_level")["data"] is None
    run(agent, "one")
    run(agent, "two")
    assert agent.stderr.count("gpt-5.5 is asked not to think, instead of high") == 1
    assert agent.ask("set_model", provider="openai", modelId="gpt-5")["success"]
    assert state(agent)["thinkingLevel"] == "high"
    run(agent, "three")
    assert [request.body["reasoning_effort"] for request in server.requests] == ["none", "none", "high"]
    agent = pi("--model", "gpt-5.5", "--thinking", "high", "--no-tools", provider="openai")
    assert state(agent)["thinkingLevel"] == "high"
    tool = {"name": "look", "description": "look", "parameters": {"type": "object", "properties": {}}}
    assert agent.ask("set_tools", tools=[tool])["success"]
    assert state(agent)["thinkingLevel"] == "off"
