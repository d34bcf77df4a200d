"""OpenAI's models think while they work: what they thought goes back to them, encrypted, through the whole program."""

from collections.abc import Callable
from typing import Any

import pytest

from linnet.testing.agent import Agent, Frame
from linnet.testing.model_server import ModelServer
from linnet.testing.sessions import file_of, lines

FLAGS = ("--api", "openai-responses", "--thinking", "high")
SOL = {"LINNET_MODEL": "gpt-6-sol"}
Pi = Callable[..., Agent]


def run(agent: Agent, message: str) -> Frame:
    agent.send({"id": "p", "type": "prompt", "message": message})
    reply: Frame = agent.until("agent_end")[-1]["messages"][-1]
    return reply


def sent(server: ModelServer) -> list[dict[str, Any]]:
    """The last request's conversation. Had the server refused it, the reply would be an error."""
    found: list[dict[str, Any]] = server.requests[-1].body["input"]
    return found


def thoughts(server: ModelServer) -> int:
    return sum(item.get("type") == "reasoning" for item in sent(server))


@pytest.fixture
def agent(pi: Pi) -> Agent:
    return pi(*FLAGS, provider="openai", env=SOL)


def test_thoughts_go_back_in_every_step_and_after_a_resume(agent: Agent, pi: Pi, server: ModelServer) -> None:
    assert run(agent, '!thinkloop 5 read {"path":"a.txt"}')["stopReason"] == "stop"
    assert [request.path for request in server.requests] == ["/v1/responses"] * 6
    assert [item.get("type", "user") for item in sent(server)] == [
        "user",
        *["reasoning", "function_call", "function_call_output"] * 5,
    ]
    assert server.requests[-1].body["reasoning"] == {"effort": "high", "summary": "auto"}
    file = file_of(agent)
    agent.end()
    written = str(lines(file))
    assert "encrypted_content" in written
    again = pi("--session", str(file), *FLAGS, provider="openai", env=SOL)
    assert run(again, "and?")["stopReason"] == "stop"
    assert thoughts(server) == 6


def test_another_model_in_between_gets_none_of_them_and_the_first_gets_its_own_back(
    agent: Agent, server: ModelServer
) -> None:
    run(agent, '!thinkloop 2 read {"path":"a.txt"}')
    agent.ask("set_model", provider="openai", modelId="gpt-5.4")
    assert run(agent, "!think")["stopReason"] == "stop"
    assert thoughts(server) == 0
    assert not any("id" in item for item in sent(server))
    agent.ask("set_model", provider="openai", modelId="gpt-6-sol")
    assert run(agent, "back")["stopReason"] == "stop"
    assert thoughts(server) == 3


def test_a_compaction_leaves_whole_replies(pi: Pi, server: ModelServer) -> None:
    agent = pi(*FLAGS, "--compact-keep", "1", provider="openai", env=SOL)
    run(agent, '!thinkloop 3 read {"path":"a.txt"}')
    run(agent, "!think")
    assert agent.ask("compact")["success"]
    assert run(agent, '!thinkloop 2 read {"path":"a.txt"}')["stopReason"] == "stop"
    assert run(agent, "go on")["stopReason"] == "stop"


@pytest.mark.parametrize("prompt", ["!thinkcut 4", "!thinklength", "!refusal", "!filter", "!failed bio_policy"])
def test_a_reply_that_was_cut_does_not_stop_the_conversation(agent: Agent, server: ModelServer, prompt: str) -> None:
    run(agent, '!thinkloop 1 read {"path":"a.txt"}')
    agent.ask("set_auto_retry", enabled=False)
    assert run(agent, prompt)["stopReason"] in ("error", "length")
    assert run(agent, "go on")["stopReason"] == "stop"
    assert thoughts(server) == 2


def test_an_aborted_reply_does_not_stop_the_conversation(agent: Agent, server: ModelServer) -> None:
    agent.send({"type": "prompt", "message": "!gate never"})
    agent.until("message_update")
    agent.send({"type": "abort"})
    agent.until("agent_end")
    assert run(agent, "!think")["stopReason"] == "stop"
    assert run(agent, "go on")["stopReason"] == "stop"
    assert thoughts(server) == 1


def test_a_failure_that_may_pass_is_tried_again(agent: Agent) -> None:
    agent.send({"type": "prompt", "message": "!fail 503 1"})
    assert agent.until("auto_retry_end")[-1]["success"]


def test_without_being_told_another_server_is_asked_through_chat(pi: Pi, server: ModelServer) -> None:
    run(pi(provider="openai", env=SOL), "hi")
    assert server.requests[-1].path == "/v1/chat/completions"


def test_an_api_that_there_is_not_is_refused_at_the_start(spawn: Callable[..., Agent]) -> None:
    for name, words in (("openai-respones", "no API is called"), ("scripted", "is no API of a server")):
        agent = spawn("--mode", "rpc", "--provider", "openai", "--api-key", "x", "--api", name)
        assert agent.wait() != 0
        assert words in agent.stderr
