"""State, models, thinking, bash and stats of the pi protocol."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.agent import Agent, types
from linnet.testing.model_server import ModelServer
from linnet.testing.processes import alive, wait_until


def run(agent: Agent, message: str) -> list[dict[str, Any]]:
    agent.send({"id": "p", "type": "prompt", "message": message})
    return agent.until("agent_end")


def test_get_state_tells_all_the_document_names(pi: Callable[..., Agent], server: ModelServer) -> None:
    state = pi().ask("get_state")["data"]
    model = state.pop("model")
    id = state.pop("sessionId")
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", id)
    file = Path(state.pop("sessionFile"))
    assert file.is_absolute()
    assert file.name.endswith(f"_{id}.jsonl")
    assert state == {
        "thinkingLevel": "off",
        "isStreaming": False,
        "isCompacting": False,
        "steeringMode": "one-at-a-time",
        "followUpMode": "one-at-a-time",
        "autoCompactionEnabled": True,
        "messageCount": 0,
        "pendingMessageCount": 0,
    }
    assert model == {
        "id": "claude-sonnet-4-5",
        "name": "Claude Sonnet 4.5",
        "api": "anthropic-messages",
        "provider": "anthropic",
        "baseUrl": server.url,
        "reasoning": True,
        "input": ["text", "image"],
        "contextWindow": 200000,
        "maxTokens": 64000,
        "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75},
    }


def test_streaming_is_told_from_the_prompt_to_agent_end(pi: Callable[..., Agent], server: ModelServer) -> None:
    agent = pi()
    agent.send({"type": "prompt", "message": "!gate g"}, {"id": "s", "type": "get_state"})
    assert agent.until(lambda f: f.get("id") == "s")[-1]["data"]["isStreaming"] is True
    server.release("g")
    agent.until("agent_end")
    assert agent.ask("get_state")["data"]["isStreaming"] is False


def test_messages_and_the_last_text(pi: Callable[..., Agent]) -> None:
    agent = pi()
    assert agent.ask("get_last_assistant_text")["data"] == {"text": None}
    assert agent.ask("get_messages")["data"] == {"messages": []}
    frames = run(agent, "hello")
    assert agent.ask("get_last_assistant_text")["data"] == {"text": "Hello from the scripted model."}
    assert agent.ask("get_messages")["data"]["messages"] == frames[-1]["messages"]


def test_stats_count_messages_tokens_and_cost(pi: Callable[..., Agent]) -> None:
    agent = pi()
    run(agent, '!tool bash {"command":"true"}')
    stats = agent.ask("get_session_stats")["data"]
    assert {name: stats[name] for name in ("userMessages", "assistantMessages", "toolCalls", "toolResults")} == {
        "userMessages": 1,
        "assistantMessages": 2,
        "toolCalls": 1,
        "toolResults": 1,
    }
    assert stats["totalMessages"] == 4
    tokens = stats["tokens"]
    assert tokens["total"] == tokens["input"] + tokens["output"] + tokens["cacheRead"] + tokens["cacheWrite"] > 0
    assert stats["cost"] > 0


def test_models_of_every_provider_with_a_key_are_available(pi: Callable[..., Agent], server: ModelServer) -> None:
    agent = pi(env={"OPENAI_API_KEY": "y"})
    models = agent.ask("get_available_models")["data"]["models"]
    assert {model["provider"] for model in models} == {"anthropic", "openai"}
    answer = agent.ask("set_model", provider="openai", modelId="gpt-5")
    assert answer["data"]["api"] == "openai-responses"
    assert agent.ask("get_state")["data"]["model"]["id"] == "gpt-5"
    back = agent.ask("set_model", provider="anthropic", modelId="claude-opus-4-5")
    assert back["success"]
    run(agent, "hi")
    assert server.requests[-1].body["model"] == "claude-opus-4-5"


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"provider": "nope", "modelId": "x"}, "Model not found: nope/x"),
        ({"provider": "anthropic", "modelId": "x"}, "Model not found: anthropic/x"),
    ],
)
def test_a_model_that_is_not_there_is_refused(pi: Callable[..., Agent], fields: dict[str, str], error: str) -> None:
    answer = pi().ask("set_model", **fields)
    assert answer == {"id": "ask", "type": "response", "command": "set_model", "success": False, "error": error}


def test_cycling_models_goes_round(pi: Callable[..., Agent]) -> None:
    agent = pi()
    count = len(agent.ask("get_available_models")["data"]["models"])
    seen = [agent.ask("cycle_model")["data"]["model"]["id"] for _ in range(count)]
    assert len(set(seen)) == count
    assert seen[-1] == "claude-sonnet-4-5"


def test_thinking_levels_are_set_checked_and_cycled(pi: Callable[..., Agent], server: ModelServer) -> None:
    agent = pi()
    assert agent.ask("set_thinking_level", level="high")["success"]
    assert agent.ask("get_state")["data"]["thinkingLevel"] == "high"
    run(agent, "!think")
    assert "thinking" in server.requests[-1].body
    assert not agent.ask("set_thinking_level", level="much")["success"]
    assert [agent.ask("cycle_thinking_level")["data"]["level"] for _ in range(5)] == [
        "off",
        "minimal",
        "low",
        "medium",
        "high",
    ]
    levels = agent.ask("get_available_thinking_levels")["data"]
    assert levels == {"levels": ["off", "minimal", "low", "medium", "high"]}
    agent.ask("set_model", provider="anthropic", modelId="claude-opus-5-5")
    levels = agent.ask("get_available_thinking_levels")["data"]
    assert levels == {"levels": ["minimal", "low", "medium", "high", "xhigh", "max"]}
    agent.ask("set_model", provider="anthropic", modelId="claude-3-5-haiku-20241022")
    assert agent.ask("get_available_thinking_levels")["data"] == {"levels": ["off"]}
    assert agent.ask("cycle_thinking_level")["data"] is None
    assert agent.ask("get_state")["data"]["thinkingLevel"] == "off"


@pytest.mark.parametrize("kind", ["steering", "follow_up"])
def test_queue_modes_are_checked(pi: Callable[..., Agent], kind: str) -> None:
    agent = pi()
    assert agent.ask(f"set_{kind}_mode", mode="all")["success"]
    field = {"steering": "steeringMode", "follow_up": "followUpMode"}[kind]
    assert agent.ask("get_state")["data"][field] == "all"
    assert not agent.ask(f"set_{kind}_mode", mode="some")["success"]
    assert not agent.ask(f"set_{kind}_mode")["success"]


def test_bash_runs_at_once_and_the_model_hears_of_it_with_the_next_prompt(
    pi: Callable[..., Agent], server: ModelServer
) -> None:
    agent = pi()
    answer = agent.ask("bash", command="echo hi; echo err >&2")
    assert answer["data"] == {"output": "hi\nerr\n", "exitCode": 0, "cancelled": False, "truncated": False}
    assert agent.ask("bash", command="exit 7")["data"]["exitCode"] == 7
    messages = agent.ask("get_messages")["data"]["messages"]
    assert [m["role"] for m in messages] == ["bashExecution"] * 2
    assert messages[0]["command"] == "echo hi; echo err >&2"
    frames = run(agent, "what did I do?")
    assert [m["role"] for m in frames[-1]["messages"]] == ["user", "assistant"]
    sent = json.dumps(server.requests[0].body["messages"])
    assert "Ran `echo hi; echo err >&2`\\n```\\nhi\\nerr\\n```" in sent


def test_bash_that_is_excluded_from_the_context_is_answered_and_kept_but_never_sent(
    pi: Callable[..., Agent], server: ModelServer
) -> None:
    agent = pi("--compact-keep", "1")
    file = agent.ask("get_state")["data"]["sessionFile"]
    answer = agent.ask("bash", command="echo hush-1", excludeFromContext=True)
    assert answer["data"]["output"] == "hush-1\n"
    assert agent.ask("bash", command="echo told", excludeFromContext=False)["success"]
    agent.send({"type": "prompt", "message": "!gate g"})
    agent.until("message_update")
    assert agent.ask("bash", command="echo hush-2", excludeFromContext=True)["success"]
    server.release("g")
    agent.until("agent_end")
    run(agent, "hello")
    assert agent.ask("compact")["success"]
    run(agent, "hello again")
    private = [m for m in map(json.loads, Path(file).read_text().splitlines()) if m["type"] == "message"]
    marked = [m["message"].get("excludeFromContext") for m in private if m["message"]["role"] == "bashExecution"]
    assert marked == [True, None, True]
    with_session = pi("--fork", file)
    run(with_session, "and now?")
    sent = [json.dumps(request.body) for request in server.requests]
    assert len(sent) >= 5
    assert "hush" not in "".join(sent)
    assert "told" in sent[0]


def test_a_bash_command_with_a_wrong_flag_does_not_run(pi: Callable[..., Agent], tmp_path: Path) -> None:
    answer = pi().ask("bash", command="touch ran", excludeFromContext="yes")
    assert answer["error"] == "`excludeFromContext` must be true or false"
    assert not (tmp_path / "work" / "ran").exists()


def test_bash_runs_beside_a_turn_and_waits_to_be_told(pi: Callable[..., Agent], server: ModelServer) -> None:
    agent = pi()
    agent.send({"type": "prompt", "message": "!gate g"})
    agent.until("message_update")
    assert agent.ask("bash", command="echo beside")["data"]["output"] == "beside\n"
    assert len(agent.ask("get_messages")["data"]["messages"]) == 1
    server.release("g")
    agent.until("agent_end")
    roles = [m["role"] for m in agent.ask("get_messages")["data"]["messages"]]
    assert roles == ["user", "assistant", "bashExecution"]


def test_abort_bash_reaches_every_command(pi: Callable[..., Agent], tmp_path: Path) -> None:
    agent = pi()
    for number in (1, 2):
        command = f"sleep 61.5 & echo $! > pid{number}.tmp; mv pid{number}.tmp pid{number}; wait"
        agent.send({"id": number, "type": "bash", "command": command})
    files = [tmp_path / "work" / f"pid{number}" for number in (1, 2)]
    wait_until(lambda: all(file.exists() for file in files))
    agent.send({"id": "a", "type": "abort_bash"})
    frames = [agent.read() for _ in range(3)]
    done = [f for f in frames if f and f["command"] == "bash"]
    assert [f["data"]["cancelled"] for f in done] == [True, True]
    assert [f["data"]["exitCode"] for f in done] == [None, None]
    for file in files:
        wait_until(lambda file=file: not alive(int(file.read_text())))  # type: ignore[misc]


@pytest.mark.parametrize("command", ["seq 1 5000", "head -c 300000 /dev/zero | tr '\\0' z"])
def test_long_output_is_cut_honestly(pi: Callable[..., Agent], command: str) -> None:
    data = pi().ask("bash", command=command)["data"]
    assert data["truncated"] is True
    full = Path(data["fullOutputPath"])
    assert full.read_text().endswith(data["output"])
    assert len(full.read_bytes()) > 20_000
    full.unlink()


@pytest.mark.parametrize("fields", [{}, {"command": ""}, {"command": 5}])
def test_bash_without_a_command_is_refused(pi: Callable[..., Agent], fields: dict[str, Any]) -> None:
    # The wire's field is called `command` in the response too, so the request is spelled out here.
    agent = pi()
    agent.send({"id": "b", "type": "bash", **fields})
    frame = agent.read()
    assert frame is not None
    assert frame["success"] is False
    assert "command" in frame["error"]


def test_a_signal_leaves_no_command_behind(pi: Callable[..., Agent], tmp_path: Path) -> None:
    agent = pi()
    agent.send({"id": 1, "type": "bash", "command": "setsid sleep 61.5 & echo $! > p; mv p pid; wait"})
    wait_until((tmp_path / "work" / "pid").exists)
    pid = int((tmp_path / "work" / "pid").read_text())
    agent.process.terminate()
    assert agent.wait() == 143
    wait_until(lambda: not alive(pid))


@pytest.mark.parametrize("line", [b"null", b"[]", b"5", b"{", b'"x"'])
def test_a_line_that_is_no_command_is_a_parse_error(pi: Callable[..., Agent], line: bytes) -> None:
    agent = pi()
    agent.send_bytes(line + b"\n")
    frame = agent.read()
    assert frame is not None
    assert frame["command"] == "parse"
    assert frame["error"].startswith("Failed to parse command: ")
    assert agent.ask("get_state")["success"]


def test_an_unknown_command_keeps_its_id(pi: Callable[..., Agent]) -> None:
    answer = pi().ask("frobnicate", id={"a": 1})
    assert answer == {
        "id": {"a": 1},
        "type": "response",
        "command": "frobnicate",
        "success": False,
        "error": "Unknown command: frobnicate",
    }


def test_setters_write_nothing_to_disk(pi: Callable[..., Agent], tmp_path: Path) -> None:
    agent = pi("--no-session")
    agent.ask("set_thinking_level", level="low")
    agent.ask("set_steering_mode", mode="all")
    agent.ask("set_auto_retry", enabled=False)
    agent.ask("set_auto_compaction", enabled=False)
    agent.ask("new_session")
    run(agent, "hi")
    agent.end()
    assert not (tmp_path / "work" / ".linnet-home").exists()
    assert list((tmp_path / "work").iterdir()) == []
    assert types(agent.seen)[-1] == "agent_end"


def test_a_command_in_a_folder_that_is_gone_is_refused_with_a_sentence(
    pi: Callable[..., Agent], tmp_path: Path
) -> None:
    folder = tmp_path / "work" / "gone"
    folder.mkdir()
    agent = pi("--cwd", str(folder))
    assert agent.ask("bash", command="true")["success"]
    folder.rmdir()
    answer = agent.ask("bash", command="true")
    assert answer["success"] is False
    assert answer["error"] == f"No such file or directory: {folder}"
    assert agent.stderr == ""
