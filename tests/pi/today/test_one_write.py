"""Lines that come right behind each other, where pi answers from before the first of them, or loses one."""

import json
from collections.abc import Callable

import pytest

from linnet.testing.agent import Agent, Frame, types
from linnet.testing.model_server import ModelServer

Start = Callable[..., Agent]


@pytest.fixture(params=["pi-1", "pi-0.87"])
def agent(pi: Start, request: pytest.FixtureRequest) -> Agent:
    return pi("--dialect", request.param)


def send(agent: Agent, *commands: Frame) -> None:
    """Send all of them in one write."""
    agent.send_bytes(b"".join(json.dumps(command).encode() + b"\n" for command in commands))


def prompt(id: str, message: str, **fields: str) -> Frame:
    return {"id": id, "type": "prompt", "message": message, **fields}


def answered(agent: Agent, id: str) -> list[Frame]:
    return agent.until(lambda frame: frame.get("id") == id)


def heard(agent: Agent) -> list[str]:
    """Return what the user has said in this session."""
    said = agent.ask("get_messages")["data"]["messages"]
    return [message["content"][0]["text"] for message in said if message["role"] == "user"]


def test_an_abort_behind_its_prompt_is_not_lost(agent: Agent) -> None:
    send(agent, prompt("p", "!hang"), {"id": "a", "type": "abort"})
    frames = answered(agent, "a")
    assert types(frames).count("agent_settled") == 1
    [ended] = [frame for frame in frames if frame["type"] == "turn_end"]
    assert ended["message"]["stopReason"] == "aborted"


def test_of_many_prompts_in_one_write_each_is_refused_or_heard_in_its_turn(agent: Agent, server: ModelServer) -> None:
    waiting = [f"waiting {n}" for n in range(9)]
    plain = [prompt(f"p{n}", "lost?") for n in range(3)]
    send(
        agent, prompt("p", "!gate go"), *plain, *[prompt(each, each, streamingBehavior="followUp") for each in waiting]
    )
    refused = [frame["id"] for frame in answered(agent, waiting[-1]) if frame.get("success") is False]
    assert refused == ["p0", "p1", "p2"]
    server.release("go")
    assert types(agent.until("agent_settled")).count("agent_settled") == 1
    assert heard(agent) == ["!gate go", *waiting]


def test_a_prompt_behind_a_move_is_heard_in_the_new_session(agent: Agent) -> None:
    agent.send(prompt("before", "before"))
    agent.until("agent_settled")
    send(agent, {"id": "n", "type": "new_session"}, prompt("p", "first"))
    agent.until("agent_settled")
    assert heard(agent) == ["first"]


def test_a_compaction_behind_a_prompt_ends_its_run_first(agent: Agent) -> None:
    send(agent, prompt("p", "!hang"), {"id": "c", "type": "compact"})
    told = types(answered(agent, "c"))
    assert told.index("agent_settled") < told.index("compaction_start") < told.index("compaction_end")
    assert heard(agent) == ["!hang"]


@pytest.mark.parametrize("kind", ["steer", "follow_up"])
def test_what_is_queued_while_nothing_runs_is_said_at_once(agent: Agent, kind: str) -> None:
    agent.send({"id": "q", "type": kind, "message": "hello"})
    agent.until("agent_settled")
    assert heard(agent) == ["hello"]


def test_what_was_sent_before_the_queue_is_cleared_is_cleared(agent: Agent, server: ModelServer) -> None:
    agent.send(prompt("p", "!gate go"))
    agent.until("message_update")
    queued = [{"type": "steer", "message": "one"}, {"type": "follow_up", "message": "two"}]
    send(agent, *queued, {"id": "c", "type": "clear_queue"})
    assert answered(agent, "c")[-1]["data"] == {"steering": ["one"], "followUp": ["two"]}
    server.release("go")
    agent.until("agent_settled")
    assert heard(agent) == ["!gate go"]


def test_a_streaming_behavior_that_there_is_not_is_refused(agent: Agent) -> None:
    agent.send(prompt("p", "!hang"))
    agent.until("message_start")
    agent.send(prompt("q", "hello", streamingBehavior="bogus"))
    assert answered(agent, "q")[-1]["success"] is False
