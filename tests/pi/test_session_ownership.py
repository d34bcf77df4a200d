"""What is set, paid for or run stays with the session it belongs to, and nobody else's session is touched."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.testing.agent import Agent
from linnet.testing.model_server import ModelServer
from linnet.testing.sessions import file_of, run, state
from tests.suite import forked


def test_a_page_does_not_overwrite_a_session(pi: Callable[..., Agent], tmp_path: Path) -> None:
    agent = pi()
    run(agent, "one")
    own, before = file_of(agent), file_of(agent).read_bytes()
    agent.ask("clone")
    for path in (own, file_of(agent)):
        kept = path.read_bytes()
        refused = agent.ask("export_html", outputPath=str(path))
        assert refused["error"] == f"{path} is a session, which a page must not overwrite; give another name"
        assert path.read_bytes() == kept
    done = forked.run(
        [Path(sys.executable).with_name("linnet"), "export", own, "--out", own], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert own.read_bytes() == before


def test_a_model_that_is_set_during_a_run_comes_back(pi: Callable[..., Agent]) -> None:
    agent = pi()
    agent.send({"id": "p", "type": "prompt", "message": "!gate never"})
    agent.until("message_update")
    agent.ask("set_model", provider="anthropic", modelId="claude-opus-4-5")
    agent.send({"type": "abort"})
    agent.until("agent_end")
    file = file_of(agent)
    agent.ask("new_session")
    agent.ask("switch_session", sessionPath=str(file))
    assert state(agent)["model"]["id"] == "claude-opus-4-5"


@pytest.mark.parametrize("before", ["compact", "prompt"])
def test_a_move_does_not_wait_for_what_waits_before_it(pi: Callable[..., Agent], before: str) -> None:
    agent = pi("--compact-keep", "1")
    run(agent, "one")
    run(agent, "two")
    agent.send({"id": "p", "type": "prompt", "message": "!gate never"})
    agent.until("message_update")
    waiting = {"id": "w", "type": before, **({"message": "!gate never"} if before == "prompt" else {})}
    agent.send({"id": "c", "type": "compact"}, waiting, {"id": "n", "type": "new_session"})
    answers = [frame for frame in agent.until(lambda frame: frame.get("id") == "n") if frame["type"] == "response"]
    assert sorted(frame["id"] for frame in answers) == ["c", "n", "w"]
    assert answers[-1]["success"] is True
    assert state(agent)["messageCount"] == 0


def test_what_an_aborted_compaction_cost_is_remembered(pi: Callable[..., Agent]) -> None:
    agent = pi("--compact-keep", "1")
    run(agent, "one")
    run(agent, "!text 5")
    agent.send({"id": "c", "type": "compact"}, {"id": "a", "type": "abort"})
    agent.until(lambda frame: frame.get("id") == "c")
    file, before = file_of(agent), agent.ask("get_session_stats")["data"]
    agent.ask("new_session")
    agent.ask("switch_session", sessionPath=str(file))
    assert agent.ask("get_session_stats")["data"] == before


def test_a_command_that_ends_in_another_session_is_not_told_there(pi: Callable[..., Agent], tmp_path: Path) -> None:
    agent = pi()
    run(agent, "one")
    os.mkfifo(tmp_path / "work" / "go")
    agent.send({"id": "b", "type": "bash", "command": "read line < go; echo secret"})
    assert agent.ask("new_session")["success"] is True
    (tmp_path / "work" / "go").write_text("now\n")
    answer = agent.until(lambda frame: frame.get("id") == "b")[-1]
    assert answer["data"]["output"] == "secret\n"
    assert agent.ask("get_messages")["data"]["messages"] == []
    assert "secret" not in file_of(agent).read_text()


def test_a_link_stays_a_link_and_an_old_session_is_kept_as_it_was(pi: Callable[..., Agent], tmp_path: Path) -> None:
    real, link = tmp_path / "real.jsonl", tmp_path / "link.jsonl"
    header = {"type": "session", "id": "old", "timestamp": "2026-01-01T12:00:00.000Z", "cwd": "/"}
    said = {"type": "message", "timestamp": header["timestamp"], "message": {"role": "user", "content": "one"}}
    real.write_text(f"{json.dumps(header)}\n{json.dumps(said)}\n")
    original = real.read_bytes()
    link.symlink_to(real)
    agent = pi("--session", str(link))
    assert Path(state(agent)["sessionFile"]) == link
    assert link.is_symlink()
    assert (tmp_path / "real.jsonl.v1").read_bytes() == original
    second = pi("--session", str(real))
    assert second.wait() == 1
    assert " is in use by process " in second.stderr


def test_a_session_that_somebody_named_is_found_by_its_id(pi: Callable[..., Agent], tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    agent = pi("--session-dir", str(folder), "--session", str(folder / "mine.jsonl"))
    run(agent, "one")
    id = state(agent)["sessionId"]
    agent.end()
    assert state(pi("--session-dir", str(folder), "--session", id[:8]))["messageCount"] == 2


def test_a_file_may_have_the_longest_name_there_is(pi: Callable[..., Agent], tmp_path: Path) -> None:
    path = tmp_path / ("a" * 249 + ".jsonl")
    assert file_of(pi("--session", str(path))) == path


@pytest.mark.parametrize("name", [b"d\xff", b"long" * 60])
def test_a_folder_with_an_odd_name_is_gone_on_with(spawn: Callable[..., Agent], tmp_path: Path, name: bytes) -> None:
    folder = tmp_path / os.fsdecode(name)
    folder.mkdir()
    flags = ("--mode", "rpc", "--provider", "scripted", "--continue")
    env = {"LINNET_HOME": str(tmp_path / "home")}
    first = spawn(*flags, cwd=folder, env=env)
    run(first, "one")
    id = state(first)["sessionId"]
    first.end()
    assert state(spawn(*flags, cwd=folder, env=env))["sessionId"] == id


def test_confined_what_is_another_projects_is_neither_found_nor_listed(
    pi: Callable[..., Agent], spawn: Callable[..., Agent], tmp_path: Path
) -> None:
    home = {"LINNET_HOME": str(tmp_path / "home")}
    for name in ("a/b", "a-b"):
        (tmp_path / name).mkdir(parents=True)
    other = pi(cwd=tmp_path / "a-b", env=home)
    run(other, "secret")
    theirs = state(other)
    outside = tmp_path / "outside.jsonl"
    outside.write_bytes(Path(theirs["sessionFile"]).read_bytes())
    other.end()
    agent = pi("--confine", cwd=tmp_path / "a" / "b", env=home)
    (file_of(agent).parent / "link.jsonl").symlink_to(outside)
    assert file_of(agent).parent == Path(theirs["sessionFile"]).parent
    assert agent.ask("switch_session", sessionPath=theirs["sessionId"])["success"] is False
    assert agent.ask("switch_session", sessionPath=theirs["sessionFile"])["success"] is False
    for everywhere in (False, True):
        assert "secret" not in json.dumps(agent.ask("list_sessions", all=everywhere))


@pytest.mark.parametrize("words", [("sessions", "--all"), ("export", "{file}", "--out", "-")])
def test_whoever_stops_reading_has_seen_enough(pi: Callable[..., Agent], server: ModelServer, words: list[str]) -> None:
    agent = pi()
    run(agent, "one")
    command = [str(Path(sys.executable).with_name("linnet")), *(word.format(file=file_of(agent)) for word in words)]
    env = {**os.environ, "LINNET_HOME": str(file_of(agent).parents[2])}
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb") as stdout:
        done = forked.run(command, stdout=stdout, stderr=subprocess.PIPE, cwd=file_of(agent).parent, env=env)
    assert (done.returncode, done.stderr) == (1, b"")
    with open("/dev/full", "wb") as stdout:
        full = forked.run(command, stdout=stdout, stderr=subprocess.PIPE, env=env)
    assert (full.returncode, full.stderr) == (1, b"linnet: No space left on device\n")
