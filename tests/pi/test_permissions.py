"""Saying no to a tool, over the pi protocol."""

from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.testing.agent import Agent, Frame, types

TOUCH = '!tool bash {"command":"touch ran"}'


def asked(agent: Agent) -> Frame:
    return agent.until("extension_ui_request")[-1]


def answer(agent: Agent, question: Frame, **fields: object) -> None:
    agent.send({"type": "extension_ui_response", "id": question["id"], **fields})


def result(agent: Agent) -> Frame:
    return agent.until("tool_execution_end")[-1]


def folder(agent: Agent) -> Path:
    return Path(f"/proc/{agent.process.pid}/cwd").resolve()


def test_a_command_is_shown_and_runs_once_it_is_allowed(pi: Callable[..., Agent]) -> None:
    agent = pi("--permission", "ask")
    agent.send({"type": "prompt", "message": TOUCH})
    question = asked(agent)
    assert question["method"] == "select"
    assert question["options"] == ["Allow once", "Allow for this session", "Deny"]
    assert "touch ran" in question["title"]
    assert question["permission"]["toolName"] == "bash"
    assert question["permission"]["preview"] == "touch ran"
    assert not (folder(agent) / "ran").exists()
    waiting = agent.ask("get_state")["data"]["waitingFor"]
    asked_again = {name: value for name, value in question.items() if name != "type"}
    assert waiting == [{**asked_again, "kind": "permission", "toolCallId": question["permission"]["toolCallId"]}]
    answer(agent, question, value="Allow once")
    assert result(agent)["isError"] is False
    agent.until("agent_end")
    assert (folder(agent) / "ran").exists()
    assert "waitingFor" not in agent.ask("get_state")["data"]


def test_a_no_is_read_by_the_model_with_its_reason(pi: Callable[..., Agent]) -> None:
    agent = pi("--permission", "ask")
    agent.send({"type": "prompt", "message": TOUCH})
    answer(agent, asked(agent), value="Deny", reason="not on a Friday")
    ended = result(agent)
    assert ended["isError"] is True
    assert "not on a Friday" in ended["result"]["content"][0]["text"]
    assert agent.until("agent_end")[-1]["messages"][-1]["stopReason"] == "stop"
    assert not (folder(agent) / "ran").exists()


def test_a_yes_for_the_session_is_asked_for_once_and_forgotten_in_the_next(pi: Callable[..., Agent]) -> None:
    agent = pi("--permission", "ask")
    agent.send({"type": "prompt", "message": TOUCH})
    answer(agent, asked(agent), value="Allow for this session")
    agent.until("agent_end")
    agent.send({"type": "prompt", "message": TOUCH})
    assert "extension_ui_request" not in types(agent.until("agent_end"))
    agent.ask("new_session")
    agent.send({"type": "prompt", "message": TOUCH})
    answer(agent, asked(agent), confirmed=False)
    agent.until("agent_end")


def test_an_answer_that_does_not_fit_is_refused_and_the_question_stays(pi: Callable[..., Agent]) -> None:
    agent = pi("--permission", "ask")
    agent.send({"type": "prompt", "message": TOUCH})
    question = asked(agent)
    refused = agent.ask("extension_ui_response", question["id"], value="maybe")
    assert refused["success"] is False
    assert "Allow once" in refused["error"]
    assert agent.ask("extension_ui_response", question["id"], value="Deny")["success"] is True
    again = agent.ask("extension_ui_response", question["id"], value="Allow once")
    assert again["success"] is False
    assert "not open" in again["error"]
    assert agent.ask("extension_ui_response", "nobody", value="Deny")["success"] is False
    if "agent_end" not in types(agent.seen):  # It may have come before the last answers.
        agent.until("agent_end")
    assert not (folder(agent) / "ran").exists()


def test_an_abort_while_it_asks_ends_the_run_and_withdraws_the_question(pi: Callable[..., Agent]) -> None:
    agent = pi("--permission", "ask")
    agent.send({"type": "prompt", "message": TOUCH})
    question = asked(agent)
    agent.send({"type": "abort"})
    frames = agent.until("agent_end")
    assert [frame for frame in frames if frame["type"] == "extension_ui_closed"] == [
        {"type": "extension_ui_closed", "id": question["id"], "reason": "withdrawn"}
    ]
    assert agent.ask("extension_ui_response", question["id"], value="Allow once")["success"] is False
    assert not (folder(agent) / "ran").exists()


def test_the_end_of_stdin_is_a_no(pi: Callable[..., Agent]) -> None:
    agent = pi("--permission", "ask")
    agent.send({"type": "prompt", "message": TOUCH})
    asked(agent)
    where = folder(agent)
    frames = agent.end()
    assert types(frames)[-1] == "agent_end"
    assert "nobody allowed" in str(frames)
    assert agent.wait() == 0
    assert not (where / "ran").exists()


def test_no_answer_in_time_is_a_no(pi: Callable[..., Agent]) -> None:
    agent = pi("--permission", "ask", "--question-timeout", "0.05")
    agent.send({"type": "prompt", "message": TOUCH})
    question = asked(agent)
    assert question["timeout"] == 50
    frames = agent.until("agent_end")
    assert {"type": "extension_ui_closed", "id": question["id"], "reason": "expired"} in frames
    assert not (folder(agent) / "ran").exists()


def test_an_edit_shows_its_diff(pi: Callable[..., Agent]) -> None:
    agent = pi("--permission", "ask")
    (folder(agent) / "a.txt").write_text("one\ntwo\n")
    edit = '{"path":"a.txt","edits":[{"oldText":"two","newText":"three"}]}'
    agent.send({"type": "prompt", "message": f"!tool edit {edit}"})
    question = asked(agent)
    assert "-two\n+three" in question["permission"]["preview"]
    answer(agent, question, value="Deny")
    agent.until("agent_end")
    assert (folder(agent) / "a.txt").read_text() == "one\ntwo\n"


@pytest.mark.parametrize(
    ("flags", "ran"),
    [
        (("--permission", "deny"), False),
        (("--permission", "read-only"), False),
        (("--permission", "auto"), True),
        (("--deny", "bash"), False),
        (("--deny", "bash:touch"), False),
        (("--permission", "deny", "--allow", "bash:touch"), True),
        (("--allow", "bash", "--deny", "bash:touch"), False),
        (("--deny", "bash:touch", "--allow", "bash"), True),
    ],
)
def test_rules_decide_without_asking(pi: Callable[..., Agent], flags: tuple[str, ...], ran: bool) -> None:
    agent = pi(*flags)
    agent.send({"type": "prompt", "message": TOUCH})
    assert "extension_ui_request" not in types(agent.until("agent_end"))
    assert (folder(agent) / "ran").exists() is ran


def test_a_rule_about_a_folder_is_not_fooled_by_links_and_dots(pi: Callable[..., Agent]) -> None:
    agent = pi("--permission", "deny", "--allow", "write:src/**")
    where = folder(agent)
    (where / "src").mkdir()
    (where / "src" / "out").symlink_to(where)
    for path, allowed in (("src/a", True), ("src/../b", False), ("src/out/c", False), ("d", False)):
        agent.send({"type": "prompt", "message": f'!tool write {{"path":"{path}","content":"x"}}'})
        agent.until("agent_end")
        assert (where / path).exists() is allowed


def test_a_rule_that_makes_no_sense_is_an_error_at_the_start(pi: Callable[..., Agent]) -> None:
    agent = pi("--allow", ":x")
    assert agent.wait() == 2
    assert "--allow: a rule names a tool" in agent.stderr


def test_of_a_time_limit_the_state_tells_what_is_left(pi: Callable[..., Agent]) -> None:
    agent = pi("--permission", "ask", "--question-timeout", "1000")
    agent.send({"type": "prompt", "message": TOUCH})
    assert asked(agent)["timeout"] == 1_000_000
    (waiting,) = agent.ask("get_state")["data"]["waitingFor"]
    while waiting["timeout"] == 1_000_000:  # Not a millisecond is over yet.
        (waiting,) = agent.ask("get_state")["data"]["waitingFor"]
    assert 0 < waiting["timeout"] < 1_000_000
