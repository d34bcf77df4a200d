"""Without session files: nothing is written anywhere, and all of it works in memory."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.testing.agent import Agent, Frame
from linnet.testing.sessions import run, state

HELLO = "Hello from the scripted model."


def texts(agent: Agent) -> list[str]:
    told: list[Frame] = agent.ask("get_messages")["data"]["messages"]
    return [message["content"][0]["text"] for message in told]


def prompts(agent: Agent) -> dict[str, str]:
    return {each["text"]: each["entryId"] for each in agent.ask("get_branch_messages")["data"]["messages"]}


def contents(root: Path) -> dict[str, str]:
    """Everything below it, by name: what it is, what is in it, and when it was changed."""
    found = {}
    for path in sorted(root.rglob("*")):
        about = path.lstat()
        told = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path.relative_to(root))] = f"{about.st_mode:o} {about.st_mtime_ns} {told}"
    return found


@pytest.fixture
def saved(pi: Callable[..., Agent], tmp_path: Path) -> str:
    """A session that somebody else has on disk."""
    agent = pi("--session", str(tmp_path / "saved.jsonl"), env={"LINNET_HOME": str(tmp_path / "another")})
    run(agent, "saved before")
    agent.ask("set_session_name", name="theirs")
    agent.end()
    return str(tmp_path / "saved.jsonl")


@pytest.fixture
def agent(pi: Callable[..., Agent], saved: str, tmp_path: Path) -> Agent:
    env = {"LINNET_HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "tmp"), "HOME": str(tmp_path / "user")}
    for name in ("home", "tmp", "user"):
        (tmp_path / name).mkdir()
    return pi("--no-session", env=env)


def test_nothing_is_written_anywhere_whatever_is_asked_for(agent: Agent, saved: str, tmp_path: Path) -> None:
    before = contents(tmp_path)
    run(agent, "one")
    run(agent, "two")
    assert agent.ask("set_session_name", name="mine")["success"]
    assert agent.ask("branch", entryId=prompts(agent)["two"])["success"]
    run(agent, "three")
    assert agent.ask("clone")["success"]
    assert agent.ask("navigate", entryId=prompts(agent)["one"])["success"]
    run(agent, "four")
    assert agent.ask("switch_session", sessionPath=saved)["success"]
    run(agent, "five")
    assert agent.ask("navigate", entryId=None)["success"]
    assert agent.ask("new_session", parentSession=saved)["success"]
    run(agent, "six")
    assert agent.ask("export_html")["error"] == "Cannot export in-memory session to HTML"
    assert "sessionFile" not in state(agent)
    assert agent.ask("list_sessions", all=True)["data"] == {"sessions": []}
    agent.end()
    assert agent.wait() == 0
    assert contents(tmp_path) == before


def test_a_session_is_only_read_and_may_be_in_use(agent: Agent, pi: Callable[..., Agent], saved: str) -> None:
    writer = pi("--session", saved)
    state(writer)
    before = Path(saved).read_bytes()
    assert agent.ask("switch_session", sessionPath=saved)["success"]
    told = state(agent)
    assert (told["sessionName"], told["messageCount"]) == ("theirs", 2)
    assert "sessionFile" not in told
    run(agent, "and then")
    assert texts(agent) == ["saved before", HELLO, "and then", HELLO]
    assert Path(saved).read_bytes() == before


def test_branches_trees_and_moves_work_in_memory(agent: Agent) -> None:
    run(agent, "one")
    run(agent, "two")
    first = state(agent)["sessionId"]
    entries = prompts(agent)
    assert list(entries) == ["one", "two"]
    assert agent.ask("branch", entryId=entries["two"])["data"] == {"text": "two", "cancelled": False}
    assert state(agent)["sessionId"] != first
    assert texts(agent) == ["one", HELLO]
    run(agent, "other")
    assert agent.ask("navigate", entryId=entries["one"])["success"]
    assert texts(agent) == ["one"]
    tree = agent.ask("get_tree")["data"]
    assert tree["leafId"] == entries["one"]
    assert [node.get("text") for node in tree["nodes"]][2:] == ["one", HELLO, "other", HELLO]
    assert [entry["type"] for entry in agent.ask("get_entries")["data"]["entries"]][:3] == [
        "model_change",
        "thinking_level_change",
        "message",
    ]
    agent.ask("set_session_name", name="in memory")
    assert state(agent)["sessionName"] == "in memory"


def test_branching_from_the_first_message_loses_nothing(agent: Agent) -> None:
    run(agent, "one")
    agent.ask("branch", entryId=prompts(agent)["one"])
    run(agent, "instead")
    assert texts(agent) == ["instead", HELLO]


def test_a_copy_of_a_session_can_be_worked_on_in_memory(pi: Callable[..., Agent], saved: str, tmp_path: Path) -> None:
    agent = pi("--no-session", "--fork", saved)
    assert texts(agent) == ["saved before", HELLO]
    before = contents(tmp_path)
    run(agent, "more")
    agent.end()
    assert contents(tmp_path) == before
