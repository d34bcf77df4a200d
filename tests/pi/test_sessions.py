"""Sessions of the pi protocol: what is in the file, and when; what comes back; what can be asked about it."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.agent import Agent, Frame, types
from linnet.testing.model_server import ModelServer
from linnet.testing.sessions import file_of, state

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
MOMENT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


def run(agent: Agent, message: str, **fields: Any) -> list[Frame]:
    agent.send({"id": "p", "type": "prompt", "message": message, **fields})
    return agent.until("agent_end")


def messages(agent: Agent) -> list[Frame]:
    data: list[Frame] = agent.ask("get_messages")["data"]["messages"]
    return data


def lines(file: Path) -> list[Frame]:
    """Every line is whole."""
    text = file.read_text("utf-8")
    assert text.endswith("\n")
    return [json.loads(line) for line in text.split("\n")[:-1]]


def said(entries: list[Frame]) -> list[Frame]:
    return [entry["message"] for entry in entries if entry["type"] == "message"]


def test_the_header_is_on_disk_when_the_first_command_is_answered(pi: Callable[..., Agent], tmp_path: Path) -> None:
    agent = pi("--thinking", "low")
    told = state(agent)
    file = Path(told["sessionFile"])
    header, model, thinking = lines(file)
    assert list(header) == ["type", "version", "id", "timestamp", "cwd"]
    assert (header["type"], header["version"]) == ("session", 3)
    assert (header["id"], header["cwd"]) == (told["sessionId"], str(tmp_path / "work"))
    assert re.fullmatch(MOMENT, header["timestamp"])
    assert file.name == f"{re.sub('[:.]', '-', header['timestamp'])}_{told['sessionId']}.jsonl"
    assert (model["type"], model["parentId"]) == ("model_change", None)
    assert (model["provider"], model["modelId"]) == ("anthropic", "claude-sonnet-4-5")
    assert (thinking["type"], thinking["parentId"]) == ("thinking_level_change", model["id"])
    assert thinking["thinkingLevel"] == "low"


def test_sessions_are_kept_in_a_folder_for_each_folder_that_is_worked_in(
    pi: Callable[..., Agent], tmp_path: Path
) -> None:
    home = tmp_path / "work" / ".linnet-home"
    folder = file_of(pi()).parent
    assert folder.parent == home / "sessions"
    assert folder.name == f"--{str(tmp_path / 'work').strip('/').replace('/', '-')}--"
    other = tmp_path / "other"
    other.mkdir()
    elsewhere = file_of(pi(cwd=other, env={"LINNET_HOME": str(home)}))
    assert elsewhere.parent.parent == home / "sessions"
    assert elsewhere.parent != folder


def test_nobody_else_can_read_what_was_said(pi: Callable[..., Agent]) -> None:
    file = file_of(pi())
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_everything_that_happens_is_an_entry_that_follows_the_one_before(pi: Callable[..., Agent]) -> None:
    agent = pi("--compact-keep", "1")
    agent.ask("set_thinking_level", level="high")
    agent.ask("set_model", provider="anthropic", modelId="claude-opus-4-5")
    run(agent, '!tool bash {"command":"echo hi"}')
    agent.ask("bash", command="printf '\\033[31mred\\033[0m'")
    agent.ask("set_session_name", name="mine")
    run(agent, "again")
    summary = agent.ask("compact")["data"]

    entries = lines(file_of(agent))[1:]
    assert [entry["parentId"] for entry in entries] == [None, *(entry["id"] for entry in entries[:-1])]
    assert all(re.fullmatch("[0-9a-f]{8}", entry["id"]) for entry in entries)
    assert len({entry["id"] for entry in entries}) == len(entries)
    assert all(re.fullmatch(MOMENT, entry["timestamp"]) for entry in entries)
    assert types(entries) == [
        "model_change",
        "thinking_level_change",
        "thinking_level_change",
        "model_change",
        *["message"] * 5,
        "session_info",
        *["message"] * 2,
        "compaction",
    ]
    roles = [message["role"] for message in said(entries)]
    assert roles == ["user", "assistant", "toolResult", "assistant", "bashExecution", "user", "assistant"]
    bash = said(entries)[4]
    assert (bash["output"], bash["rawOutput"]) == ("red", "\x1b[31mred\x1b[0m")
    compaction = entries[-1]
    assert {name: compaction[name] for name in summary} == summary
    assert summary["firstKeptEntryId"] in {entry["id"] for entry in entries}


@pytest.mark.parametrize("prompt", ["hi", "!think", '!tool bash {"command":"echo hi"}', "!fail 401 9"])
def test_what_was_printed_is_in_the_file_at_that_moment(pi: Callable[..., Agent], prompt: str) -> None:
    agent = pi()
    file = file_of(agent)
    agent.send({"type": "prompt", "message": prompt})
    ended = 0
    while (frame := agent.read()) is not None and frame["type"] != "agent_end":
        if frame["type"] == "message_end":
            assert frame["message"] in said(lines(file))
            ended += 1
    assert len(said(lines(file))) == ended


def test_an_aborted_message_is_in_the_file_too(pi: Callable[..., Agent]) -> None:
    agent = pi()
    agent.send({"type": "prompt", "message": "!gate never"})
    agent.until("message_update")
    agent.send({"type": "abort"})
    frames = agent.until("agent_end")
    (aborted,) = [message for message in said(lines(file_of(agent))) if message["role"] == "assistant"]
    assert aborted == frames[-1]["messages"][-1]
    assert aborted["stopReason"] == "aborted"


def test_a_conversation_comes_back_as_it_was(pi: Callable[..., Agent], server: ModelServer) -> None:
    agent = pi("--compact-keep", "1", "--thinking", "low")
    run(agent, "before it was compacted")
    run(agent, "!think")
    agent.ask("compact")
    run(agent, '!tools [["bash",{"command":"echo one"}],["nosuch",{}]]')
    run(agent, "look", images=[{"type": "image", "data": PNG, "mimeType": "image/png"}])
    agent.ask("bash", command="echo aside")
    agent.ask("set_session_name", name="mine")
    agent.send({"type": "prompt", "message": "!gate never"})
    agent.until("message_update")
    agent.send({"type": "abort"})
    agent.until("agent_end")
    file, (summary, *before), then = file_of(agent), messages(agent), state(agent)
    stats = agent.ask("get_session_stats")["data"]
    run(agent, "the last word")
    asked = server.requests[-1].body["messages"]
    leaf = agent.ask("get_branch_messages")["data"]["messages"][-1]["entryId"]
    agent.end()

    again = pi("--session", str(file), "--compact-keep", "1")
    at = next(node for node in again.ask("get_tree")["data"]["nodes"] if node["id"] == leaf)["parentId"]
    assert again.ask("navigate", entryId=at)["success"]
    first, *rest = messages(again)
    assert rest == before
    assert first["timestamp"] - summary["timestamp"] in range(100)  # A summary has the time of its entry.
    assert {**first, "timestamp": 0} == {**summary, "timestamp": 0}
    assert state(again) == then
    now = again.ask("get_session_stats")["data"]
    assert {name: now[name] for name in stats if name not in ("tokens", "cost")} == {
        name: stats[name] for name in stats if name not in ("tokens", "cost")
    }
    run(again, "the last word")
    assert server.requests[-1].body["messages"] == asked


def test_a_failure_that_was_tried_again_is_kept_but_not_shown_to_the_model(
    pi: Callable[..., Agent], server: ModelServer
) -> None:
    agent = pi()
    run(agent, "!fail 503 1")
    agent.until("auto_retry_end")
    file = file_of(agent)
    stops = [message.get("stopReason") for message in said(lines(file))]
    assert stops == [None, "error", "stop"]
    before = messages(agent)
    agent.end()
    again = pi("--session", str(file))
    assert messages(again) == before
    run(again, "and now?")
    assert [m["role"] for m in server.requests[-1].body["messages"]] == ["user", "assistant", "user"]


def test_the_cost_after_resuming_is_that_of_the_whole_file(pi: Callable[..., Agent]) -> None:
    agent = pi("--compact-keep", "1")
    run(agent, "one")
    run(agent, "!fail 503 1")
    agent.until("auto_retry_end")
    first = agent.ask("get_branch_messages")["data"]["messages"][0]["entryId"]
    agent.ask("compact")
    agent.ask("navigate", entryId=first)
    run(agent, "on another branch")
    stats, file = agent.ask("get_session_stats")["data"], file_of(agent)
    assert stats["sessionFile"] == str(file)
    entries = lines(file)
    spent = [e["usage"] if e["type"] == "compaction" else e.get("message", {}).get("usage") for e in entries]
    assert stats["cost"] == pytest.approx(sum(usage["cost"]["total"] for usage in spent if usage))
    assert stats["tokens"]["total"] == sum(usage["totalTokens"] for usage in spent if usage)
    agent.end()
    assert pi("--session", str(file)).ask("get_session_stats")["data"] == stats


def test_model_thinking_level_and_name_come_back(pi: Callable[..., Agent]) -> None:
    agent = pi()
    agent.ask("set_model", provider="anthropic", modelId="claude-opus-4-5")
    agent.ask("set_thinking_level", level="medium")
    agent.ask("set_session_name", name="mine")
    file = file_of(agent)
    agent.end()
    told = state(pi("--session", str(file)))
    assert told["model"]["id"] == "claude-opus-4-5"
    assert (told["thinkingLevel"], told["sessionName"]) == ("medium", "mine")


def test_reopening_a_session_adds_nothing_to_it(pi: Callable[..., Agent]) -> None:
    agent = pi()
    run(agent, "hi")
    file = file_of(agent)
    agent.end()
    before = file.read_bytes()
    again = pi("--session", str(file))
    state(again)
    again.end()
    assert file.read_bytes() == before


def test_the_name_is_told_and_an_empty_one_is_refused(pi: Callable[..., Agent]) -> None:
    agent = pi()
    assert "sessionName" not in state(agent)
    agent.send({"id": "n", "type": "set_session_name", "name": "  the plan\n"})
    told, answer = agent.until(lambda frame: frame.get("id") == "n")
    assert told == {"type": "session_info_changed", "name": "the plan"}
    assert answer == {"id": "n", "type": "response", "command": "set_session_name", "success": True}
    assert agent.ask("set_session_name", name=" ")["error"] == "Session name cannot be empty"
    assert state(agent)["sessionName"] == "the plan"
    assert lines(file_of(agent))[-1]["name"] == "the plan"


def test_prompts_to_branch_from_are_listed_under_both_names(pi: Callable[..., Agent]) -> None:
    agent = pi()
    assert agent.ask("get_branch_messages")["data"] == {"messages": []}
    run(agent, "one")
    run(agent, "two")
    listed = agent.ask("get_branch_messages")["data"]["messages"]
    assert [each["text"] for each in listed] == ["one", "two"]
    assert agent.ask("get_fork_messages")["data"]["messages"] == listed
    ids = [entry["id"] for entry in lines(file_of(agent)) if entry.get("message", {}).get("role") == "user"]
    assert [each["entryId"] for each in listed] == ids


def test_a_prompt_that_is_only_a_picture_cannot_be_listed(pi: Callable[..., Agent]) -> None:
    agent = pi()
    run(agent, "", images=[{"type": "image", "data": PNG, "mimeType": "image/png"}])
    assert agent.ask("get_branch_messages")["data"] == {"messages": []}


def test_the_tree_is_a_flat_list_with_labels_and_the_leaf(pi: Callable[..., Agent]) -> None:
    agent = pi()
    run(agent, "one")
    file = file_of(agent)
    agent.end()
    entries = lines(file)[1:]
    label = {"type": "label", "id": "0000000a", "parentId": entries[-1]["id"], "timestamp": "2026-01-01T00:00:00.000Z"}
    later = {"type": "from_tomorrow", "id": "0000000b", "parentId": "0000000a", "timestamp": "", "what": [1]}
    with file.open("a") as out:
        out.write(
            json.dumps({**label, "targetId": entries[2]["id"], "label": "start"}) + "\n" + json.dumps(later) + "\n"
        )

    again = pi("--session", str(file))
    run(again, "two\n\n  with   a second line")
    tree = again.ask("get_tree")["data"]
    now = lines(file)[1:]
    assert [(node["id"], node["parentId"], node["type"]) for node in tree["nodes"]] == [
        (entry["id"], entry["parentId"], entry["type"]) for entry in now
    ]
    assert tree["leafId"] == now[-1]["id"]
    shown = [(node.get("role"), node.get("text"), node.get("label")) for node in tree["nodes"]]
    assert shown == [
        (None, "anthropic/claude-sonnet-4-5", None),
        (None, "off", None),
        ("user", "one", "start"),
        ("assistant", "Hello from the scripted model.", None),
        (None, "start", None),
        (None, None, None),
        ("user", "two with a second line", None),
        ("assistant", "Hello from the scripted model.", None),
    ]


def test_entries_can_be_read_from_one_on(pi: Callable[..., Agent]) -> None:
    agent = pi()
    run(agent, "one")
    every = agent.ask("get_entries")["data"]
    assert every["entries"] == lines(file_of(agent))[1:]
    assert every["leafId"] == every["entries"][-1]["id"]
    run(agent, "two")
    after = agent.ask("get_entries", since=every["leafId"])["data"]
    assert after["entries"] == lines(file_of(agent))[-2:]
    assert agent.ask("get_entries", since=after["leafId"])["data"] == {"entries": [], "leafId": after["leafId"]}
    assert agent.ask("get_entries", since="nope")["error"] == "Entry nope not found"


def test_entries_can_be_followed_while_it_runs(pi: Callable[..., Agent], server: ModelServer) -> None:
    agent = pi()
    agent.send({"type": "prompt", "message": "!gate g"})
    agent.until("message_update")
    entries = agent.ask("get_entries")["data"]["entries"]
    assert [entry["message"]["role"] for entry in entries if entry["type"] == "message"] == ["user"]
    server.release("g")
    agent.until("agent_end")
    (reply,) = agent.ask("get_entries", since=entries[-1]["id"])["data"]["entries"]
    assert reply["message"]["role"] == "assistant"


def test_sessions_are_listed_newest_first(pi: Callable[..., Agent], tmp_path: Path) -> None:
    agent = pi()
    run(agent, "one")
    first = state(agent)
    agent.ask("new_session", parentSession=first["sessionFile"])
    run(agent, "two")
    agent.ask("set_session_name", name="the second")
    second = state(agent)
    stats = agent.ask("get_session_stats")["data"]
    folder = Path(second["sessionFile"]).parent
    (folder / "junk.jsonl").write_text("not a session\n")
    (folder / "empty.jsonl").write_text("")
    (folder / "folder.jsonl").mkdir()

    newest, oldest = agent.ask("list_sessions")["data"]["sessions"]
    assert re.fullmatch(MOMENT, newest.pop("created"))
    assert re.fullmatch(MOMENT, newest.pop("modified"))
    assert newest == {
        "path": second["sessionFile"],
        "id": second["sessionId"],
        "name": "the second",
        "cwd": str(tmp_path / "work"),
        "messageCount": 2,
        "firstMessage": "two",
        "provider": "anthropic",
        "modelId": "claude-sonnet-4-5",
        "tokens": stats["tokens"]["total"],
        "cost": stats["cost"],
        "parentSession": first["sessionFile"],
        "current": True,
    }
    assert (oldest["path"], oldest["current"]) == (first["sessionFile"], False)
    assert "name" not in oldest


def test_sessions_of_other_folders_are_listed_if_asked_for(pi: Callable[..., Agent], tmp_path: Path) -> None:
    home = {"LINNET_HOME": str(tmp_path / "home")}
    other = tmp_path / "other"
    other.mkdir()
    there = pi(cwd=other, env=home)
    run(there, "elsewhere")
    here = pi(env=home)
    run(here, "here")
    assert [each["firstMessage"] for each in here.ask("list_sessions")["data"]["sessions"]] == ["here"]
    everywhere = here.ask("list_sessions", all=True)["data"]["sessions"]
    assert [(each["firstMessage"], each["cwd"]) for each in everywhere] == [
        ("here", str(tmp_path / "work")),
        ("elsewhere", str(other)),
    ]


def test_a_session_of_pi_is_opened_and_gone_on_with(pi: Callable[..., Agent], tmp_path: Path) -> None:
    """As pi 0.73 writes one, with entries and fields that linnet has no use for."""
    file = tmp_path / "work" / "theirs.jsonl"
    at = {"timestamp": "2026-11-15T20:43:46.656Z"}
    usage = {"input": 10, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 12, "cost": {"total": 0.5}}
    usage["cost"] = {"input": 0.25, "output": 0.25, "cacheRead": 0, "cacheWrite": 0, "total": 0.5}
    reply: Frame = {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hello.", "textSignature": "s"}],
        "api": "anthropic-messages",
        "provider": "anthropic",
        "model": "claude-opus-4-5",
        "usage": usage,
        "stopReason": "stop",
        "timestamp": 2,
        "responseId": "msg_1",
    }
    noted = {"customType": "x", "content": "a note", "display": True}
    theirs: list[Frame] = [
        {"type": "session", "version": 3, "id": "01a1e0f3", **at, "cwd": "/elsewhere"},
        {
            "type": "model_change",
            "id": "a1",
            "parentId": None,
            **at,
            "provider": "anthropic",
            "modelId": "claude-opus-4-5",
        },
        {"type": "thinking_level_change", "id": "a2", "parentId": "a1", **at, "thinkingLevel": "medium"},
        {
            "type": "message",
            "id": "a3",
            "parentId": "a2",
            **at,
            "message": {"role": "user", "content": "hi", "timestamp": 1},
        },
        {"type": "message", "id": "a4", "parentId": "a3", **at, "message": reply},
        {"type": "custom", "id": "a5", "parentId": "a4", **at, "customType": "x", "data": {"y": [1]}},
        {"type": "custom_message", "id": "a6", "parentId": "a5", **at, **noted},
        {"type": "branch_summary", "id": "a7", "parentId": "a6", **at, "fromId": "a4", "summary": "went there"},
        {"type": "from_tomorrow", "id": "a8", "parentId": "a7", **at, "what": 1},
        {"type": "session_info", "id": "a9", "parentId": "a8", **at, "name": "theirs"},
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in theirs))
    agent = pi("--session", "theirs.jsonl")
    told = state(agent)
    assert (told["sessionId"], told["sessionName"]) == ("01a1e0f3", "theirs")
    assert (told["model"]["id"], told["thinkingLevel"]) == ("claude-opus-4-5", "medium")
    user, assistant, *others = messages(agent)
    assert (user["content"], assistant["content"][0]) == ([{"type": "text", "text": "hi"}], reply["content"][0])
    time = 1794775426656
    note = [{"type": "text", "text": "a note"}]
    assert others == [
        {"role": "custom", "customType": "x", "content": note, "display": True, "timestamp": time},
        {"role": "branchSummary", "summary": "went there", "fromId": "a4", "timestamp": time},
    ]
    assert agent.ask("get_session_stats")["data"]["cost"] == 0.5
    run(agent, "go on")
    assert lines(file)[: len(theirs)] == theirs
    assert lines(file)[len(theirs)]["parentId"] == "a9"


def test_the_open_session_is_in_the_list_wherever_it_is(pi: Callable[..., Agent], tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    agent = pi("--session-dir", str(tmp_path / "link"))
    run(agent, "one")
    one = state(agent)["sessionFile"]
    agent.ask("new_session")
    agent.ask("switch_session", sessionPath=str(tmp_path / "real" / Path(one).name))
    listed = agent.ask("list_sessions")["data"]["sessions"]
    assert [(session["path"], session["current"]) for session in listed][1:] == [(one, True)]
    agent = pi("--session", str(tmp_path / "mine.jsonl"))
    listed = agent.ask("list_sessions")["data"]["sessions"]
    assert (listed[0]["path"], listed[0]["current"]) == (str(tmp_path / "mine.jsonl"), True)


def test_where_a_move_led_is_where_the_session_stands(pi: Callable[..., Agent]) -> None:
    agent = pi()
    run(agent, "one")
    for target in (None, agent.ask("get_tree")["data"]["nodes"][2]["id"]):
        told = agent.ask("navigate", entryId=target)["data"]["leafId"]
        assert told == agent.ask("get_tree")["data"]["leafId"]
