"""`agent_settled`, for clients that ask for it: one for each prompt, after all that follows from it."""

from collections.abc import Callable

import pytest

from linnet.client import PiClient
from linnet.client import pi as events
from linnet.testing.agent import Agent, Frame, types
from linnet.testing.model_server import ModelServer


def settled(agent: Agent, message: str, **fields: str) -> list[Frame]:
    """The events of a prompt up to `agent_settled`; a question that is asked then shows that nothing follows."""
    agent.send({"id": "p", "type": "prompt", "message": message, **fields})
    frames = agent.until("agent_settled")
    state = agent.ask("get_state")
    assert state["data"]["isStreaming"] is False
    return frames


@pytest.mark.parametrize(
    ("message", "runs", "before"),
    [("hi", 1, "agent_end"), ("!fail 529 2", 3, "auto_retry_end"), ("!fail 401 1", 1, "agent_end")],
)
def test_it_comes_once_after_the_last_run(pi: Callable[..., Agent], message: str, runs: int, before: str) -> None:
    frames = settled(pi("--settled"), message)
    assert types(frames).count("agent_end") == runs
    assert types(frames)[-2:] == [before, "agent_settled"]
    assert frames[-1] == {"type": "agent_settled", "aborted": False}
    assert types(frames).count("agent_settled") == 1


def test_what_was_queued_is_over_too(pi: Callable[..., Agent], server: ModelServer) -> None:
    agent = pi("--settled")
    agent.send({"type": "prompt", "message": "!gate first"})
    agent.until("message_update")
    agent.ask("follow_up", message="and this")
    server.release("first")
    frames = agent.until("agent_settled")
    assert [f["message"]["role"] for f in frames if f["type"] == "message_end"] == ["assistant", "user", "assistant"]


def test_after_an_abort_it_says_so(pi: Callable[..., Agent]) -> None:
    agent = pi("--settled")
    agent.send({"type": "prompt", "message": "!gate never"})
    agent.until("message_update")
    agent.send({"type": "abort"})
    assert agent.until("agent_settled")[-1]["aborted"] is True
    agent.ask("abort")
    agent.send({"type": "prompt", "message": "!fail 529 9"})
    agent.until("auto_retry_start")
    agent.send({"type": "abort_retry"})
    assert agent.until("agent_settled")[-1]["aborted"] is False
    assert types(agent.seen).count("agent_settled") == 2


def test_a_compaction_and_what_it_leads_to_come_first(pi: Callable[..., Agent]) -> None:
    agent = pi("--settled", "--compact-keep", "1")
    settled(agent, "hi")
    settled(agent, "ho")
    frames = settled(agent, "!overflow 1")
    kinds = [kind for kind in types(frames) if kind.startswith(("agent_", "auto_"))]
    compaction = ["auto_compaction_start", "auto_compaction_end"]
    assert kinds == ["agent_start", "agent_end", *compaction, "agent_start", "agent_end", "agent_settled"]
    assert agent.ask("compact")["success"] is True
    assert types(agent.seen).count("agent_settled") == 3


def test_nobody_is_told_who_does_not_ask_and_anybody_may_ask_at_any_time(pi: Callable[..., Agent]) -> None:
    agent = pi()
    agent.send({"type": "prompt", "message": "hi"})
    agent.until("agent_end")
    assert agent.ask("set_stream", settled=True)["success"] is True
    settled(agent, "hi")
    assert types(agent.seen).count("agent_settled") == 1
    assert agent.ask("set_stream", settled=False, mode="deltas")["success"] is True
    agent.send({"type": "prompt", "message": "hi"})
    frames = agent.until("agent_end")
    assert all("message" not in frame for frame in frames if frame["type"] == "message_update")
    agent.ask("get_state")
    assert types(agent.seen).count("agent_settled") == 1


@pytest.mark.parametrize(
    ("fields", "words"), [({"settled": "yes"}, "`settled` must be true or false"), ({}, "`mode` must be one of")]
)
def test_what_makes_no_sense_is_refused(pi: Callable[..., Agent], fields: Frame, words: str) -> None:
    answer = pi().ask("set_stream", **fields)
    assert answer["success"] is False
    assert words in answer["error"]


def test_linnets_own_client_takes_it_for_the_end(server: ModelServer) -> None:
    flags = ("--settled", "--base-url", server.url, "--api-key", "x", "--no-session", "--retry-delay", "0.05")
    with PiClient(args=flags) as client:
        told = list(client.prompt("!fail 529 1"))
        assert isinstance(told[-1], events.AgentSettled)
        client.wait_idle(timeout=20)
