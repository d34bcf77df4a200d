"""The example extensions, as their readers would use them."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.agent import Agent, Frame

EXAMPLES = Path(__file__).parents[2] / "examples" / "extensions"


@pytest.fixture
def start(spawn: Callable[..., Agent], tmp_path: Path) -> Callable[..., Agent]:
    def starting(example: str, turns: list[Any], *flags: str) -> Agent:
        script = tmp_path / "script.json"
        script.write_text(json.dumps({"turns": turns, "loop": True}))
        return spawn("--mode", "rpc", "--script", str(script), "-e", str(EXAMPLES / f"{example}.py"), *flags)

    return starting


def call(tool: str, **args: Any) -> list[Any]:
    return [{"call": tool, "args": args}]


def run(agent: Agent, message: str = "go") -> list[Frame]:
    agent.send({"type": "prompt", "message": message})
    return agent.until("agent_end")


def results(frames: list[Frame]) -> list[str]:
    ends = [frame for frame in frames if frame["type"] == "tool_execution_end"]
    return [frame["result"]["content"][0]["text"] for frame in ends]


def shown(frames: list[Frame], method: str, field: str) -> list[Any]:
    return [frame.get(field) for frame in frames if frame.get("method") == method]


def test_the_permission_gate_blocks_asks_and_lets_pass(start: Callable[..., Agent]) -> None:
    agent = start(
        "permission_gate",
        [
            call("bash", command="sudo rm -rf /"),
            call("bash", command="git push"),
            call("write", path=".env", content="x"),
            call("bash", command="echo fine"),
            [{"text": "done"}],
        ],
    )
    agent.send({"type": "prompt", "message": "go"})
    question = agent.until("extension_ui_request")[-1]
    assert (question["method"], question["message"]) == ("confirm", "git push")
    agent.send({"type": "extension_ui_response", "id": question["id"], "confirmed": False})
    agent.until("agent_end")
    assert results(agent.seen) == [
        "This is never run here: sudo rm -rf /",
        "The user said no.",
        ".env is protected. Say what you would change instead.",
        "fine\n",
    ]


def test_the_list_of_things_to_do_survives_branching(start: Callable[..., Agent]) -> None:
    agent = start(
        "todo",
        [
            call("todo", action="add", text="read"),
            [{"text": "added"}],
            call("todo", action="add", text="write"),
            call("todo", action="done", number=1),
            call("todo", action="done", number=7),
            [{"text": "done"}],
        ],
    )
    run(agent, "one")
    frames = run(agent, "two")
    assert results(frames) == [
        "[ ] 1. read\n[ ] 2. write",
        "[x] 1. read\n[ ] 2. write",
        "ValueError: there is no number 7",
    ]
    assert shown(frames, "setWidget", "widgetLines")[-1] == ["[x] 1. read", "[ ] 2. write"]
    second = agent.ask("get_branch_messages")["data"]["messages"][1]["entryId"]
    agent.ask("branch", entryId=second)
    agent.ask("prompt", message="/todo")
    assert shown(agent.seen, "notify", "message") == ["[ ] 1. read"]


def test_files_are_put_back_as_they_were_before_the_last_change(start: Callable[..., Agent], tmp_path: Path) -> None:
    agent = start(
        "git_checkpoint",
        [
            call("write", path="a.txt", content="two"),
            [{"text": "done"}],
            call("write", path="a.txt", content="three"),
            [{"text": "done"}],
        ],
    )
    work = tmp_path / "work"
    (work / "a.txt").write_text("one")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["git", "init", "-q"], ["git", "add", "a.txt"], [*git, "commit", "-qm", "one"]):
        subprocess.run(command, cwd=work, check=True)
    for key, value in (("user.name", "a"), ("user.email", "a@example.org")):
        subprocess.run(["git", "config", key, value], cwd=work, check=True)
    run(agent)
    run(agent)
    assert (work / "a.txt").read_text() == "three"
    for left in ("two", "one"):
        agent.ask("prompt", message="/undo")
        assert (work / "a.txt").read_text() == left
    agent.ask("prompt", message="/undo")
    assert shown(agent.seen, "notify", "message")[-1] == "There is no checkpoint."


def test_a_compaction_without_a_model(start: Callable[..., Agent]) -> None:
    agent = start("short_compaction", [[{"text": "an answer"}]], "--compact-keep", "1")
    run(agent, "first")
    run(agent, "second")
    summary = agent.ask("compact")["data"]["summary"]
    assert summary == "The user asked for:\n- first\n- second\n\nLast answer:\nan answer"


def test_a_command_with_arguments_speaks_to_the_agent(start: Callable[..., Agent], tmp_path: Path) -> None:
    agent = start("review", [[{"text": "looks fine"}]], "--strict")
    work = tmp_path / "work"
    agent.ask("prompt", message="/review nosuch")
    assert "nosuch" in shown(agent.seen, "notify", "message")[0] or "git" in shown(agent.seen, "notify", "message")[0]
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    (work / "a b.txt").write_text("one\n")
    for command in (["git", "init", "-q"], ["git", "add", "."], [*git, "commit", "-qm", "one"]):
        subprocess.run(command, cwd=work, check=True)
    agent.ask("prompt", message="/review")
    assert shown(agent.seen, "notify", "message")[-1] == "Nothing has changed since HEAD."
    (work / "a b.txt").write_text("two\n")
    agent.send({"type": "prompt", "message": "/review HEAD 'a b.txt'"})
    frames = agent.until("agent_end")
    asked = next(frame["message"] for frame in frames if frame["type"] == "message_start")
    assert asked["content"][0]["text"].startswith(
        "Review the changes since HEAD, and say what is wrong. Point out style"
    )


def test_the_status_line_says_what_goes_on(start: Callable[..., Agent]) -> None:
    agent = start("status_line", [call("bash", command="true"), [{"text": "done"}]])
    run(agent)
    agent.until(lambda frame: str(frame.get("statusText", "")).startswith("end, $"))
    assert shown(agent.seen, "setStatus", "statusText") == [
        "ready",
        "step 1: thinking",
        "running bash",
        "step 2: thinking",
        "end, $0.00",
    ]


def test_every_example_is_listed_and_run() -> None:
    listed = (EXAMPLES / "README.md").read_text()
    for path in EXAMPLES.glob("*.py"):
        assert f"[{path.name}]" in listed
        assert f'"{path.stem}"' in Path(__file__).read_text()
