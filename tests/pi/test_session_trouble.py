"""What a session must withstand: other processes, sudden death, full disks, and files that change under it."""

import json
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from linnet.testing.agent import Agent, Frame, types
from linnet.testing.model_server import ModelServer
from linnet.testing.sessions import file_of, run, state

HELLO = "Hello from the scripted model."


def messages(agent: Agent) -> list[Frame]:
    told: list[Frame] = agent.ask("get_messages")["data"]["messages"]
    return told


def lines(file: Path) -> list[Frame]:
    text = file.read_text("utf-8")
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def said(file: Path) -> list[Frame]:
    return [line["message"] for line in lines(file) if line["type"] == "message"]


def failures(frames: list[Frame]) -> list[Frame]:
    return [frame for frame in frames if frame["type"] == "session_error"]


def files_of(agent: Agent, *, at_most: int) -> None:
    """As if the disk were full there."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.prlimit(agent.process.pid, resource.RLIMIT_FSIZE, (at_most, hard))


def keep_busy(agent: Agent) -> None:
    """With a run that does not end by itself."""
    agent.send({"type": "prompt", "message": "!gate never"})
    agent.until("message_update")


def test_a_second_process_is_refused_and_told_who_has_the_session(pi: Callable[..., Agent]) -> None:
    first = pi()
    run(first, "one")
    file = file_of(first)
    before = file.read_bytes()
    second = pi("--session", str(file))
    assert second.read() is None
    assert second.wait() == 1
    pid = first.process.pid
    assert second.stderr == f"linnet: {file} is in use by process {pid}; end that one first, or work on a copy\n"
    assert file.read_bytes() == before
    run(first, "two")
    assert len(said(file)) == 4


def test_a_copy_of_a_session_in_use_can_be_gone_on_with(pi: Callable[..., Agent]) -> None:
    first = pi()
    run(first, "one")
    second = pi("--fork", str(file_of(first)))
    assert messages(second) == messages(first)
    run(second, "two")
    run(first, "three")
    assert [len(messages(agent)) for agent in (first, second)] == [4, 4]


def test_switching_to_a_session_of_another_process_is_refused_and_ends_nothing(
    pi: Callable[..., Agent], server: ModelServer
) -> None:
    first, second = pi(), pi()
    run(first, "one")
    theirs = file_of(first)
    second.send({"type": "prompt", "message": "!gate g"})
    second.until("message_update")
    refused = second.ask("switch_session", sessionPath=str(theirs))
    assert refused["success"] is False
    assert f"is in use by process {first.process.pid}" in refused["error"]
    server.release("g")
    assert second.until("agent_end")[-1]["messages"][-1]["stopReason"] == "stop"
    first.end()
    first.wait()
    assert second.ask("switch_session", sessionPath=str(theirs))["success"]


def test_a_process_that_was_killed_holds_up_nobody(pi: Callable[..., Agent], tmp_path: Path) -> None:
    first = pi()
    first.send({"type": "prompt", "message": '!tool bash {"command":"echo here; sleep 60"}'})
    first.until("tool_execution_update")
    file = file_of(first)
    first.signal(signal.SIGKILL)
    first.wait()
    second = pi("--session", str(file))
    assert [message["role"] for message in messages(second)] == ["user", "assistant"]
    assert run(second, "and now?")[-1]["messages"][-1]["stopReason"] == "stop"
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_process_that_is_told_to_stop_saves_how_it_ended(pi: Callable[..., Agent]) -> None:
    agent = pi()
    keep_busy(agent)
    file = file_of(agent)
    agent.signal(signal.SIGTERM)
    assert agent.wait() == 128 + signal.SIGTERM
    assert [message.get("stopReason") for message in said(file)] == [None, "aborted"]


PROMPTS = [
    "!text 200",
    "!think",
    '!loop 4 bash {"command":"echo hi"}',
    '!tools [["bash",{"command":"true"}],["no",{}]]',
]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.chaos) for seed in range(1, 16))])
def test_whatever_was_told_survives_sudden_death(pi: Callable[..., Agent], tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    file = tmp_path / "work" / "it.jsonl"
    told: list[Frame] = []
    for _ in range(8):
        agent = pi("--session", str(file))
        agent.send(*({"type": "follow_up", "message": random.choice(PROMPTS)} for _ in range(3)))
        for _ in range(random.randrange(1, 250)):
            frame = agent.read()
            assert frame is not None
            if frame["type"] == "message_end":
                told.append(frame["message"])
            if frame["type"] == "agent_end":
                break
        agent.signal(signal.SIGKILL)
        agent.wait()
    again = pi("--session", str(file))
    kept = iter(messages(again))
    assert told
    assert all(message in kept for message in told)  # In their order: `in` takes what it passes over.
    assert run(again, "and now?")[-1]["messages"][-1]["stopReason"] == "stop"
    entries = lines(file)[1:]
    assert [entry["parentId"] for entry in entries] == [None, *(entry["id"] for entry in entries[:-1])]


def test_a_torn_last_line_is_set_aside(pi: Callable[..., Agent]) -> None:
    agent = pi()
    run(agent, "one")
    file, before = file_of(agent), messages(agent)
    agent.end()
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"type":"message","id":"0000000a","par')
    again = pi("--session", str(file))
    assert messages(again) == before
    run(again, "two")
    assert file.read_bytes().startswith(whole)
    assert len(said(file)) == 4
    assert file.with_name(f"{file.name}.torn").read_bytes() == b'{"type":"message","id":"0000000a","par\n'


def test_a_folder_that_cannot_be_written_to_is_told_and_stops_nothing(pi: Callable[..., Agent], tmp_path: Path) -> None:
    obstacle = tmp_path / "a file"
    obstacle.write_text("x")
    folder = obstacle / "sessions"
    agent = pi("--session-dir", str(folder))
    told = state(agent)
    assert "sessionFile" not in told
    assert told["sessionError"].startswith(f"{folder}/")
    assert told["sessionError"].endswith("could not be made: Not a directory")
    assert agent.stderr == f"linnet: this session is not saved: {told['sessionError']}\n"
    run(agent, "one")
    assert [message["role"] for message in messages(agent)] == ["user", "assistant"]
    assert state(agent)["sessionError"] == told["sessionError"]
    assert not failures(agent.seen)
    assert agent.ask("new_session")["success"]
    assert "could not be made: Not a directory" in state(agent)["sessionError"]
    assert messages(agent) == []
    run(agent, "two")
    obstacle.unlink()
    assert agent.ask("clone")["success"]
    assert said(file_of(agent)) == messages(agent)
    assert len(messages(agent)) == 2
    assert "sessionError" not in state(agent)


def deleted(file: Path) -> bytes | None:
    file.unlink()
    return None


def replaced(file: Path) -> bytes:
    other = file.with_name("other")
    other.write_bytes(b'{"type":"session","version":3,"id":"other"}\n')
    other.rename(file)
    return file.read_bytes()


def cut(file: Path) -> bytes:
    data = file.read_bytes()
    os.truncate(file, len(data) - 10)
    return data[:-10]


def emptied(file: Path) -> bytes:
    os.truncate(file, 0)
    return b""


def added_to(file: Path) -> bytes:
    with file.open("ab") as out:
        out.write(b'{"type":"custom","id":"ours","parentId":null}\n')
    return file.read_bytes()


DAMAGES: dict[Callable[[Path], bytes | None], str] = {
    deleted: "was deleted",
    replaced: "was replaced by another file",
    cut: "was cut short by another program",
    emptied: "was cut short by another program",
    added_to: "was written to by another program",
}
every_damage = pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)


@every_damage
def test_a_file_that_changes_during_a_run_is_left_alone_and_the_run_goes_on(
    pi: Callable[..., Agent], server: ModelServer, damage: Callable[[Path], bytes | None]
) -> None:
    agent = pi()
    run(agent, "one")
    file = file_of(agent)
    agent.send({"type": "prompt", "message": "!gate g"})
    agent.until("message_update")
    left = damage(file)
    server.release("g")
    frames = agent.until("agent_end")
    (failure,) = failures(frames)
    why = f"{file} {DAMAGES[damage]}; the conversation goes on, but is not saved there any more"
    assert failure == {"type": "session_error", "sessionFile": str(file), "error": why}
    assert types(frames).index("session_error") < types(frames).index("message_end")
    assert frames[-1]["messages"][-1]["stopReason"] == "stop"
    assert state(agent)["sessionError"] == why
    assert not failures(run(agent, "three"))
    assert [message["role"] for message in messages(agent)] == ["user", "assistant"] * 3
    assert (file.read_bytes() if file.exists() else None) == left
    assert agent.end() == []
    assert agent.wait() == 0
    assert (file.read_bytes() if file.exists() else None) == left


@pytest.mark.parametrize("damage", [deleted, replaced, added_to])
def test_what_cannot_be_saved_there_any_more_can_be_saved_elsewhere(
    pi: Callable[..., Agent], damage: Callable[[Path], bytes | None]
) -> None:
    agent = pi()
    run(agent, "one")
    file = file_of(agent)
    left = damage(file)
    run(agent, "two")
    before = messages(agent)
    assert agent.ask("clone")["success"]
    saved = file_of(agent)
    assert saved != file
    assert "sessionError" not in state(agent)
    assert messages(agent) == said(saved) == before
    run(agent, "three")
    assert said(saved) == messages(agent)
    assert (file.read_bytes() if file.exists() else None) == left
    agent.end()
    assert messages(pi("--session", str(saved))) == said(saved)


@pytest.mark.parametrize("damage", [cut, emptied])
def test_what_would_need_the_part_that_was_cut_off_is_refused(
    pi: Callable[..., Agent], damage: Callable[[Path], bytes | None]
) -> None:
    agent = pi()
    run(agent, "one")
    file = file_of(agent)
    damage(file)
    run(agent, "two")
    before = state(agent)
    for command in ("clone", "get_tree", "get_entries", "export_html"):
        refused = agent.ask(command)
        assert refused["success"] is False
        assert refused["error"] == f"{file} was cut short by another program"
    assert state(agent) == before
    assert [message["role"] for message in messages(agent)] == ["user", "assistant"] * 2
    assert agent.ask("new_session")["success"]
    run(agent, "three")
    assert said(file_of(agent)) == messages(agent)
    assert sorted(path.name for path in file.parent.iterdir()) == sorted([file.name, file_of(agent).name])


@every_damage
def test_a_name_or_a_move_that_cannot_be_saved_changes_nothing(
    pi: Callable[..., Agent], damage: Callable[[Path], bytes | None]
) -> None:
    agent = pi()
    run(agent, "one")
    leaf = agent.ask("get_tree")["data"]["nodes"][0]["id"]
    damage(file_of(agent))
    for refused in (agent.ask("set_session_name", name="mine"), agent.ask("navigate", entryId=leaf)):
        assert refused["success"] is False
        assert DAMAGES[damage] in refused["error"]
    assert "session_info_changed" not in types(agent.seen)
    assert "sessionName" not in state(agent)
    assert state(agent)["messageCount"] == 2


@every_damage
def test_another_session_can_be_gone_to_from_one_that_was_lost(
    pi: Callable[..., Agent], damage: Callable[[Path], bytes | None]
) -> None:
    agent = pi()
    run(agent, "one")
    one = file_of(agent)
    agent.ask("new_session")
    damage(file_of(agent))
    assert agent.ask("switch_session", sessionPath=str(one))["success"]
    assert "sessionError" not in state(agent)
    run(agent, "two")
    assert said(one) == messages(agent)


def test_what_does_not_fit_on_the_disk_waits_until_it_does(pi: Callable[..., Agent]) -> None:
    agent = pi()
    run(agent, "one")
    file = file_of(agent)
    before = file.read_bytes()

    files_of(agent, at_most=len(before) + 100)
    (failure,) = failures(run(agent, "two"))
    assert failure["error"] == f"{file} could not be written to: No space left on device"
    assert state(agent)["sessionError"].startswith(str(file))
    assert file.read_bytes() == before
    refused = agent.ask("set_session_name", name="mine")
    assert refused["success"] is False
    assert agent.ask("new_session")["error"] == failure["error"]  # What is not saved yet is not left behind.
    assert len(messages(agent)) == 4

    files_of(agent, at_most=resource.RLIM_INFINITY)
    assert not failures(run(agent, "three"))
    assert "sessionError" not in state(agent)
    assert said(file) == messages(agent)
    assert len(said(file)) == 6
    assert agent.ask("new_session")["success"] is True


def test_a_disk_that_is_full_at_the_start_is_no_reason_not_to_start(pi: Callable[..., Agent], tmp_path: Path) -> None:
    """Not even if what is said about it goes to that disk too, as stderr does here."""
    _, hard = limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        agent = pi("--session-dir", "sessions")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    told = state(agent)
    assert "could not be made" in told["sessionError"]
    assert agent.stderr == "linnet: th"
    run(agent, "one")
    assert len(messages(agent)) == 2
    assert list((tmp_path / "work" / "sessions").iterdir()) == []


def test_a_session_of_an_earlier_version_is_brought_up_to_date_and_the_original_kept(
    pi: Callable[..., Agent], tmp_path: Path
) -> None:
    file = tmp_path / "work" / "old.jsonl"
    user: dict[str, Any] = {"role": "user", "content": "hi", "timestamp": 1}
    old = [
        {"type": "session", "id": "old", "timestamp": "2025-01-01T00:00:00.000Z", "cwd": "/x"},
        {"type": "message", "timestamp": "2025-01-01T00:00:00.000Z", "message": user},
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in old))
    agent = pi("--session", str(file))
    assert [message["role"] for message in messages(agent)] == ["user"]
    assert lines(file)[0]["version"] == 3
    assert lines(file.with_name("old.jsonl.v1")) == old
    run(agent, "go on")
    assert len(said(file)) == 3


def test_a_move_that_waits_does_not_leave_behind_what_could_not_be_saved_meanwhile(pi: Callable[..., Agent]) -> None:
    agent = pi()
    run(agent, "one")
    one = file_of(agent)
    agent.ask("new_session")
    keep_busy(agent)
    file = file_of(agent)
    files_of(agent, at_most=file.stat().st_size + 20)
    agent.send({"id": "m", "type": "switch_session", "sessionPath": str(one)})
    frames = agent.until(lambda frame: frame.get("id") == "m")
    assert types(frames)[-2:] == ["agent_end", "response"]
    assert frames[-1]["error"] == f"{file} could not be written to: No space left on device"
    assert state(agent)["sessionFile"] == str(file)
    files_of(agent, at_most=resource.RLIM_INFINITY)
    assert agent.ask("switch_session", sessionPath=str(one))["success"] is True
    assert [message["role"] for message in said(file)] == ["user", "assistant"]
    assert said(file)[-1]["stopReason"] == "aborted"


def test_what_has_waited_is_saved_with_a_name_too(pi: Callable[..., Agent]) -> None:
    agent = pi()
    run(agent, "one")
    file = file_of(agent)
    files_of(agent, at_most=file.stat().st_size + 20)
    assert failures(run(agent, "two"))
    files_of(agent, at_most=resource.RLIM_INFINITY)
    assert agent.ask("set_session_name", name="mine")["success"] is True
    assert "sessionError" not in state(agent)
    assert said(file) == messages(agent)


def test_nobody_waits_for_room_in_a_file_that_is_gone(pi: Callable[..., Agent]) -> None:
    agent = pi()
    run(agent, "one")
    file = file_of(agent)
    files_of(agent, at_most=file.stat().st_size + 20)
    assert failures(run(agent, "two"))
    file.unlink()
    files_of(agent, at_most=resource.RLIM_INFINITY)
    agent.send({"id": "n", "type": "new_session"})
    told, answer = agent.until(lambda frame: frame.get("id") == "n")
    assert told["error"].startswith(f"{file} was deleted;")
    assert answer["success"] is True


def test_a_session_whose_model_has_no_usable_key_is_opened_all_the_same(
    pi: Callable[..., Agent], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "auth.json").write_text("{}")
    (home / "auth.json").chmod(0o644)
    agent = pi("--session-dir", "sessions", env={"LINNET_HOME": str(home)})
    run(agent, "one")
    file = file_of(agent)
    text = file.read_text("utf-8").replace('"anthropic"', '"openai"').replace("claude-sonnet-4-5", "gpt-5")
    other = file.with_name("other.jsonl")
    other.write_text(text, "utf-8")
    answer = agent.ask("switch_session", sessionPath=str(other))
    assert answer["success"] is True
    warning = answer["data"]["warning"]
    assert warning.startswith("the session's model openai/gpt-5 cannot be used here (")
    assert "chmod 600" in warning
    assert warning.endswith("going on with anthropic/claude-sonnet-4-5")
    assert state(agent)["sessionFile"] == str(other)
    run(agent, "two")
    assert said(other) == messages(agent)
    assert len(said(other)) == 4


def test_a_command_that_was_answered_during_a_run_survives_sudden_death(pi: Callable[..., Agent]) -> None:
    agent = pi()
    keep_busy(agent)
    assert agent.ask("bash", command="echo precious")["success"] is True
    file = file_of(agent)
    agent.process.kill()
    agent.process.wait()
    again = pi("--session", str(file))
    told = messages(again)
    assert [message["role"] for message in told] == ["user", "bashExecution"]
    assert told[1]["output"] == "precious\n"
    run(again, "what did it print?")
    assert said(file) == messages(again)


def test_a_command_that_was_answered_during_a_run_is_said_once(pi: Callable[..., Agent]) -> None:
    agent = pi()
    agent.send({"type": "prompt", "message": "!gate open"})
    agent.until("message_update")
    agent.ask("bash", command="echo precious")
    agent.ask("abort")
    agent.until("agent_end")
    roles = ["user", "assistant", "bashExecution"]
    assert [message["role"] for message in messages(agent)] == roles
    assert [node["role"] for node in agent.ask("get_tree")["data"]["nodes"] if "role" in node] == roles
    file = file_of(agent)
    agent.end()
    assert [message["role"] for message in messages(pi("--session", str(file)))] == roles


def test_a_model_that_was_set_during_a_run_survives_sudden_death(pi: Callable[..., Agent]) -> None:
    agent = pi()
    agent.send({"type": "prompt", "message": "!loop 20 bash"})
    agent.until("tool_execution_end")
    assert agent.ask("set_model", provider="anthropic", modelId="claude-opus-4-5")["success"] is True
    agent.until("tool_execution_end")
    agent.until("turn_end")
    file = file_of(agent)
    agent.process.kill()
    agent.process.wait()
    assert state(pi("--session", str(file)))["model"]["id"] == "claude-opus-4-5"


def test_a_file_that_was_rewritten_in_place_is_not_taken_for_what_it_was(pi: Callable[..., Agent]) -> None:
    agent = pi()
    run(agent, "one")
    file = file_of(agent)
    told = messages(agent)
    with file.open("r+b") as opened:
        opened.write(b" " * 40 + file.read_bytes())
    refusal = f"{file} was changed by another program"
    for command in ("get_entries", "get_tree", "get_branch_messages", "clone"):
        assert agent.ask(command)["error"] == refusal
    assert state(agent)["sessionFile"] == str(file)
    assert messages(agent) == told


def test_a_session_that_was_replaced_by_another_can_be_switched_to(pi: Callable[..., Agent], tmp_path: Path) -> None:
    agent = pi("--session", str(tmp_path / "s.jsonl"))
    run(agent, "one")
    other = pi("--session", str(tmp_path / "other.jsonl"))
    run(other, "another")
    other.end()
    other.wait()
    (tmp_path / "other.jsonl").rename(tmp_path / "s.jsonl")
    assert failures(run(agent, "two"))
    assert agent.ask("switch_session", sessionPath=str(tmp_path / "s.jsonl"))["success"] is True
    assert messages(agent)[0]["content"][0]["text"] == "another"
    assert "sessionError" not in state(agent)


def test_a_session_that_was_added_to_by_others_is_not_opened_twice(pi: Callable[..., Agent]) -> None:
    agent = pi()
    run(agent, "one")
    file = file_of(agent)
    with file.open("ab") as opened:
        opened.write(b'{"type":"custom","id":"theirs","parentId":null,"customType":"x"}\n')
    refused = agent.ask("switch_session", sessionPath=str(file))
    assert refused["error"] == f"{file} was changed by another program; begin another session, then switch to it"
    assert agent.ask("new_session")["success"] is True
    assert agent.ask("switch_session", sessionPath=str(file))["success"] is True
    assert len(messages(agent)) == 0  # It stands where the others left it.


def test_others_are_listed_though_the_open_one_cannot_be(pi: Callable[..., Agent]) -> None:
    agent = pi()
    run(agent, "one")
    one = state(agent)["sessionFile"]
    agent.ask("new_session")
    file_of(agent).write_bytes(b"")
    assert [session["path"] for session in agent.ask("list_sessions")["data"]["sessions"]] == [one]


def test_a_command_of_another_program_does_not_stand_for_one_of_ours(pi: Callable[..., Agent]) -> None:
    agent = pi()
    keep_busy(agent)
    agent.ask("bash", command="echo ours")
    file = file_of(agent)
    agent.process.kill()
    agent.process.wait()
    theirs = {"role": "bashExecution", "command": "echo theirs", "output": "theirs\n", "exitCode": 0, "timestamp": 5}
    entry = {"type": "message", "id": "t", "parentId": lines(file)[-1]["id"], "timestamp": "", "message": theirs}
    with file.open("a") as opened:
        opened.write(json.dumps(entry) + "\n")
    for _ in range(2):
        agent = pi("--session", str(file))
        assert [message.get("command") for message in messages(agent)] == [None, "echo theirs", "echo ours"]
        agent.end()
        agent.wait()


def test_nothing_follows_a_command_that_is_only_kept(pi: Callable[..., Agent]) -> None:
    agent = pi()
    keep_busy(agent)
    agent.ask("bash", command="echo kept")
    agent.ask("abort")
    agent.until("agent_end")
    entries = agent.ask("get_entries")["data"]["entries"]
    (kept,) = (entry for entry in entries if entry.get("customType") == "linnet.ran")
    assert agent.ask("navigate", entryId=kept["id"])["data"]["leafId"] == kept["parentId"]
    agent.ask("clone")
    run(agent, "and now?")
    told, file = messages(agent), file_of(agent)
    agent.end()
    agent.wait()
    assert messages(pi("--session", str(file))) == told


def test_a_command_that_begins_between_two_sessions_is_kept_where_it_ends(pi: Callable[..., Agent]) -> None:
    agent = pi()
    keep_busy(agent)
    agent.send({"type": "new_session"}, {"id": "b", "type": "bash", "command": "echo between"})
    for _ in range(2):
        agent.until(lambda frame: frame.get("command") in ("new_session", "bash"))
    folder = file_of(agent).parent
    assert sum("between" in file.read_text() for file in folder.glob("*.jsonl")) == 1
