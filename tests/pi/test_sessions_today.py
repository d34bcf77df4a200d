"""Session files under the dialects of today's pi: what is in them, and what comes back."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.agent import Agent, Frame
from linnet.testing.model_server import ModelServer
from linnet.testing.sessions import file_of
from tests.pi.test_sessions import lines, said

TODAY = ("--dialect", "pi-1")
today = pytest.mark.parametrize("dialect", ["pi-0.87", "pi-1"])


def run(agent: Agent, message: str) -> list[Frame]:
    agent.send({"id": "p", "type": "prompt", "message": message})
    return agent.until("agent_settled")


def roles(file: Path) -> list[str]:
    return [message["role"] for message in said(lines(file))]


def told(file: Path) -> list[dict[str, Any]]:
    return [message for message in said(lines(file)) if message["role"] == "system"]


@today
def test_a_session_begins_with_what_the_model_is_told(
    pi: Callable[..., Agent], server: ModelServer, dialect: str
) -> None:
    agent = pi("--dialect", dialect, "--tools", "read,bash")
    run(agent, "hi")
    entries = lines(file_of(agent))
    assert [entry["type"] for entry in entries[1:3]] == ["model_change", "thinking_level_change"]
    system, user, reply = said(entries)
    assert [system["role"], user["role"], reply["role"]] == ["system", "user", "assistant"]
    assert system["content"] == ""
    assert {tool["name"] for tool in system["toolsAdded"]} == {"read", "bash"}
    assert list(system["sections"]) == ["preamble", "tools", "cwd"]
    asked = server.requests[-1].body
    assert "\n\n".join(system["sections"].values()) == asked["system"][0]["text"]
    assert [message["role"] for message in asked["messages"]] == ["user"]
    assert isinstance(reply["durationMs"], int)


def test_it_is_told_again_only_if_it_has_changed(pi: Callable[..., Agent], tmp_path: Path) -> None:
    agent = pi(*TODAY)
    file = file_of(agent)
    run(agent, "one")
    run(agent, "two")
    assert len(told(file)) == 1
    (tmp_path / "work" / "AGENTS.md").write_text("Be brief.")
    run(agent, "three")
    assert roles(file)[-3:] == ["system", "user", "assistant"]
    change = told(file)[-1]
    assert list(change["sections"]) == ["project_context"]
    assert "Be brief." in change["sections"]["project_context"]
    assert "toolsAdded" not in change
    (tmp_path / "work" / "AGENTS.md").unlink()
    run(agent, "four")
    assert told(file)[-1]["sections"] == {"project_context": None}


def test_a_session_that_is_opened_again_is_told_what_is_different_there(pi: Callable[..., Agent]) -> None:
    first = pi(*TODAY)
    file = file_of(first)
    run(first, "one")
    first.end()
    again = pi(*TODAY, "--session", str(file))
    run(again, "two")
    assert len(told(file)) == 1
    again.end()
    fewer = pi(*TODAY, "--session", str(file), "--tools", "read")
    run(fewer, "three")
    change = told(file)[-1]
    assert {tool["name"] for tool in change["toolsRemoved"]} >= {"bash", "edit", "write"}


def test_a_file_of_an_earlier_format_is_gone_on_with(pi: Callable[..., Agent]) -> None:
    first = pi()
    file = file_of(first)
    first.send({"id": "p", "type": "prompt", "message": "one"})
    first.until("agent_end")
    first.end()
    before = file.read_bytes()
    assert roles(file) == ["user", "assistant"]
    again = pi(*TODAY, "--session", str(file))
    assert file.read_bytes() == before
    run(again, "two")
    assert file.read_bytes().startswith(before)
    assert roles(file) == ["user", "assistant", "system", "user", "assistant"]


def test_a_failure_that_is_tried_again_is_left_out_by_an_entry(pi: Callable[..., Agent], server: ModelServer) -> None:
    agent = pi(*TODAY)
    file = file_of(agent)
    run(agent, "!fail 529 2")
    entries = lines(file)
    edits = [entry for entry in entries if entry["type"] == "context_edit"]
    failed = [e["id"] for e in entries if e["type"] == "message" and e["message"].get("stopReason") == "error"]
    assert [edit["targetId"] for edit in edits] == failed
    assert all(edit["replacement"] is None for edit in edits)
    assert [entry["parentId"] for entry in entries[2:]] == [entry["id"] for entry in entries[1:-1]]
    agent.end()
    for flags in (TODAY, ()):  # Whoever opens it.
        again = pi(*flags, "--session", str(file))
        kept = [m for m in again.ask("get_messages")["data"]["messages"] if m["role"] == "assistant"]
        assert [message["stopReason"] for message in kept] == ["stop"]
        again.end()
    assert "recovered" in str(lines(file)[-1])


def test_an_overflow_leaves_out_the_failure_and_keeps_the_system_message(pi: Callable[..., Agent]) -> None:
    agent = pi(*TODAY, "--compact-keep", "1")
    file = file_of(agent)
    run(agent, "hi")
    run(agent, "ho")
    run(agent, "!overflow 1")
    kinds = [entry["type"] for entry in lines(file)]
    at = kinds.index("compaction")
    assert kinds[at - 1] == "context_edit"
    compaction = lines(file)[at]
    assert compaction["fromHook"] is False
    assert compaction["usage"]["output"] > 0
    assert compaction["systemMessage"]["sections"] == told(file)[0]["sections"]
    assert compaction["systemMessage"]["toolsAdded"] == told(file)[0]["toolsAdded"]
    live = agent.ask("get_messages")["data"]["messages"]
    agent.end()
    again = pi(*TODAY, "--session", str(file))
    assert again.ask("get_messages")["data"]["messages"] == live
    run(again, "and?")
    assert len(told(file)) == 1


def test_a_tiny_session_is_compacted_for_073_and_not_today(pi: Callable[..., Agent]) -> None:
    agent = pi("--dialect", "pi-0.73")
    agent.send({"id": "p", "type": "prompt", "message": "hi"})
    agent.until("agent_end")
    assert agent.ask("compact")["data"]["summary"].startswith("SUMMARY: scripted")
    assert [m["role"] for m in agent.ask("get_messages")["data"]["messages"]] == [
        "compactionSummary",
        "user",
        "assistant",
    ]
    for flags in (TODAY, ()):
        other = pi(*flags)
        other.send({"id": "p", "type": "prompt", "message": "hi"})
        other.until("agent_end")
        assert other.ask("compact")["error"] == "Nothing to compact (session too small)"


@pytest.mark.parametrize("prompt", ["hi", "!fail 529 1", '!tool bash {"command":"echo hi"}'])
def test_what_was_told_is_in_the_file_when_it_is_killed(pi: Callable[..., Agent], prompt: str) -> None:
    agent = pi(*TODAY)
    file = file_of(agent)
    run(agent, "before")
    agent.send({"id": "p", "type": "prompt", "message": prompt})
    seen = agent.until("agent_end")
    agent.process.send_signal(signal.SIGKILL)
    agent.process.wait()
    ended = [f["message"] for f in seen if f["type"] == "message_end" and f["message"]["role"] != "system"]
    kept = [json.dumps(m.get("content")) for m in said(lines(file))]
    assert [json.dumps(m["content"]) for m in ended] == kept[-len(ended) :]
    again = pi(*TODAY, "--session", str(file))
    assert again.ask("get_messages")["success"]
    run(again, "after")
    assert len(told(file)) == 1


def test_there_is_no_file_before_something_is_said(pi: Callable[..., Agent]) -> None:
    agent = pi(*TODAY)
    file = file_of(agent)
    assert agent.ask("set_session_name", name="mine")["success"]
    assert not file.exists()
    unsaved = "This session has not been saved yet. Send a message before cloning or forking it."
    assert agent.ask("clone")["error"] == agent.ask("fork", entryId="00000000")["error"] == unsaved
    run(agent, "hi")
    kinds = [entry["type"] for entry in lines(file)]
    assert kinds[:4] == ["session", "model_change", "thinking_level_change", "session_info"]
    assert agent.ask("new_session")["success"]
    other = file_of(agent)
    assert other != file
    assert not other.exists()
    agent.end()
    assert file.exists()
    assert not other.exists()


def test_a_command_is_kept_even_if_nothing_else_is_said(pi: Callable[..., Agent]) -> None:
    agent = pi(*TODAY)
    file = file_of(agent)
    assert agent.ask("bash", command="echo hi")["data"]["output"] == "hi\n"
    assert roles(file) == ["bashExecution"]


def test_a_folder_that_cannot_be_written_to_is_told_at_the_start(pi: Callable[..., Agent], tmp_path: Path) -> None:
    (tmp_path / "work").mkdir(exist_ok=True)
    (tmp_path / "taken").write_text("a file")
    agent = pi(*TODAY, env={"LINNET_HOME": str(tmp_path / "taken")})
    assert "sessionFile" not in agent.ask("get_state")["data"]
    assert run(agent, "hi")[-1]["type"] == "agent_settled"


def test_a_folder_that_is_gone_is_made_again(pi: Callable[..., Agent]) -> None:
    agent = pi(*TODAY)
    file = file_of(agent)
    file.parent.rmdir()
    run(agent, "hi")
    assert roles(file) == ["system", "user", "assistant"]
