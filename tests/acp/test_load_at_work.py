"""A session that is open and at work is told again with what of it goes on, and nothing is told twice."""

import json
from collections.abc import Callable
from pathlib import Path

from linnet.testing.agent import Frame
from linnet.testing.model_server import ModelServer
from tests.acp.editor import Editor, text
from tests.acp.test_turns import begun

Start = Callable[..., Editor]


def load(editor: Editor, session: str, folder: Path) -> None:
    editor.updates.clear()
    editor.ask("session/load", sessionId=session, cwd=str(folder), mcpServers=[])


def kinds(editor: Editor) -> list[str]:
    rest = ("available_commands_update", "usage_update", "session_info_update")
    return [each["sessionUpdate"] for each in editor.updates if each["sessionUpdate"] not in rest]


def test_half_a_reply_is_told_and_the_rest_follows_with_the_same_id(
    acp: Start, folder: Path, server: ModelServer
) -> None:
    editor = acp()
    session = begun(editor, folder)
    editor.ask("session/prompt", sessionId=session, prompt=text("hello"))
    turn = editor.send("session/prompt", sessionId=session, prompt=text("!gate here"))
    editor.until(lambda frame: "before " in str(frame))
    load(editor, session, folder)
    assert editor.said() == "Hello from the scripted model.before "
    assert editor.said("user_message_chunk") == "hello!gate here"
    server.release("here")
    assert editor.answer(turn)["result"] == {"stopReason": "end_turn"}
    assert editor.said() == "Hello from the scripted model.before after"
    ids = [each["messageId"] for each in editor.updates if each["sessionUpdate"] == "agent_message_chunk"]
    assert len(set(ids)) == 2
    assert ids[-1] == ids[-2]


def test_a_cancel_reaches_the_turn_after_it_was_told_again(acp: Start, folder: Path, server: ModelServer) -> None:
    editor = acp()
    session = begun(editor, folder)
    turn = editor.send("session/prompt", sessionId=session, prompt=text("!gate never"))
    editor.until(lambda frame: "before " in str(frame))
    load(editor, session, folder)
    editor.note("session/cancel", sessionId=session)
    assert editor.answer(turn)["result"] == {"stopReason": "cancelled"}


def test_calls_are_told_as_they_stand(acp: Start, folder: Path, server: ModelServer) -> None:
    """One is over, one prints, and one is asked about."""
    editor = acp("--allow", "bash")
    session = begun(editor, folder)
    commands = ["bash", {"command": "echo one"}], ["bash", {"command": "echo two; sleep 1000"}]
    said = "!tools " + json.dumps([*commands, ["write", {"path": "a", "content": "b"}]])
    turn = editor.send("session/prompt", sessionId=session, prompt=text(said))
    question: list[Frame] = []

    def standing(frame: Frame) -> bool:
        question.extend([frame] if frame.get("method") == "session/request_permission" else [])
        seen = [(each.get("status"), str(each.get("content"))) for each in editor.calls().values()]
        return (
            len(seen) == 3
            and seen[0][0] == "completed"
            and seen[1][0] == "in_progress"
            and "two" in seen[1][1]
            and bool(question)
        )

    editor.until(standing)
    before = editor.calls()
    load(editor, session, folder)
    again = editor.calls()
    wanted = ("title", "status", "content", "rawInput", "locations")
    assert [{name: each.get(name) for name in wanted} for each in again.values()] == [
        {name: each.get(name) for name in wanted} for each in before.values()
    ]
    assert list(again) == list(before)
    editor.note("session/cancel", sessionId=session)
    assert editor.answer(turn)["result"] == {"stopReason": "cancelled"}
    assert [each["status"] for each in editor.calls().values()] == ["completed", "failed", "failed"]


def test_a_terminal_that_shows_what_is_printed_is_told_again(acp: Start, folder: Path) -> None:
    editor = acp("--allow", "bash", offers={"_meta": {"terminal_output": True}})
    session = begun(editor, folder)
    call = text('!tool bash {"command": "echo one; sleep 1000"}')
    turn = editor.send("session/prompt", sessionId=session, prompt=call)
    editor.until(lambda frame: "terminal_output" in str(frame))
    load(editor, session, folder)
    [[id, call_again]] = editor.calls().items()
    metas = [each["_meta"] for each in editor.updates if "_meta" in each]
    assert metas[0] == {"terminal_info": {"terminal_id": id, "cwd": str(folder)}}
    assert metas[1] == {"terminal_output": {"terminal_id": id, "data": "one\n"}}
    assert (call_again["status"], call_again["content"]) == ("in_progress", [{"type": "terminal", "terminalId": id}])
    editor.note("session/cancel", sessionId=session)
    assert editor.answer(turn)["result"] == {"stopReason": "cancelled"}


def test_lists_longer_than_a_page_are_read_with_cursors(acp: Start, folder: Path) -> None:
    editor = acp()
    session = begun(editor, folder)
    editor.ask("session/prompt", sessionId=session, prompt=text("hello"))
    wanted = {session}
    while len(wanted) < 120:
        copy = editor.ask("session/fork", sessionId=session, cwd=str(folder))["sessionId"]
        editor.ask("session/close", sessionId=copy)
        wanted.add(copy)
    found: list[str] = []
    page = editor.ask("session/list", cwd=str(folder))
    sizes = [len(page["sessions"])]
    found += [each["sessionId"] for each in page["sessions"]]
    while (cursor := page.get("nextCursor")) is not None:
        page = editor.ask("session/list", cwd=str(folder), cursor=cursor)
        sizes.append(len(page["sessions"]))
        found += [each["sessionId"] for each in page["sessions"]]
    assert (len(found), set(found)) == (120, wanted)
    assert sizes == [50, 50, 20]
    for wrong in ("nonsense", "", "é", "MTIz!", "e30=", "\0"):
        assert editor.fails("session/list", cursor=wrong)["code"] == -32602
