"""What happens when more is asked while something runs."""

from linnet.testing.agent import Agent, types
from linnet.testing.model_server import ModelServer


def starts(frames: list[dict[str, object]]) -> list[object]:
    return [f["id"] for f in frames if f["type"] == "response" and f["command"] in ("prompt", "compact")]


def test_a_second_prompt_starts_when_the_first_is_done(agent: Agent) -> None:
    agent.send({"id": "1", "type": "prompt", "message": "hi"}, {"id": "2", "type": "prompt", "message": "ho"})
    frames = [*agent.until("done"), *agent.until("done")]
    assert starts(frames) == ["1", "2"]
    assert types(frames).index("done") < frames.index(next(f for f in frames if f.get("id") == "2"))


def test_other_commands_are_answered_while_a_prompt_runs(agent: Agent) -> None:
    agent.send({"id": "1", "type": "prompt", "message": "!gate never"})
    agent.until("text_delta")
    assert agent.ask("ping")["success"]
    assert agent.ask("get_state")["data"]["busy"]
    assert len(agent.ask("get_messages")["data"]["messages"]) == 1
    assert agent.ask("get_models")["success"]


def test_an_abort_lets_the_queued_prompts_run(agent: Agent) -> None:
    agent.send({"id": "1", "type": "prompt", "message": "!gate never"})
    agent.until("text_delta")
    agent.send({"id": "2", "type": "prompt", "message": "second"}, {"id": "3", "type": "abort"})
    first, second = agent.until("done"), agent.until("done")
    assert first[-2]["stop"] == "aborted"
    assert starts(second) == ["2"]
    assert second[-2]["stop"] == "end_turn"


def test_a_compact_waits_its_turn_like_a_prompt(agent: Agent) -> None:
    for _ in range(3):
        agent.prompt("hi")
    agent.send(
        {"id": "1", "type": "prompt", "message": "hi"},
        {"id": "2", "type": "compact"},
        {"id": "3", "type": "prompt", "message": "ho"},
    )
    frames = [*agent.until("done"), *agent.until("compact_done"), *agent.until("done")]
    assert starts(frames) == ["1", "2", "3"]


def test_a_prompt_during_a_compact_is_not_lost(agent: Agent) -> None:
    for _ in range(3):
        agent.prompt("hi")
    agent.send({"id": "c", "type": "compact"}, {"id": "q", "type": "prompt", "message": "after the cut"})
    agent.until("compact_done")
    agent.until("done")
    said = [m["content"][0]["text"] for m in agent.ask("get_messages")["data"]["messages"]]
    assert "after the cut" in said


def test_set_model_during_a_turn_is_for_the_next_prompt(agent: Agent, server: ModelServer) -> None:
    agent.send({"id": "1", "type": "prompt", "message": '!tool bash {"command":"read x < go"}'})
    agent.until("turn_end")
    assert agent.ask("set_model", model="claude-opus-4-5")["success"]
    assert agent.ask("get_state")["data"]["model"] == "claude-opus-4-5"
    agent.send({"type": "abort"})
    agent.until("done")
    agent.send({"id": "1", "type": "prompt", "message": "!gate g"})
    agent.until("text_delta")
    agent.ask("set_model", model="claude-haiku-4-5")
    server.release("g")
    agent.until("done")
    agent.prompt("hi")
    assert [r.body["model"] for r in server.requests[-3:]] == [
        "claude-sonnet-4-5",
        "claude-opus-4-5",
        "claude-haiku-4-5",
    ]


def test_queued_prompts_run_after_the_end_of_stdin(agent: Agent) -> None:
    agent.send(*({"id": str(n), "type": "prompt", "message": f"hi {n}"} for n in range(5)))
    frames = agent.end()
    assert starts(frames) == ["0", "1", "2", "3", "4"]
    assert types(frames).count("done") == 5
    assert agent.wait() == 0


def test_an_abort_after_the_end_of_a_turn_does_not_reach_the_next(agent: Agent) -> None:
    agent.prompt("hi")
    agent.send({"type": "abort", "id": "a"}, {"type": "prompt", "id": "p", "message": "hi"})
    assert agent.until("done")[-2]["stop"] == "end_turn"
