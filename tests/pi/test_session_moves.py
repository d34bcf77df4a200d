"""From one session to another, or to another place in the same one: new, switch, branch, clone, navigate."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.agent import Agent, Frame, types
from linnet.testing.model_server import ModelServer
from linnet.testing.sessions import file_of, lines, run, state

MOVES = ["new_session", "switch_session", "branch", "fork", "clone", "navigate"]


def texts(agent: Agent) -> list[str]:
    """What was said, by whom: `>` is the user."""
    told: list[Frame] = agent.ask("get_messages")["data"]["messages"]
    return [(">" if message["role"] == "user" else "") + message["content"][0]["text"] for message in told]


def prompts(agent: Agent) -> dict[str, str]:
    """The entry of everything that the user said."""
    return {each["text"]: each["entryId"] for each in agent.ask("get_branch_messages")["data"]["messages"]}


def asked(server: ModelServer) -> list[str]:
    """What the user had said when the model was asked last."""
    body = server.requests[-1].body["messages"]
    return [part["text"] for message in body if message["role"] == "user" for part in message["content"]]


HELLO = "Hello from the scripted model."


def test_a_new_session_has_a_file_of_its_own_and_nothing_more_goes_into_the_old_one(
    pi: Callable[..., Agent], server: ModelServer
) -> None:
    agent = pi()
    run(agent, "one")
    old, before = state(agent), file_of(agent).read_bytes()
    agent.send({"id": "n", "type": "new_session", "parentSession": old["sessionFile"]})
    (answer,) = agent.until(lambda frame: frame.get("id") == "n")
    assert answer == {
        "id": "n",
        "type": "response",
        "command": "new_session",
        "success": True,
        "data": {"cancelled": False},
    }
    new = state(agent)
    assert new["sessionFile"] != old["sessionFile"]
    assert new["sessionId"] != old["sessionId"]
    assert new["messageCount"] == 0
    run(agent, "two")
    assert asked(server) == ["two"]
    header, *entries = lines(Path(new["sessionFile"]))
    assert header["parentSession"] == old["sessionFile"]
    assert header["id"] == new["sessionId"]
    assert types(entries) == ["model_change", "thinking_level_change", "message", "message"]
    assert Path(old["sessionFile"]).read_bytes() == before
    assert agent.ask("get_session_stats")["data"]["userMessages"] == 1


def test_a_new_session_keeps_the_model_and_the_level_of_thinking(pi: Callable[..., Agent]) -> None:
    agent = pi()
    agent.ask("set_model", provider="anthropic", modelId="claude-opus-4-5")
    agent.ask("set_thinking_level", level="low")
    agent.ask("set_session_name", name="the old one")
    agent.ask("new_session")
    told = state(agent)
    assert (told["model"]["id"], told["thinkingLevel"]) == ("claude-opus-4-5", "low")
    assert "sessionName" not in told
    assert [entry.get("modelId") or entry.get("thinkingLevel") for entry in lines(file_of(agent))[1:]] == [
        "claude-opus-4-5",
        "low",
    ]


def test_switching_brings_back_messages_model_thinking_level_name_and_cost(pi: Callable[..., Agent]) -> None:
    agent = pi()
    agent.ask("set_model", provider="anthropic", modelId="claude-opus-4-5")
    agent.ask("set_thinking_level", level="high")
    agent.ask("set_session_name", name="the first")
    run(agent, "one")
    first, stats = state(agent), agent.ask("get_session_stats")["data"]
    said = agent.ask("get_messages")["data"]
    before = file_of(agent).read_bytes()
    agent.ask("new_session")
    agent.ask("set_model", provider="anthropic", modelId="claude-haiku-4-5")
    agent.ask("set_thinking_level", level="off")
    run(agent, "two")
    answer = agent.ask("switch_session", sessionPath=first["sessionFile"])
    assert answer["data"] == {"cancelled": False}
    assert state(agent) == first
    assert agent.ask("get_messages")["data"] == said
    assert agent.ask("get_session_stats")["data"] == stats
    assert Path(first["sessionFile"]).read_bytes() == before
    run(agent, "three")
    assert texts(agent) == [">one", HELLO, ">three", HELLO]


def test_a_session_may_be_named_by_a_relative_path_or_the_beginning_of_its_id(
    pi: Callable[..., Agent], tmp_path: Path
) -> None:
    agent = pi("--session", "mine.jsonl")
    run(agent, "one")
    first = state(agent)
    agent.ask("new_session")
    second = state(agent)
    assert agent.ask("switch_session", sessionPath="mine.jsonl")["success"]
    assert state(agent)["sessionFile"] == first["sessionFile"] == str(tmp_path / "work" / "mine.jsonl")
    assert agent.ask("switch_session", sessionPath=second["sessionId"][:13])["success"]
    assert state(agent)["sessionFile"] == second["sessionFile"]
    refused = agent.ask("switch_session", sessionPath="ffffffff")
    assert refused["error"] == "no session has an id that begins with ffffffff"


def test_switching_to_where_one_is_changes_nothing(pi: Callable[..., Agent]) -> None:
    agent = pi()
    run(agent, "one")
    before, data = state(agent), file_of(agent).read_bytes()
    assert agent.ask("switch_session", sessionPath=before["sessionFile"])["data"] == {"cancelled": False}
    assert state(agent) == before
    assert Path(before["sessionFile"]).read_bytes() == data


def a_bad_file(kind: str, folder: Path) -> tuple[Path, str]:
    """And how the refusal ends."""
    path = folder / f"{kind}.jsonl"
    match kind:
        case "missing":
            return path, "missing.jsonl does not exist"
        case "empty":
            path.write_bytes(b"")
            return path, "empty.jsonl is empty: it is not a session"
        case "blank":
            path.write_bytes(b"\n\n")
            return path, "blank.jsonl is empty: it is not a session"
        case "junk":
            path.write_bytes(b"what is this?\n\x00\xff\n")
            return path, "is not a session: its first line is no session header"
        case "foreign":
            path.write_text('{"type":"message","id":"1","message":{"role":"user","content":"hi"}}\n')
            return path, "is not a session: its first line is no session header"
        case "headerless":
            path.write_text('{"type":"session","version":3}\n')
            return path, "is not a session: its first line is no session header"
        case "folder":
            path.mkdir()
            (path / "kept").write_text("x")
            return path, "Is a directory"
        case "pipe":
            os.mkfifo(path)
            return path, "is not a file"
        case "device":
            return Path("/dev/null"), "/dev/null is not a file"
        case "too new":
            path.write_text('{"type":"session","version":4,"id":"a"}\n')
            return path, "is a session of version 4; the newest that linnet knows is 3"
        case _:
            raise AssertionError(kind)


BAD = ["missing", "empty", "blank", "junk", "foreign", "headerless", "folder", "pipe", "device", "too new"]


@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_session_is_refused_left_untouched_and_ends_nothing(
    pi: Callable[..., Agent], server: ModelServer, tmp_path: Path, kind: str
) -> None:
    folder = tmp_path / "others"
    folder.mkdir()
    path, why = a_bad_file(kind, folder)
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    names = sorted(folder.rglob("*"))
    agent = pi()
    agent.send({"type": "prompt", "message": "!gate g"})
    agent.until("message_update")
    told = state(agent)
    refused = agent.ask("switch_session", sessionPath=str(path))
    assert refused["success"] is False
    assert refused["error"].endswith(why)
    assert state(agent) == told
    server.release("g")
    ended = agent.until("agent_end")[-1]
    assert ended["messages"][-1]["stopReason"] == "stop"
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before
    assert sorted(folder.rglob("*")) == names


@pytest.mark.parametrize("command", ["branch", "fork"])
def test_a_branch_is_a_session_with_all_that_came_before_the_message(
    pi: Callable[..., Agent], server: ModelServer, command: str
) -> None:
    agent = pi()
    run(agent, "one")
    run(agent, "two")
    run(agent, "three")
    old, before = state(agent), file_of(agent).read_bytes()
    two = prompts(agent)["two"]
    answer = agent.ask(command, entryId=two)
    assert answer["data"] == {"text": "two", "cancelled": False}
    new = state(agent)
    assert new["sessionFile"] != old["sessionFile"]
    assert new["sessionId"] != old["sessionId"]
    assert texts(agent) == [">one", HELLO]
    assert Path(new["sessionFile"]).exists()
    header, *entries = lines(Path(new["sessionFile"]))
    assert header["parentSession"] == old["sessionFile"]
    path = lines(Path(old["sessionFile"]))[1:]
    assert entries == path[: [entry["id"] for entry in path].index(two)]

    run(agent, "two, but better")
    assert asked(server) == ["one", "two, but better"]
    assert len(lines(Path(new["sessionFile"]))) == len(entries) + 3
    assert Path(old["sessionFile"]).read_bytes() == before
    agent.end()
    again = pi("--session", new["sessionFile"])
    assert texts(again) == [">one", HELLO, ">two, but better", HELLO]


def test_branching_from_the_first_message_loses_nothing(pi: Callable[..., Agent], server: ModelServer) -> None:
    agent = pi()
    run(agent, "one")
    old = file_of(agent)
    assert agent.ask("branch", entryId=prompts(agent)["one"])["data"]["text"] == "one"
    assert texts(agent) == []
    run(agent, "instead")
    run(agent, "and then")
    assert asked(server) == ["instead", "and then"]
    file = file_of(agent)
    header, *entries = lines(file)
    assert header["parentSession"] == str(old)
    assert types(entries) == ["model_change", "thinking_level_change", *["message"] * 4]
    assert [entry["parentId"] for entry in entries] == [None, *(entry["id"] for entry in entries[:-1])]
    agent.end()
    assert texts(pi("--session", str(file))) == [">instead", HELLO, ">and then", HELLO]


def test_only_a_message_of_the_user_can_be_branched_from(pi: Callable[..., Agent]) -> None:
    agent = pi()
    run(agent, "one")
    before = state(agent)
    reply = agent.ask("get_tree")["data"]["leafId"]
    for id in ("nope", reply):
        refused = agent.ask("branch", entryId=id)
        assert (refused["success"], refused["error"]) == (False, "Invalid entry ID for branching")
    assert state(agent) == before


def test_a_message_on_another_branch_can_be_branched_from_too(pi: Callable[..., Agent]) -> None:
    agent = pi()
    run(agent, "one")
    run(agent, "left")
    left = prompts(agent)["left"]
    agent.ask("navigate", entryId=prompts(agent)["one"])
    run(agent, "right")
    assert list(prompts(agent)) == ["one", "left", "right"]
    assert agent.ask("branch", entryId=left)["data"]["text"] == "left"
    assert texts(agent) == [">one", HELLO]


def test_a_clone_goes_on_by_itself(pi: Callable[..., Agent]) -> None:
    agent = pi()
    agent.ask("set_session_name", name="mine")
    run(agent, "one")
    old, before = state(agent), file_of(agent).read_bytes()
    stats = agent.ask("get_session_stats")["data"]
    assert agent.ask("clone")["data"] == {"cancelled": False}
    new = state(agent)
    changed = {"sessionFile", "sessionId"}
    assert {name for name in old if old[name] != new[name]} == changed
    header, *entries = lines(Path(new["sessionFile"]))
    assert header["parentSession"] == old["sessionFile"]
    assert entries == lines(Path(old["sessionFile"]))[1:]
    now = agent.ask("get_session_stats")["data"]
    assert {name for name in stats if stats[name] != now[name]} == changed
    run(agent, "two")
    assert Path(old["sessionFile"]).read_bytes() == before
    assert texts(agent) == [">one", HELLO, ">two", HELLO]


def test_navigating_goes_on_from_any_entry_of_the_same_session(pi: Callable[..., Agent], server: ModelServer) -> None:
    agent = pi()
    run(agent, "one")
    after_one = agent.ask("get_tree")["data"]["leafId"]
    run(agent, "two")
    after_two = agent.ask("get_tree")["data"]["leafId"]
    file = file_of(agent)
    answer = agent.ask("navigate", entryId=after_one)
    assert answer["data"] == {"leafId": after_one, "cancelled": False}
    assert texts(agent) == [">one", HELLO]
    run(agent, "other")
    assert asked(server) == ["one", "other"]
    assert file_of(agent) == file
    assert agent.ask("navigate", entryId=after_two)["success"]
    assert texts(agent) == [">one", HELLO, ">two", HELLO]
    tree = agent.ask("get_tree")["data"]
    assert tree["leafId"] == after_two
    children = [node["text"] for node in tree["nodes"] if node["parentId"] == after_one]
    assert children == ["two", "other"]
    agent.end()
    again = pi("--session", str(file))
    assert texts(again) == [">one", HELLO, ">two", HELLO]
    assert again.ask("get_tree")["data"] == tree


def test_navigating_to_nothing_begins_anew_in_the_same_file(pi: Callable[..., Agent], server: ModelServer) -> None:
    agent = pi()
    run(agent, "one")
    file = file_of(agent)
    assert agent.ask("navigate", entryId=None)["data"]["cancelled"] is False
    assert texts(agent) == []
    agent.end()
    again = pi("--session", str(file))
    assert texts(again) == []
    run(again, "afresh")
    assert asked(server) == ["afresh"]
    assert list(prompts(again)) == ["one", "afresh"]
    parents = {node["id"]: node["parentId"] for node in again.ask("get_tree")["data"]["nodes"]}
    at = prompts(again)["afresh"]
    while parents[at] is not None:
        at = parents[at]
        assert at != prompts(again)["one"]


def test_navigating_to_what_is_not_there_is_refused_and_ends_nothing(
    pi: Callable[..., Agent], server: ModelServer
) -> None:
    agent = pi()
    agent.send({"type": "prompt", "message": "!gate g"})
    agent.until("message_update")
    refused = agent.ask("navigate", entryId="nope")
    assert (refused["success"], refused["error"]) == (False, "Entry nope not found")
    server.release("g")
    assert agent.until("agent_end")[-1]["messages"][-1]["stopReason"] == "stop"


def test_whatever_entry_one_goes_on_from_the_model_can_be_asked(pi: Callable[..., Agent]) -> None:
    """Also between a call and its result, which the model must not be shown by itself."""
    agent = pi("--compact-keep", "1")
    run(agent, '!tools [["bash",{"command":"echo hi"}],["nosuch",{}]]')
    agent.ask("bash", command="echo aside")
    agent.ask("compact")
    run(agent, "two")
    for node in agent.ask("get_tree")["data"]["nodes"]:
        assert agent.ask("navigate", entryId=node["id"])["success"]
        assert run(agent, "and now?")[-1]["messages"][-1]["stopReason"] == "stop"


def test_the_prompt_that_is_being_answered_can_be_branched_from(pi: Callable[..., Agent]) -> None:
    agent = pi()
    run(agent, "one")
    agent.send({"type": "prompt", "message": "!gate never"})
    agent.until("message_update")
    agent.send({"id": "b", "type": "branch", "entryId": prompts(agent)["!gate never"]})
    frames = agent.until(lambda frame: frame.get("id") == "b")
    assert types(frames)[-3:] == ["turn_end", "agent_end", "response"]
    assert frames[-1]["data"]["text"] == "!gate never"
    assert texts(agent) == [">one", HELLO]


def test_what_was_set_on_a_branch_stays_set_where_one_navigates(pi: Callable[..., Agent]) -> None:
    """The model is a setting of the agent: it does not change under somebody who looks around."""
    agent = pi()
    run(agent, "one")
    one = agent.ask("get_tree")["data"]["leafId"]
    agent.ask("set_model", provider="anthropic", modelId="claude-opus-4-5")
    agent.ask("navigate", entryId=one)
    assert state(agent)["model"]["id"] == "claude-opus-4-5"


def test_a_branch_inside_a_compacted_conversation_has_what_was_summarised(pi: Callable[..., Agent]) -> None:
    agent = pi("--compact-keep", "1")
    run(agent, "one")
    run(agent, "two")
    agent.ask("compact")
    run(agent, "three")
    entries = prompts(agent)
    assert list(entries) == ["one", "two", "three"]
    agent.ask("branch", entryId=entries["three"])
    assert agent.ask("get_messages")["data"]["messages"][0]["role"] == "compactionSummary"
    agent.ask("branch", entryId=entries["two"])
    assert texts(agent) == [">one", HELLO]


@pytest.fixture
def busy(pi: Callable[..., Agent], server: ModelServer) -> tuple[Agent, dict[str, Frame]]:
    """An agent at work, with what each move needs to know."""
    agent = pi()
    run(agent, "elsewhere")
    other = state(agent)["sessionFile"]
    agent.ask("new_session")
    run(agent, "one")
    one = prompts(agent)["one"]
    fields: dict[str, Frame] = {
        "switch_session": {"sessionPath": other},
        "branch": {"entryId": one},
        "fork": {"entryId": one},
        "navigate": {"entryId": one},
    }
    agent.send({"type": "prompt", "message": "!gate never"})
    agent.until("message_update")
    return agent, {move: {"type": move, **fields.get(move, {})} for move in MOVES}


@pytest.mark.parametrize("move", MOVES)
def test_a_move_during_a_run_ends_it_properly_and_is_answered_once(
    busy: tuple[Agent, dict[str, Frame]], move: str
) -> None:
    agent, moves = busy
    file = file_of(agent)
    agent.send({"type": "follow_up", "message": "later"}, {"type": "steer", "message": "soon"})
    agent.until(lambda frame: frame["type"] == "queue_update" and frame["steering"])
    agent.send({"id": "m", **moves[move]})
    frames = agent.until(lambda frame: frame.get("id") == "m")
    kinds = [kind for kind in types(frames) if kind != "message_update"]
    assert kinds[-5:] == ["queue_update", "message_end", "turn_end", "agent_end", "response"]
    dropped = next(frame for frame in frames if "dropped" in frame)
    assert (dropped["steering"], dropped["followUp"]) == ([], [])
    assert dropped["dropped"] == ["soon", "later"]
    assert frames[-2]["messages"][-1]["stopReason"] == "aborted"
    assert frames[-1]["success"] is True
    assert frames[-1]["data"]["cancelled"] is False
    told = state(agent)
    assert (told["isStreaming"], told["pendingMessageCount"]) == (False, 0)
    ids = [frame.get("id") for frame in agent.seen if frame["type"] == "response"]
    assert ids.count("m") == 1
    aborted = [entry for entry in lines(file) if entry.get("message", {}).get("stopReason") == "aborted"]
    assert len(aborted) == 1  # In the session that it belongs to.
    if move in ("clone", "navigate"):
        return
    assert not [entry for entry in lines(file_of(agent)) if entry.get("message", {}).get("stopReason") == "aborted"]


@pytest.mark.parametrize("move", MOVES)
def test_a_move_during_a_tool_leaves_no_call_unanswered(
    pi: Callable[..., Agent], server: ModelServer, tmp_path: Path, move: str
) -> None:
    agent = pi()
    run(agent, "one")
    other = file_of(agent)
    agent.ask("clone")
    one = prompts(agent)["one"]
    calls = [["bash", {"command": "echo begin; sleep 60"}], ["bash", {"command": "touch marker"}]]
    agent.send({"type": "prompt", "message": f"!tools {json.dumps(calls)}"})
    agent.until("tool_execution_update")
    file = file_of(agent)
    fields: dict[str, Frame] = {
        "switch_session": {"sessionPath": str(other)},
        "branch": {"entryId": one},
        "fork": {"entryId": one},
        "navigate": {"entryId": agent.ask("get_tree")["data"]["leafId"]},
    }
    agent.send({"id": "m", "type": move, **fields.get(move, {})})
    frames = agent.until(lambda frame: frame.get("id") == "m")
    assert types(frames)[-3:] == ["turn_end", "agent_end", "response"]
    assert types(frames).count("tool_execution_end") == 2
    results = [entry["message"] for entry in lines(file) if entry.get("message", {}).get("role") == "toolResult"]
    assert [result["isError"] for result in results] == [True, True]
    assert not (tmp_path / "work" / "marker").exists()
    assert run(agent, "and now?")[-1]["messages"][-1]["stopReason"] == "stop"


@pytest.mark.parametrize("move", MOVES)
def test_a_prompt_in_the_same_write_as_a_move_comes_after_it(busy: tuple[Agent, dict[str, Frame]], move: str) -> None:
    agent, moves = busy
    agent.send({"id": "m", **moves[move]}, {"id": "p", "type": "prompt", "message": "next"})
    frames = agent.until("agent_end")
    frames += agent.until("agent_end")
    order = [frame.get("id") or frame["type"] for frame in frames if frame["type"] in ("response", "agent_end")]
    assert order.index("m") > order.index("agent_end")
    assert sorted(order) == ["agent_end", "agent_end", "m", "p"]
    assert frames[-1]["messages"][0]["content"][0]["text"] == "next"
    assert [entry["message"]["role"] for entry in lines(file_of(agent))[-2:]] == ["user", "assistant"]


@pytest.mark.parametrize("move", MOVES)
def test_the_end_of_stdin_after_a_move_loses_neither(busy: tuple[Agent, dict[str, Frame]], move: str) -> None:
    agent, moves = busy
    agent.send({"id": "m", **moves[move]})
    frames = agent.end()
    assert types(frames)[-2:] == ["agent_end", "response"]
    assert (frames[-1]["id"], frames[-1]["success"]) == ("m", True)
    assert agent.wait() == 0


@pytest.mark.parametrize("second", MOVES)
@pytest.mark.parametrize("first", MOVES)
def test_two_moves_at_once_are_carried_out_in_their_order(
    busy: tuple[Agent, dict[str, Frame]], first: str, second: str
) -> None:
    agent, moves = busy
    here = file_of(agent)
    agent.send({"id": 1, **moves[first]}, {"id": 2, **moves[second]}, {"id": 3, "type": "get_messages"})
    frames = agent.until(lambda frame: frame.get("id") == 2)
    answers = [frame for frame in frames if frame["type"] == "response" and frame["id"] != 3]
    assert [answer["id"] for answer in answers] == [1, 2]
    assert answers[0]["success"] is True
    assert types(frames).count("agent_end") == 1
    there = file_of(agent)
    # The entry that the second one is about may not be in the session that the first one led to.
    lost = first not in ("clone", "navigate") and second in ("branch", "fork", "navigate")
    assert answers[1]["success"] is not lost
    if lost:
        assert there != here
    assert run(agent, "and now?")[-1]["messages"][-1]["stopReason"] == "stop"
    assert lines(there)[-1]["message"]["role"] == "assistant"


def test_switching_away_and_back_at_once_ends_where_it_began(pi: Callable[..., Agent]) -> None:
    agent = pi()
    run(agent, "one")
    one = state(agent)["sessionFile"]
    agent.ask("new_session")
    run(agent, "two")
    two = state(agent)["sessionFile"]
    for there, back in ((one, two), (one, one)):
        agent.send({"type": "prompt", "message": "!gate never"})
        agent.until("message_update")
        agent.send(
            {"id": 1, "type": "switch_session", "sessionPath": there},
            {"id": 2, "type": "switch_session", "sessionPath": back},
        )
        answers = [f for f in agent.until(lambda frame: frame.get("id") == 2) if f["type"] == "response"]
        assert [answer["success"] for answer in answers] == [True, True]
        assert state(agent)["sessionFile"] == back


def test_a_new_session_and_back_at_once(pi: Callable[..., Agent]) -> None:
    agent = pi()
    run(agent, "one")
    one = state(agent)
    agent.send({"type": "prompt", "message": "!gate never"})
    agent.until("message_update")
    agent.send({"type": "new_session"}, {"id": 2, "type": "switch_session", "sessionPath": one["sessionFile"]})
    assert agent.until(lambda frame: frame.get("id") == 2)[-1]["success"]
    assert state(agent)["sessionId"] == one["sessionId"]


@pytest.mark.parametrize("move", MOVES)
def test_many_moves_leave_files_that_can_all_be_opened(pi: Callable[..., Agent], move: str) -> None:
    agent = pi()
    run(agent, "one")
    first = state(agent)["sessionFile"]
    for number in range(5):
        one = prompts(agent).get("one")
        fields: Any = {"switch_session": {"sessionPath": first}, "navigate": {"entryId": one}}.get(move, {})
        if move in ("branch", "fork"):
            run(agent, f"more {number}")
            fields = {"entryId": prompts(agent)[f"more {number}"]}
        assert agent.ask(move, **fields)["success"]
        run(agent, "again")
    for session in agent.ask("list_sessions")["data"]["sessions"]:
        assert agent.ask("switch_session", sessionPath=session["path"])["success"]
        entries = lines(Path(session["path"]))[1:]
        known = {entry["id"] for entry in entries}
        assert all(entry["parentId"] is None or entry["parentId"] in known for entry in entries)
        assert len(known) == len(entries)


def test_a_move_behind_another_is_about_the_session_which_that_leads_to(pi: Callable[..., Agent]) -> None:
    agent = pi()
    run(agent, "one")
    one, entry = file_of(agent), prompts(agent)["one"]
    agent.ask("new_session")
    agent.send({"type": "prompt", "message": "!gate never"})
    agent.until("message_update")
    agent.send(
        {"id": 1, "type": "switch_session", "sessionPath": str(one)},
        {"id": 2, "type": "navigate", "entryId": entry},
        {"id": 3, "type": "fork", "entryId": entry},
    )
    answers = [frame for frame in agent.until(lambda frame: frame.get("id") == 3) if frame["type"] == "response"]
    assert [(answer["id"], answer["success"]) for answer in answers] == [(1, True), (2, True), (3, True)]
