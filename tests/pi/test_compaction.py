"""Compaction: asked for, when the context is nearly full, and when it is too full."""

from collections.abc import Callable
from typing import Any

import pytest

from linnet.testing.agent import Agent, Frame, types
from linnet.testing.model_server import ModelServer

SMALL = {"id": "small", "provider": "anthropic", "context_window": 3000, "max_output": 1000}


def run(agent: Agent, message: str) -> list[Frame]:
    agent.send({"id": "p", "type": "prompt", "message": message})
    return agent.until("agent_end")


def roles(agent: Agent) -> list[str]:
    return [m["role"] for m in agent.ask("get_messages")["data"]["messages"]]


def test_compact_answers_with_the_summary_and_where_it_cut(pi: Callable[..., Agent], server: ModelServer) -> None:
    agent = pi("--compact-keep", "1")
    for _ in range(3):
        run(agent, "!text 60")
    answer = agent.ask("compact", customInstructions="Focus on files")
    data = answer["data"]
    assert data["summary"].startswith("SUMMARY: scripted")
    assert len(data["firstKeptEntryId"]) == 8
    assert data["tokensBefore"] > 60
    assert data["details"] == {"readFiles": [], "modifiedFiles": []}
    assert "Focus on files" in str(server.requests[-1].body)
    messages = agent.ask("get_messages")["data"]["messages"]
    assert messages[0]["role"] == "compactionSummary"
    assert messages[0]["summary"] == data["summary"]
    assert roles(agent) == ["compactionSummary", "assistant"]
    assert run(agent, "go on")[-1]["messages"][-1]["stopReason"] == "stop"


def test_files_are_carried_from_summary_to_summary(pi: Callable[..., Agent]) -> None:
    agent = pi("--compact-keep", "1")
    run(agent, '!tool read {"path":"zz.txt"}')
    run(agent, '!tool write {"path":"w.txt","content":"c"}')
    first = agent.ask("compact")["data"]["details"]
    assert first == {"readFiles": ["zz.txt"], "modifiedFiles": ["w.txt"]}
    run(agent, '!tool edit {"path":"zz.txt","edits":[{"oldText":"a","newText":"b"}]}')
    run(agent, "hi")
    second = agent.ask("compact")["data"]["details"]
    assert second == {"readFiles": [], "modifiedFiles": ["w.txt", "zz.txt"]}


def test_an_earlier_summary_is_updated(pi: Callable[..., Agent], server: ModelServer) -> None:
    agent = pi("--compact-keep", "1")
    for _ in range(2):
        run(agent, "hi")
        run(agent, "ho")
        assert agent.ask("compact")["success"]
    asked = [r for r in server.requests if "earlier-notes" in str(r.body)]
    assert asked
    assert roles(agent).count("compactionSummary") == 1


@pytest.mark.parametrize("prompts", [0, 1])
def test_a_small_session_has_nothing_to_compact(pi: Callable[..., Agent], prompts: int) -> None:
    agent = pi()
    for _ in range(prompts):
        run(agent, "hi")
    answer = agent.ask("compact")
    assert answer["success"] is False
    assert answer["error"] == "Nothing to compact (session too small)"


def test_a_session_is_not_compacted_twice(pi: Callable[..., Agent]) -> None:
    agent = pi("--compact-keep", "1")
    run(agent, "hi")
    run(agent, "ho")
    assert agent.ask("compact")["success"]
    assert agent.ask("compact")["error"] == "Already compacted"


def test_compacting_while_the_agent_works_ends_the_run_first(pi: Callable[..., Agent]) -> None:
    agent = pi("--compact-keep", "1")
    run(agent, "hi")
    run(agent, "ho")
    agent.send({"type": "prompt", "message": "!gate never"})
    agent.until("message_update")
    agent.send({"id": "c", "type": "compact"})
    frames = agent.until(lambda f: f.get("id") == "c")
    assert types(frames)[-4:] == ["message_end", "turn_end", "agent_end", "response"]
    assert frames[-1]["success"]
    assert agent.ask("get_state")["data"]["isCompacting"] is False


def test_a_compaction_can_be_aborted(pi: Callable[..., Agent], server: ModelServer) -> None:
    agent = pi("--compact-keep", "1")
    run(agent, "HOLD SUMMARY never")
    run(agent, "ho")
    agent.send({"id": "c", "type": "compact"})
    server.wait_for(requests=3)
    assert agent.ask("get_state")["data"]["isCompacting"] is True
    agent.send({"id": "a", "type": "abort"})
    frames = agent.until(lambda f: f.get("id") == "c")
    assert frames[-1]["success"] is False
    assert frames[-1]["error"] == "Compaction cancelled"
    assert roles(agent) == ["user", "assistant"] * 2


def test_a_compaction_that_fails_changes_nothing(pi: Callable[..., Agent], server: ModelServer) -> None:
    agent = pi("--compact-keep", "1")
    run(agent, "hi")
    run(agent, "ho")
    server.close()
    answer = agent.ask("compact")
    assert answer["success"] is False
    assert "could not connect" in answer["error"] or "cut short" in answer["error"]
    assert len(roles(agent)) == 4


def test_a_nearly_full_context_is_compacted_after_the_run(pi: Callable[..., Agent]) -> None:
    agent = pi("--model", "small", "--compact-reserve", "600", "--compact-keep", "100", extra_models=[SMALL])
    while "auto_compaction_end" not in types(agent.seen):
        run(agent, "!text 400")
        agent.ask("get_state")
        assert len(agent.seen) < 5000
    names = types(agent.seen)
    start = names.index("auto_compaction_start")
    assert agent.seen[start] == {"type": "auto_compaction_start", "reason": "threshold"}
    assert names[start - 1] == "agent_end"
    end = agent.seen[names.index("auto_compaction_end")]
    assert end["aborted"] is False
    assert end["willRetry"] is False
    assert end["result"]["summary"].startswith("SUMMARY: scripted")
    assert roles(agent)[0] == "compactionSummary"
    assert run(agent, "go on")[-1]["messages"][-1]["stopReason"] == "stop"


def test_automatic_compaction_can_be_turned_off(pi: Callable[..., Agent]) -> None:
    agent = pi("--model", "small", "--compact-reserve", "600", "--compact-keep", "100", extra_models=[SMALL])
    agent.ask("set_auto_compaction", enabled=False)
    assert agent.ask("get_state")["data"]["autoCompactionEnabled"] is False
    for _ in range(4):
        run(agent, "!text 400")
    agent.ask("get_state")
    assert "auto_compaction_start" not in types(agent.seen)


def test_an_overflow_is_compacted_and_the_prompt_tried_again(pi: Callable[..., Agent]) -> None:
    agent = pi("--compact-keep", "1")
    run(agent, "hi")
    run(agent, "ho")
    agent.send({"id": "o", "type": "prompt", "message": "!overflow 1"})
    frames = agent.until("auto_compaction_end")
    assert types(frames)[-3:] == ["agent_end", "auto_compaction_start", "auto_compaction_end"]
    assert frames[-2]["reason"] == "overflow"
    assert frames[-1]["willRetry"] is True
    after = agent.until("agent_end")
    assert after[-1]["messages"][-1]["content"] == [{"type": "text", "text": "recovered"}]
    assert not [f for f in after if f["type"] == "message_end" and f["message"]["role"] == "user"]
    kept: list[dict[str, Any]] = agent.ask("get_messages")["data"]["messages"]
    assert [m["role"] for m in kept] == ["compactionSummary", "user", "assistant"]
    assert kept[1]["content"][0]["text"] == "!overflow 1"


def test_a_second_overflow_ends_with_a_clear_error(pi: Callable[..., Agent]) -> None:
    agent = pi("--compact-keep", "1")
    run(agent, "hi")
    run(agent, "ho")
    agent.send({"id": "o", "type": "prompt", "message": "!overflow 9"})
    agent.until("auto_compaction_end")
    frames = agent.until("agent_end")
    last = frames[-1]["messages"][-1]
    assert last["stopReason"] == "error"
    assert "prompt is too long" in last["errorMessage"]
    assert agent.ask("get_state")["data"]["isStreaming"] is False
    assert types(agent.seen).count("auto_compaction_start") == 1
    assert "!overflow 9" in str(agent.ask("get_messages"))


def test_an_overflow_with_nothing_to_compact_says_so(pi: Callable[..., Agent]) -> None:
    agent = pi()
    agent.send({"id": "o", "type": "prompt", "message": "!overflow 9"})
    end = agent.until("auto_compaction_end")[-1]
    assert end["result"] is None
    assert agent.ask("get_state")["data"]["isStreaming"] is False


def test_a_prompt_during_an_automatic_compaction_waits_for_it(pi: Callable[..., Agent], server: ModelServer) -> None:
    agent = pi("--compact-keep", "1")
    run(agent, "hi")
    run(agent, "ho")
    agent.send({"id": "c", "type": "compact"}, {"id": "p", "type": "prompt", "message": "after the cut"})
    frames = agent.until("agent_end")
    responses = [f["id"] for f in frames if f["type"] == "response"]
    assert set(responses) == {"c", "p"}
    assert all(f["success"] for f in frames if f["type"] == "response")
    assert roles(agent)[0] == "compactionSummary"
    assert "after the cut" in str(agent.ask("get_messages"))


def test_a_second_compact_waits_for_the_first(pi: Callable[..., Agent]) -> None:
    agent = pi("--compact-keep", "1")
    run(agent, "hi")
    run(agent, "ho")
    agent.send({"id": "1", "type": "compact"}, {"id": "2", "type": "compact"})
    first, second = agent.read(), agent.read()
    assert first is not None
    assert second is not None
    assert (first["id"], first["success"]) == ("1", True)
    assert (second["id"], second["error"]) == ("2", "Already compacted")


def test_an_automatic_compaction_can_be_aborted(pi: Callable[..., Agent], server: ModelServer) -> None:
    agent = pi("--compact-keep", "1")
    run(agent, "HOLD SUMMARY never")
    run(agent, "ho")
    agent.send({"id": "o", "type": "prompt", "message": "!overflow 1"})
    agent.until("auto_compaction_start")
    agent.send({"id": "a", "type": "abort"})
    end = agent.until("auto_compaction_end")[-1]
    assert end == {"type": "auto_compaction_end", "result": None, "aborted": True, "willRetry": False}
    assert agent.ask("get_state")["data"]["isStreaming"] is False
    assert "!overflow 1" in str(agent.ask("get_messages"))


def test_a_small_window_is_not_full_from_the_start(pi: Callable[..., Agent]) -> None:
    models = [{"id": "small", "provider": "anthropic", "context_window": 8192, "max_output": 1024}]
    agent = pi("--model", "small", "--compact-keep", "1", "--no-tools", extra_models=models)
    for number in range(3):
        agent.send({"id": str(number), "type": "prompt", "message": "hi"})
        agent.until("agent_end")
    agent.ask("get_state")
    assert not [frame for frame in agent.seen if "compaction" in frame["type"]]
