"""What happens when a model fails for a passing reason."""

from collections.abc import Callable
from typing import Any

import pytest

from linnet.testing.agent import Agent, Frame, types
from linnet.testing.model_server import ModelServer


def prompt(agent: Agent, message: str, **fields: Any) -> None:
    agent.send({"id": "p", "type": "prompt", "message": message, **fields})


def until_retry_ends(agent: Agent) -> list[Frame]:
    return agent.until("auto_retry_end")


@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_a_failed_run_is_tried_again_without_the_prompt_being_said_again(
    pi: Callable[..., Agent], server: ModelServer, status: int
) -> None:
    agent = pi()
    prompt(agent, f"!fail {status} 2")
    frames = until_retry_ends(agent)
    assert types(frames).count("agent_start") == types(frames).count("agent_end") == 3
    starts = [f for f in frames if f["type"] == "auto_retry_start"]
    assert [(f["attempt"], f["maxAttempts"], f["delayMs"]) for f in starts] == [(1, 3, 50), (2, 3, 100)]
    assert all(str(status) in f["errorMessage"] for f in starts)
    assert frames[-1] == {"type": "auto_retry_end", "success": True, "attempt": 2}
    assert types(frames)[-2] == "agent_end"
    users = [f for f in frames if f["type"] == "message_end" and f["message"]["role"] == "user"]
    assert len(users) == 1
    assert len(server.requests) == 3
    messages = agent.ask("get_messages")["data"]["messages"]
    assert [m["role"] for m in messages] == ["user", "assistant"]
    assert messages[1]["content"] == [{"type": "text", "text": "recovered"}]


def test_the_last_try_ends_with_the_error(pi: Callable[..., Agent], server: ModelServer) -> None:
    agent = pi()
    prompt(agent, "!fail 529 99")
    frames = until_retry_ends(agent)
    assert frames[-1]["success"] is False
    assert frames[-1]["attempt"] == 3
    assert "529" in frames[-1]["finalError"]
    assert len(server.requests) == 4
    last = agent.ask("get_messages")["data"]["messages"][-1]
    assert last["stopReason"] == "error"
    assert "529" in last["errorMessage"]
    prompt(agent, "hello")
    assert agent.until("agent_end")[-1]["messages"][-1]["stopReason"] == "stop"


def test_a_cut_stream_is_tried_again(pi: Callable[..., Agent], server: ModelServer) -> None:
    agent = pi()
    prompt(agent, "!drop 3")
    frames = until_retry_ends(agent)
    assert types(frames).count("auto_retry_start") == 3
    assert len(server.requests) == 4


@pytest.mark.parametrize("directive", ["!fail 400 1", "!fail 401 1", "!fail 403 1", "!refusal"])
def test_what_would_fail_again_is_not_tried_again(
    pi: Callable[..., Agent], server: ModelServer, directive: str
) -> None:
    agent = pi()
    prompt(agent, directive)
    frames = agent.until("agent_end")
    assert frames[-1]["messages"][-1]["stopReason"] == "error"
    assert agent.ask("get_state")["data"]["isStreaming"] is False
    assert "auto_retry_start" not in types(agent.seen)
    assert len(server.requests) == 1


def test_retry_after_is_respected(pi: Callable[..., Agent]) -> None:
    agent = pi()
    prompt(agent, "!fail 429 1 1")
    frames = agent.until("auto_retry_start")
    assert frames[-1]["delayMs"] == 1000
    agent.ask("abort_retry")


def test_a_vendor_that_asks_for_too_long_is_not_waited_for(pi: Callable[..., Agent]) -> None:
    agent = pi()
    prompt(agent, "!fail 429 1 3600")
    agent.until("agent_end")
    assert agent.ask("get_state")["data"]["isStreaming"] is False


@pytest.mark.parametrize("command", ["abort_retry", "abort"])
def test_the_wait_can_be_ended(pi: Callable[..., Agent], command: str) -> None:
    agent = pi("--retry-delay", "60")
    prompt(agent, "!fail 503 9")
    agent.until("auto_retry_start")
    agent.send({"id": "x", "type": command})
    frames = until_retry_ends(agent)
    assert frames[-1] == {
        "type": "auto_retry_end",
        "success": False,
        "attempt": 1,
        "finalError": "Retry cancelled",
    }
    assert agent.ask("get_state")["data"]["isStreaming"] is False
    prompt(agent, "hello")
    assert agent.until("agent_end")[-1]["messages"][-1]["stopReason"] == "stop"


def test_a_prompt_during_the_wait_is_answered_and_a_follow_up_is_kept(
    pi: Callable[..., Agent], server: ModelServer
) -> None:
    agent = pi("--retry-delay", "60")
    prompt(agent, "!fail 503 9")
    agent.until("auto_retry_start")
    assert agent.ask("get_state")["data"]["isStreaming"] is True
    assert agent.ask("prompt", message="me?")["success"] is False
    assert agent.ask("follow_up", message="then me")["success"] is True
    agent.ask("abort_retry")
    frames = agent.until("agent_end")
    assert "then me" in str(frames[-1]["messages"][0])


def test_retrying_can_be_turned_off(pi: Callable[..., Agent], server: ModelServer) -> None:
    agent = pi()
    assert agent.ask("set_auto_retry", enabled=False)["success"]
    prompt(agent, "!fail 503 9")
    agent.until("agent_end")
    assert agent.ask("get_state")["data"]["isStreaming"] is False
    assert len(server.requests) == 1
    assert not agent.ask("set_auto_retry", enabled="yes")["success"]


def test_steering_said_before_a_failure_is_heard_by_the_next_try(pi: Callable[..., Agent], server: ModelServer) -> None:
    agent = pi("--retry-delay", "60")
    prompt(agent, "!fail 503 1")
    agent.until("auto_retry_start")
    agent.ask("steer", message="by the way")
    agent.ask("abort_retry")
    frames = agent.until("agent_end")
    assert "by the way" in str(frames)
