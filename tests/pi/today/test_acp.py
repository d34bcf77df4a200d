"""npm's pi-acp, unchanged, with linnet-pi as its `pi`; and with pi itself, which shows that the checks are right."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.model_server import ModelServer
from tests.pi.today.acp import AcpError, Editor
from tests.suite.real_pi import prepared_home, program

LINNET_PI = Path(sys.executable).with_name("linnet-pi")
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
MODELS = [
    {"id": name, "name": name, "reasoning": True, "input": ["text", "image"], "contextWindow": 200_000}
    for name in ("scripted", "another")
]

pytestmark = pytest.mark.foreign
Start = Callable[[], Editor]


@pytest.fixture(params=["linnet-pi", pytest.param("pi15", marks=pytest.mark.judge)])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder in which the agent under test is called `pi`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    command = [str(LINNET_PI)] if request.param == "linnet-pi" else program("pi15")
    (folder / "pi").write_text(f'#!/bin/sh\nexec {" ".join(command)} "$@"\n')
    (folder / "npm").write_text("#!/bin/sh\nexit 1\n")  # pi-acp would ask it for a newer pi.
    for name in ("pi", "npm"):
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def start(folder: Path, server: ModelServer, tmp_path: Path) -> Iterator[Start]:
    work = tmp_path / "work"
    work.mkdir()
    chosen = {
        "defaultProvider": "ours",
        "defaultModel": "scripted",
        "defaultThinkingLevel": "off",
        "quietStartup": True,
    }
    env = prepared_home(tmp_path / "home", server.url, models=MODELS, **chosen)
    started: list[Editor] = []

    def start() -> Editor:
        editor = Editor(folder, {**env, "LINNET_HOME": str(tmp_path / "linnet")}, work)
        started.append(editor)
        editor.ask("initialize", protocolVersion=1, clientCapabilities={})
        return editor

    yield start
    for editor in started:
        editor.close()


@pytest.fixture
def editor(start: Start) -> Editor:
    return start()


@pytest.fixture
def session(editor: Editor, tmp_path: Path) -> str:
    opened = editor.ask("session/new", cwd=str(tmp_path / "work"), mcpServers=[])
    assert opened["modes"]["availableModes"][0]["id"] == "off"
    assert [model["modelId"] for model in opened["models"]["availableModels"]] == ["ours/scripted", "ours/another"]
    assert opened["models"]["currentModelId"] == "ours/scripted"
    name: str = opened["sessionId"]
    return name


def ended(result: Any) -> str:
    reason: str = result["stopReason"]
    return reason


def tools(editor: Editor, since: int = 0) -> list[dict[str, Any]]:
    """Each tool call as the updates leave it."""
    calls: dict[str, dict[str, Any]] = {}
    for each in editor.updates[since:]:
        update = each["update"]
        if update["sessionUpdate"] in ("tool_call", "tool_call_update"):
            calls[update["toolCallId"]] = {**calls.get(update["toolCallId"], {}), **update}
    return list(calls.values())


def test_an_editor_meets_the_agent(editor: Editor, session: str) -> None:
    commands = editor.wait_for(lambda update: update["sessionUpdate"] == "available_commands_update")
    assert {"compact", "session", "name"} <= {command["name"] for command in commands["availableCommands"]}
    usage = editor.wait_for(lambda update: update["sessionUpdate"] == "usage_update")
    assert usage["size"] == 200_000


def test_prompts_stream_text_and_thoughts_and_end(editor: Editor, session: str, server: ModelServer) -> None:
    assert ended(editor.prompt(session, "hello")()) == "end_turn"
    assert editor.said() == "Hello from the scripted model."

    since = len(editor.updates)
    assert ended(editor.prompt(session, "!think")()) == "end_turn"
    assert (editor.said(since, "agent_thought_chunk"), editor.said(since)) == ("Let me think.", "Thought.")

    since = len(editor.updates)
    picture = {"type": "image", "data": PICTURE, "mimeType": "image/png"}
    link = {"type": "resource_link", "uri": "file:///tmp/notes.txt", "name": "notes.txt"}
    prompt = [{"type": "text", "text": "look"}, picture, link]
    assert ended(editor.ask("session/prompt", sessionId=session, prompt=prompt)) == "end_turn"
    asked = json.dumps(server.requests[-1].body["messages"][-1])
    assert '"image"' in asked
    assert "notes.txt" in asked
    usage = editor.wait_for(lambda update: update["sessionUpdate"] == "usage_update", since)
    assert usage["used"] > 0


def test_tools_are_shown_as_they_run(editor: Editor, session: str, tmp_path: Path) -> None:
    assert ended(editor.prompt(session, '!tool bash {"command":"echo from a tool"}')()) == "end_turn"
    [call] = tools(editor)
    assert call["status"] == "completed"
    assert "from a tool" in json.dumps(call)
    assert editor.said().endswith("tool done")

    since = len(editor.updates)
    assert ended(editor.prompt(session, '!tool read {"path":"nowhere.txt"}')()) == "end_turn"
    assert [call["status"] for call in tools(editor, since)] == ["failed"]

    since = len(editor.updates)
    written = {"path": "a.txt", "content": "one\ntwo\n"}
    edited = {"path": "a.txt", "edits": [{"oldText": "two", "newText": "three"}]}
    editor.prompt(session, f"!tool write {json.dumps(written)}")()
    editor.prompt(session, f"!tool edit {json.dumps(edited)}")()
    assert (tmp_path / "work" / "a.txt").read_text() == "one\nthree\n"
    write, edit = tools(editor, since)
    assert (write["kind"], edit["kind"]) == ("edit", "edit")
    # pi-acp reads the file when it hears that the call begins: a quick agent may have changed it by then.
    for part in edit["content"]:
        assert part["type"] != "diff" or (part["oldText"], part["newText"]) == ("one\ntwo\n", "one\nthree\n")

    since = len(editor.updates)
    calls = [["bash", {"command": f"echo number {number}"}] for number in (1, 2)]
    assert ended(editor.prompt(session, f"!tools {json.dumps(calls)}")()) == "end_turn"
    assert [call["status"] for call in tools(editor, since)] == ["completed", "completed"]


def test_a_run_is_cancelled_and_the_next_goes_on(editor: Editor, session: str, server: ModelServer) -> None:
    running = editor.prompt(session, "!gate never")
    editor.wait_for(lambda update: update["sessionUpdate"] == "agent_message_chunk")
    waiting = editor.prompt(session, "me too")
    editor.wait_for(lambda update: "Queued message" in str(update))
    editor.tell("session/cancel", sessionId=session)
    assert (ended(running()), ended(waiting())) == ("cancelled", "cancelled")

    since = len(editor.updates)
    running = editor.prompt(session, '!tool bash {"command":"echo begun; sleep 61.5"}')
    editor.wait_for(lambda update: update["sessionUpdate"] == "tool_call_update" and "begun" in str(update), since)
    editor.tell("session/cancel", sessionId=session)
    assert ended(running()) == "cancelled"
    assert tools(editor, since)[-1]["status"] == "failed"

    since = len(editor.updates)
    assert ended(editor.prompt(session, "still there?")()) == "end_turn"
    assert editor.said(since) == "Hello from the scripted model."


def test_prompts_of_an_editor_wait_for_each_other(editor: Editor, session: str, server: ModelServer) -> None:
    first = editor.prompt(session, "!gate first")
    editor.wait_for(lambda update: "before" in str(update))
    second = editor.prompt(session, "second")
    editor.wait_for(lambda update: "Queued message" in str(update))
    server.release("first")
    assert (ended(first()), ended(second())) == ("end_turn", "end_turn")
    assert editor.said().endswith("Hello from the scripted model.")


def test_failures_are_tried_again_and_then_told(editor: Editor, session: str) -> None:
    assert ended(editor.prompt(session, "!fail 529 1")()) == "end_turn"
    said = editor.said()
    assert "Retry" in said
    assert "recovered" in said

    assert ended(editor.prompt(session, "!fail 401 1")()) == "end_turn"
    assert ended(editor.prompt(session, "hello")()) == "end_turn"


def test_levels_and_models_are_chosen(editor: Editor, session: str, server: ModelServer) -> None:
    editor.ask("session/set_mode", sessionId=session, modeId="high")
    editor.wait_for(lambda update: update["sessionUpdate"] == "config_option_update" and '"high"' in json.dumps(update))

    answer = editor.ask("session/set_config_option", sessionId=session, configId="thought_level", value="low")
    values = {option["id"]: option["currentValue"] for option in answer["configOptions"]}
    assert values["thought_level"] == "low"

    editor.ask("session/set_config_option", sessionId=session, configId="model", value="ours/another")
    assert ended(editor.prompt(session, "hello")()) == "end_turn"
    assert server.requests[-1].body["model"] == "another"

    answer = editor.ask("session/set_config_option", sessionId=session, configId="model", value="ours/scripted")
    values = {option["id"]: option["currentValue"] for option in answer["configOptions"]}
    assert values["model"] == "ours/scripted"
    with pytest.raises(AcpError):
        editor.ask("session/set_config_option", sessionId=session, configId="model", value="ours/nope")


def test_commands_of_the_adapter_reach_the_agent(editor: Editor, session: str, tmp_path: Path) -> None:
    def commanded(text: str) -> str:
        since = len(editor.updates)
        assert ended(editor.prompt(session, text)()) == "end_turn"
        return editor.said(since)

    for prompt in ("one " * 50, "two " * 50, "three " * 50):
        commanded(prompt)
    assert "Messages" in commanded("/session")
    assert commanded("/name my work") == "Session name set: my work"
    assert "all" in commanded("/steering all")
    assert "all" in commanded("/follow-up all")
    assert "SUMMARY: scripted" in commanded("/compact keep the names")
    assert "auto" in commanded("/autocompact off").lower()
    assert commanded("/export").startswith("Session exported")
    link = editor.wait_for(lambda update: update.get("content", {}).get("type") == "resource_link")
    assert Path(link["content"]["uri"].removeprefix("file://")).read_text().lower().startswith("<!doctype html>")


def test_sessions_are_listed_and_loaded_with_all_they_had(
    start: Start, editor: Editor, session: str, server: ModelServer, tmp_path: Path
) -> None:
    editor.prompt(session, "remember the fox")()
    editor.prompt(session, '!tool bash {"command":"echo from a tool"}')()
    editor.close()  # One process at a time has a session: linnet sees to it.
    again = start()
    work = str(tmp_path / "work")
    listed = again.ask("session/list", cwd=work)["sessions"]
    assert session in [each["sessionId"] for each in listed]

    again.ask("session/load", sessionId=session, cwd=work, mcpServers=[])
    assert "remember the fox" in again.said(kind="user_message_chunk")
    assert "Hello from the scripted model." in again.said()
    assert [call["status"] for call in tools(again)] == ["completed"]

    assert ended(again.prompt(session, "and now?")()) == "end_turn"
    asked = json.dumps(server.requests[-1].body["messages"])
    assert "remember the fox" in asked
    assert "from a tool" in asked


def test_several_sessions_have_nothing_to_do_with_each_other(
    editor: Editor, session: str, server: ModelServer, tmp_path: Path
) -> None:
    editor.prompt(session, "in the first")()
    other = editor.ask("session/new", cwd=str(tmp_path / "work"), mcpServers=[])["sessionId"]
    assert other != session
    editor.prompt(other, "in the second")()
    assert "in the first" not in json.dumps(server.requests[-1].body)
    assert ended(editor.prompt(session, "back in the first")()) == "end_turn"
    asked = json.dumps(server.requests[-1].body)
    assert "in the first" in asked
    assert "in the second" not in asked
    assert {each["sessionId"] for each in editor.updates} == {session, other}

    editor.ask("session/delete", sessionId=other)
    listed = editor.ask("session/list", cwd=str(tmp_path / "work"))["sessions"]
    assert [each["sessionId"] for each in listed] == [session]
    with pytest.raises(AcpError):
        editor.ask("session/load", sessionId="nosuch", cwd=str(tmp_path / "work"), mcpServers=[])
