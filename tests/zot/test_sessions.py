"""Sessions under the zot protocol: off unless asked for, and then the conversation comes back."""

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.testing.agent import Agent, Frame, types
from linnet.testing.model_server import ModelServer


def lines(file: str | Path) -> list[Frame]:
    return [json.loads(line) for line in Path(file).read_text("utf-8").splitlines()]


def said(file: str | Path) -> list[str]:
    return [line["message"]["role"] for line in lines(file) if line["type"] == "message"]


def messages(agent: Agent) -> list[Frame]:
    told: list[Frame] = agent.ask("get_messages")["data"]["messages"]
    return told


def state(agent: Agent) -> Frame:
    told: Frame = agent.ask("get_state")["data"]
    return told


@pytest.mark.parametrize("flags", [(), ("--no-session",), ("--session-dir", "kept")])
def test_there_is_no_file_unless_somebody_asks(
    zot: Callable[..., Agent], tmp_path: Path, flags: tuple[str, ...]
) -> None:
    agent = zot(*flags)
    agent.prompt("hi")
    agent.ask("clear")
    agent.prompt("hi")
    assert "session_file" not in state(agent)
    agent.end()
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.parametrize("flags", [("--session", "mine.jsonl"), ("--continue",)])
def test_the_conversation_comes_back(zot: Callable[..., Agent], server: ModelServer, flags: tuple[str, ...]) -> None:
    agent = zot(*flags)
    file = state(agent)["session_file"]
    assert lines(file)[0]["type"] == "session"
    agent.prompt('!tools [["bash",{"command":"echo hi"}],["nosuch",{}]]')
    agent.prompt("!think")
    before, then = messages(agent), state(agent)
    agent.end()
    agent.wait()
    again = zot(*flags)
    assert messages(again) == before
    assert state(again) == then
    assert then["session_file"] == file
    again.prompt("and now?")
    assert len(server.requests[-1].body["messages"]) == 7
    assert said(file)[-2:] == ["user", "assistant"]


def test_what_was_printed_is_in_the_file_already(zot: Callable[..., Agent]) -> None:
    agent = zot("--session", "mine.jsonl")
    file = state(agent)["session_file"]
    agent.send({"type": "prompt", "message": '!tool bash {"command":"echo hi"}'})
    counted = {"user_message": "user", "assistant_message": "assistant", "tool_result": "toolResult"}
    seen: list[str] = []
    while (frame := agent.read()) is not None and frame["type"] != "done":
        if frame["type"] in counted:
            seen.append(counted[frame["type"]])
            assert said(file)[: len(seen)] == seen
    assert seen == ["user", "assistant", "toolResult", "assistant"]


def test_clearing_is_remembered(zot: Callable[..., Agent], server: ModelServer) -> None:
    agent = zot("--session", "mine.jsonl")
    agent.prompt("one")
    assert agent.ask("clear")["success"]
    spent = state(agent)["usage"]
    agent.end()
    agent.wait()
    again = zot("--session", "mine.jsonl")
    assert messages(again) == []
    assert state(again)["usage"] == spent
    again.prompt("two")
    assert [message["role"] for message in server.requests[-1].body["messages"]] == ["user"]
    again.end()
    again.wait()
    last = zot("--session", "mine.jsonl")
    assert messages(last)[0]["content"][0]["text"] == "two"
    assert said(state(last)["session_file"]) == ["user", "assistant"] * 2  # Nothing is ever taken out of a file.


def test_a_run_that_was_cleared_away_leaves_no_trace(zot: Callable[..., Agent], server: ModelServer) -> None:
    agent = zot("--session", "mine.jsonl")
    agent.send({"type": "prompt", "message": "!gate g"})
    agent.until("text_delta")
    agent.ask("clear")
    server.release("g")
    agent.until("done")
    file = state(agent)["session_file"]
    assert said(file) == ["user"]
    agent.prompt("afresh")
    agent.end()
    agent.wait()
    assert [message["role"] for message in messages(zot("--session", "mine.jsonl"))] == ["user", "assistant"]


def test_a_compaction_comes_back(zot: Callable[..., Agent], server: ModelServer) -> None:
    agent = zot("--session", "mine.jsonl")
    for number in range(8):
        agent.prompt(f"prompt {number}")
    agent.send({"type": "compact"})
    agent.until("compact_done")
    before = messages(agent)
    agent.end()
    agent.wait()
    again = zot("--session", "mine.jsonl")
    assert [message["content"] for message in messages(again)] == [message["content"] for message in before]
    assert len(before) < 16
    again.prompt("and now?")
    assert "SUMMARY: scripted" in json.dumps(server.requests[-1].body["messages"][0])


def test_the_model_comes_back(zot: Callable[..., Agent]) -> None:
    agent = zot("--session", "mine.jsonl")
    assert agent.ask("set_model", model="claude-opus-4-5")["success"]
    agent.end()
    agent.wait()
    assert state(zot("--session", "mine.jsonl"))["model"] == "claude-opus-4-5"


def test_what_cannot_be_saved_is_told_once_and_the_run_goes_on(zot: Callable[..., Agent]) -> None:
    agent = zot("--session", "mine.jsonl")
    file = Path(state(agent)["session_file"])
    file.unlink()
    frames = agent.prompt('!tool bash {"command":"echo hi"}') + agent.prompt("again")
    (failure,) = [frame for frame in frames if frame["type"] == "session_error"]
    why = f"{file} was deleted; the conversation goes on, but is not saved there any more"
    assert failure == {"type": "session_error", "session_file": str(file), "message": why}
    assert types(frames).count("done") == 2
    assert not file.exists()
    assert len(messages(agent)) == 6


def test_a_session_that_another_process_has_is_refused(zot: Callable[..., Agent]) -> None:
    first = zot("--session", "mine.jsonl")
    state(first)
    second = zot("--session", "mine.jsonl")
    assert second.read() is None
    assert second.wait() == 1
    assert f"is in use by process {first.process.pid}" in second.stderr
    first.signal(signal.SIGKILL)
    first.wait()
    assert state(zot("--session", "mine.jsonl"))["message_count"] == 0


def test_a_session_of_one_protocol_is_one_of_the_other(zot: Callable[..., Agent], pi: Callable[..., Agent]) -> None:
    agent = zot("--session", "mine.jsonl")
    agent.prompt("one")
    agent.end()
    agent.wait()
    other = pi("--session", "mine.jsonl")
    assert other.ask("get_state")["data"]["messageCount"] == 2
    other.send({"type": "prompt", "message": "two"})
    other.until("agent_end")
    other.end()
    other.wait()
    assert len(messages(zot("--continue", "--session-dir", "."))) == 4


def test_whoever_asks_for_a_session_where_none_can_be_gets_no_other(zot: Callable[..., Agent], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    agent = zot("--continue", "--session-dir", str(tmp_path / "file" / "in"))
    assert agent.wait() == 1
    assert agent.stderr.endswith(" could not be made: Not a directory\n")


def test_what_was_set_outlives_a_clear(zot: Callable[..., Agent]) -> None:
    agent = zot("--session", "mine.jsonl", "--reasoning", "high")
    agent.ask("set_model", model="claude-opus-4-5")
    agent.prompt("hi")
    agent.ask("clear")
    agent.end()
    agent.wait()
    again = zot("--session", "mine.jsonl")
    assert (state(again)["model"], messages(again)) == ("claude-opus-4-5", [])
    assert lines("/".join((str(state(again)["cwd"]), "mine.jsonl")))[-1]["thinkingLevel"] == "high"


def test_a_run_that_a_clear_let_go_of_is_paid_for_all_the_same(zot: Callable[..., Agent], server: ModelServer) -> None:
    agent = zot("--session", "mine.jsonl")
    agent.send({"id": "p", "type": "prompt", "message": "!gate g"})
    agent.until("text_delta")
    agent.ask("clear")
    server.release("g")
    agent.until("done")
    spent = state(agent)["usage"]
    assert spent["input"] > 0
    agent.end()
    agent.wait()
    again = zot("--session", "mine.jsonl")
    assert (state(again)["usage"], messages(again)) == (spent, [])
