"""Sessions are linnet's own files: listed, told again in full, gone on with, copied, closed and removed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from linnet.testing.agent import Frame
from linnet.testing.model_server import ModelServer
from tests.acp.editor import Editor, chosen, text
from tests.acp.test_turns import begun

Start = Callable[..., Editor]
STEPS = (
    "!think",
    '!tool write {"path": "a", "content": "new\\n"}',
    '!tool edit {"path": "a", "edits": [{"oldText": "new", "newText": "old"}]}',
    '!tool bash {"command": "echo out; exit 3"}',
    '!tool bash {"command": "true"}',
)


def shown(editor: Editor) -> tuple[list[tuple[str, str, str]], dict[str, Frame]]:
    """What was said, by the kind and the id of the message, and the calls as they ended."""
    said: list[tuple[str, str, str]] = []
    for each in editor.updates:
        if each["sessionUpdate"] in ("agent_message_chunk", "agent_thought_chunk"):
            key, words = (each["sessionUpdate"], each["messageId"]), each["content"]["text"]
            if said and said[-1][:2] == key:
                said[-1] = (*key, said[-1][2] + words)
            else:
                said.append((*key, words))
    calls = editor.calls()
    return said, {id: {**call, "sessionUpdate": "", "content": call.get("content")} for id, call in calls.items()}


def test_what_is_told_again_is_what_was_told(acp: Start, folder: Path, server: ModelServer) -> None:
    (folder / "a").write_text("before\n")
    live = acp(does={"session/request_permission": chosen("allow_once")})
    session = begun(live, folder)
    for step in STEPS:
        live.ask("session/prompt", sessionId=session, prompt=text(step))
    live.ask("session/close", sessionId=session)
    assert live.fails("session/prompt", sessionId=session, prompt=text("x"))["code"] == -32002
    again = live  # The same connection may open it again.
    before = shown(live)
    again.updates.clear()
    again.ask("session/load", sessionId=session, cwd=str(folder), mcpServers=[])
    assert shown(again) == before
    assert again.said("user_message_chunk") == "".join(STEPS)
    assert again.said("agent_thought_chunk")
    diffs = [each for call in again.calls().values() for each in call["content"] if each["type"] == "diff"]
    path = str(folder / "a")
    assert diffs == [
        {"type": "diff", "path": path, "oldText": "before\n", "newText": "new\n"},
        {"type": "diff", "path": path, "oldText": "new", "newText": "old"},
    ]
    assert [call["status"] for call in again.calls().values()] == ["completed", "completed", "failed", "completed"]
    again.ask("session/prompt", sessionId=session, prompt=text("hello"))
    assert len(server.requests[-1].body["messages"]) > 6  # The model has it, too.


def test_sessions_are_listed_resumed_copied_and_removed(acp: Start, folder: Path, tmp_path: Path) -> None:
    editor = acp()
    session = begun(editor, folder)
    editor.ask("session/prompt", sessionId=session, prompt=text("hello"))
    copy = editor.ask("session/fork", sessionId=session, cwd=str(folder))["sessionId"]
    assert copy != session
    editor.ask("session/close", sessionId=session)
    editor.ask("session/close", sessionId=copy)
    assert editor.fails("session/close", sessionId=session)["code"] == -32002
    listed = editor.ask("session/list", cwd=str(folder))["sessions"]
    assert {each["sessionId"] for each in listed} == {session, copy}
    assert {each["title"] for each in listed} == {"hello"}
    assert editor.ask("session/list", cwd=str(tmp_path))["sessions"] == []
    assert editor.fails("session/list", cursor="nonsense")["code"] == -32602
    editor.updates.clear()
    editor.ask("session/resume", sessionId=session, cwd=str(folder))
    assert editor.said() == editor.said("user_message_chunk") == ""
    elsewhere: dict[str, Any] = {"sessionId": copy, "cwd": str(tmp_path), "mcpServers": []}
    assert editor.fails("session/load", **elsewhere)["code"] == -32602
    for id in (session, session, "nobody"):
        assert editor.ask("session/delete", sessionId=id) == {}
    assert [each["sessionId"] for each in editor.ask("session/list")["sessions"]] == [copy]
    for id in (session, "/etc/passwd", copy[:8], ""):
        assert editor.fails("session/load", **{**elsewhere, "sessionId": id})["code"] == -32002


def test_a_copy_of_a_session_in_which_nothing_was_said_is_a_new_one(acp: Start, folder: Path) -> None:
    editor = acp()
    session = begun(editor, folder)
    copy = editor.ask("session/fork", sessionId=session, cwd=str(folder))["sessionId"]
    assert copy != session
    assert editor.ask("session/prompt", sessionId=copy, prompt=text("hello")) == {"stopReason": "end_turn"}


def test_where_a_session_cannot_be_the_reason_is_said(acp: Start, folder: Path) -> None:
    editor = acp()
    for params in (
        {"cwd": "relative", "mcpServers": []},
        {"cwd": str(folder / "missing"), "mcpServers": []},
        {"cwd": str(folder)},
        {"cwd": str(folder), "mcpServers": [{"type": "sse", "name": "x", "url": "http://x", "headers": []}]},
        {"cwd": str(folder), "mcpServers": [{"type": "acp", "name": "x"}]},
        {"cwd": str(folder), "mcpServers": [], "additionalDirectories": ["/tmp"]},
    ):
        assert editor.fails("session/new", **params)["code"] == -32602


def test_without_sessions_on_disk_nothing_about_them_is_offered(acp: Start, folder: Path) -> None:
    editor = acp("--no-session", offers=None)
    said = editor.ask("initialize", protocolVersion=1)["agentCapabilities"]
    assert (said["loadSession"], said["sessionCapabilities"]) == (False, {"close": {}})
    session = begun(editor, folder)
    assert editor.ask("session/prompt", sessionId=session, prompt=text("hello")) == {"stopReason": "end_turn"}
    assert editor.fails("session/list")["code"] == -32601


def test_sessions_of_a_folder_are_listed_however_the_folder_is_spelled(
    acp: Start, folder: Path, tmp_path: Path
) -> None:
    editor = acp()
    link = tmp_path / "link"
    link.symlink_to(folder)
    ways = [str(folder), f"{folder}/", str(link)]
    sessions = set()
    for way in ways:
        session = editor.ask("session/new", cwd=way, mcpServers=[])["sessionId"]
        editor.ask("session/prompt", sessionId=session, prompt=text("hello"))
        sessions.add(session)
    for way in ways:
        assert {each["sessionId"] for each in editor.ask("session/list", cwd=way)["sessions"]} == sessions
