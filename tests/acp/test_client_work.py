"""What the editor does for the tools: its files, saved or not, and its terminals."""

import json
from collections.abc import Callable
from pathlib import Path
from time import monotonic

import pytest

from linnet.acp.peer import ClientFailed, ClientLate, Peer
from linnet.concurrency.cancel import CancelToken
from linnet.testing.agent import Frame
from linnet.testing.model_server import ModelServer
from tests.acp.editor import Editor, text
from tests.acp.test_turns import begun

Start = Callable[..., Editor]
FILES = {"fs": {"readTextFile": True, "writeTextFile": True}}


def test_files_are_those_of_the_editor_saved_or_not(
    acp: Start, folder: Path, tmp_path: Path, server: ModelServer
) -> None:
    (folder / "a").write_text("on disk\n")
    (tmp_path / "outside").write_text("far away\n")
    buffers = {str(folder / "a"): "not saved\n"}

    def write(params: Frame) -> None:
        buffers[params["path"]] = params["content"]

    does: dict[str, Callable[[Frame], object]] = {
        "fs/read_text_file": lambda params: {"content": buffers[params["path"]]},
        "fs/write_text_file": write,
    }
    editor = acp("--permission", "auto", offers=FILES, does=does)
    session = begun(editor, folder)
    for tool, args in (
        ("read", {"path": "a"}),
        ("edit", {"path": "a", "edits": [{"oldText": "not saved", "newText": "changed"}]}),
        ("write", {"path": "b", "content": "made"}),
        ("read", {"path": str(tmp_path / "outside")}),
    ):
        editor.ask("session/prompt", sessionId=session, prompt=text(f"!tool {tool} {json.dumps(args)}"))
    assert buffers == {str(folder / "a"): "changed\n", str(folder / "b"): "made"}
    assert (folder / "a").read_text() == "on disk\n"
    sent = json.dumps(server.requests[-1].body["messages"])
    assert "not saved" in sent
    assert "far away" in sent


def buffered(buffers: dict[str, str]) -> dict[str, Callable[[Frame], object]]:
    """What an editor does that has these files open, and none of them on disk."""

    def write(params: Frame) -> None:
        buffers[params["path"]] = params["content"]

    return {"fs/read_text_file": lambda params: {"content": buffers[params["path"]]}, "fs/write_text_file": write}


def test_a_file_that_was_never_saved_is_read_and_edited_in_the_editor(
    acp: Start, folder: Path, server: ModelServer
) -> None:
    new = str(folder / "sub" / "new")
    buffers = {new: "never saved\n"}
    editor = acp("--permission", "auto", offers=FILES, does=buffered(buffers))
    session = begun(editor, folder)
    edits = [{"oldText": "never", "newText": "not yet"}]
    for tool, args in (("read", {"path": "sub/new"}), ("edit", {"path": "sub/new", "edits": edits})):
        editor.ask("session/prompt", sessionId=session, prompt=text(f"!tool {tool} {json.dumps(args)}"))
    assert buffers == {new: "not yet saved\n"}
    assert not (folder / "sub").exists()
    assert "never saved" in json.dumps(server.requests[1].body["messages"])


@pytest.mark.parametrize("tool", ["read", "edit"])
def test_a_file_that_neither_the_editor_nor_the_disk_has_does_not_exist(
    acp: Start, folder: Path, server: ModelServer, tool: str
) -> None:
    editor = acp("--permission", "auto", offers=FILES, does=buffered({}))
    session = begun(editor, folder)
    args = {"path": "nowhere", **({"edits": [{"oldText": "a", "newText": "b"}]} if tool == "edit" else {})}
    editor.ask("session/prompt", sessionId=session, prompt=text(f"!tool {tool} {json.dumps(args)}"))
    assert [each["method"] for each in editor.asked] == ["fs/read_text_file"]
    assert "nowhere does not exist." in json.dumps(server.requests[-1].body["messages"])


def test_an_editor_is_asked_for_nothing_outside_of_the_folder_or_behind_a_link_that_leads_there(
    acp: Start, folder: Path, tmp_path: Path, server: ModelServer
) -> None:
    outside = tmp_path / "outside"
    (folder / "link").symlink_to(outside)
    buffers = {str(outside): "secret", str(folder / "link"): "secret"}
    editor = acp("--permission", "auto", offers=FILES, does=buffered(buffers))
    session = begun(editor, folder)
    for path in (str(outside), "link", "../outside"):
        editor.ask("session/prompt", sessionId=session, prompt=text(f"!tool read {json.dumps({'path': path})}"))
    assert editor.asked == []
    assert "secret" not in json.dumps(server.requests[-1].body["messages"])


def test_a_mode_that_only_reads_changes_no_file_that_was_never_saved(acp: Start, folder: Path) -> None:
    buffers = {str(folder / "new"): "never saved\n"}
    editor = acp("--permission", "read-only", offers=FILES, does=buffered(buffers))
    session = begun(editor, folder)
    args = {"path": "new", "edits": [{"oldText": "never", "newText": "x"}]}
    editor.ask("session/prompt", sessionId=session, prompt=text(f"!tool edit {json.dumps(args)}"))
    assert editor.asked == []
    assert buffers == {str(folder / "new"): "never saved\n"}


def test_whoever_is_asked_sees_what_a_write_takes_from_a_file_that_was_never_saved(acp: Start, folder: Path) -> None:
    buffers = {str(folder / "new"): "never saved\n"}
    allow = {"session/request_permission": lambda params: {"outcome": {"outcome": "cancelled"}}}
    editor = acp("--permission", "ask", offers=FILES, does={**buffered(buffers), **allow})
    session = begun(editor, folder)
    args = {"path": "new", "content": "all else\n"}
    editor.ask("session/prompt", sessionId=session, prompt=text(f"!tool write {json.dumps(args)}"))
    [question] = [each for each in editor.asked if each["method"] == "session/request_permission"]
    assert "never saved" in json.dumps(question["params"])
    assert buffers == {str(folder / "new"): "never saved\n"}


def test_what_the_editor_refuses_is_told_to_the_model_and_not_done_otherwise(
    acp: Start, folder: Path, server: ModelServer
) -> None:
    editor = acp("--permission", "auto", offers=FILES)
    session = begun(editor, folder)
    turn = editor.send("session/prompt", sessionId=session, prompt=text('!tool write {"path": "a", "content": "x"}'))
    editor.refuse(editor.until_asked("fs/read_text_file")["id"], "there is no such file")
    asked = editor.until_asked("fs/write_text_file")
    refusal = {"code": -32603, "message": "this folder is read-only"}
    editor.agent.send({"jsonrpc": "2.0", "id": asked["id"], "error": refusal})
    assert editor.answer(turn)["result"] == {"stopReason": "end_turn"}
    assert "this folder is read-only" in json.dumps(server.requests[-1].body["messages"])
    assert not (folder / "a").exists()


def test_commands_run_in_terminals_of_the_editor_which_are_released(
    acp: Start, folder: Path, server: ModelServer
) -> None:
    does: dict[str, Callable[[Frame], object]] = {
        "terminal/create": lambda params: {"terminalId": "t1"},
        "terminal/wait_for_exit": lambda params: {"exitCode": 3},
        "terminal/output": lambda params: {"output": "printed", "truncated": False, "exitStatus": {"exitCode": 3}},
        "terminal/release": lambda params: {},
    }
    editor = acp("--permission", "auto", offers={"terminal": True}, does=does)
    session = begun(editor, folder)
    editor.ask("session/prompt", sessionId=session, prompt=text('!tool bash {"command": "make"}'))
    methods = [each["method"] for each in editor.asked]
    assert methods == ["terminal/create", "terminal/wait_for_exit", "terminal/output", "terminal/release"]
    made = editor.asked[0]["params"]
    assert made["args"][-1] == "make"
    assert made["cwd"] == str(folder)
    [call] = editor.calls().values()
    assert (call["status"], call["content"]) == ("failed", [{"type": "terminal", "terminalId": "t1"}])
    sent = json.dumps(server.requests[-1].body["messages"])
    assert "printed" in sent
    assert "code 3" in sent


def test_a_cancelled_command_is_killed_in_its_terminal_and_released(acp: Start, folder: Path) -> None:
    does: dict[str, Callable[[Frame], object]] = {
        "terminal/create": lambda params: {"terminalId": "t1"},
        "terminal/kill": lambda params: {},
        "terminal/output": lambda params: {"output": "half", "truncated": False},
        "terminal/release": lambda params: {},
    }
    editor = acp("--permission", "auto", offers={"terminal": True}, does=does)
    session = begun(editor, folder)
    turn = editor.send("session/prompt", sessionId=session, prompt=text('!tool bash {"command": "make"}'))
    editor.until_asked("terminal/wait_for_exit")
    editor.note("session/cancel", sessionId=session)
    assert editor.answer(turn)["result"] == {"stopReason": "cancelled"}
    methods = [each["method"] for each in editor.asked]
    assert methods[2:] == ["terminal/kill", "terminal/output", "terminal/release"]


def test_an_editor_that_says_so_shows_what_our_own_commands_print_in_a_terminal(acp: Start, folder: Path) -> None:
    editor = acp("--permission", "auto", offers={"_meta": {"terminal_output": True}})
    session = begun(editor, folder)
    prompt = text('!tool bash {"command": "echo one; echo two; exit 3"}')
    editor.ask("session/prompt", sessionId=session, prompt=prompt)
    [[id, call]] = editor.calls().items()
    metas = [each["_meta"] for each in editor.updates if "_meta" in each]
    assert metas[0] == {"terminal_info": {"terminal_id": id, "cwd": str(folder)}}
    assert metas[-1] == {"terminal_exit": {"terminal_id": id, "exit_code": 3, "signal": None}}
    assert "".join(each["terminal_output"]["data"] for each in metas[1:-1]) == "one\ntwo\n"
    assert (call["status"], call["content"]) == ("failed", [{"type": "terminal", "terminalId": id}])
    assert "two" in call["rawOutput"]["output"]


def test_a_command_that_prints_nothing_needs_no_terminal(acp: Start, folder: Path) -> None:
    editor = acp("--permission", "auto", offers={"_meta": {"terminal_output": True}})
    session = begun(editor, folder)
    editor.ask("session/prompt", sessionId=session, prompt=text('!tool bash {"command": "true"}'))
    [call] = editor.calls().values()
    assert all(each["type"] == "content" for each in call["content"])


def test_an_editor_that_says_nothing_of_terminals_gets_text(acp: Start, folder: Path) -> None:
    editor = acp("--permission", "auto", offers={"_meta": {"terminal_output": "yes"}})
    session = begun(editor, folder)
    editor.ask("session/prompt", sessionId=session, prompt=text('!tool bash {"command": "echo one"}'))
    [call] = editor.calls().values()
    assert "one" in call["content"][0]["content"]["text"]
    assert not any("_meta" in each for each in editor.updates)


MAKES: dict[str, Callable[[Frame], object]] = {"terminal/create": lambda params: {"terminalId": "t1"}}


@pytest.mark.parametrize("does", [{}, MAKES])
def test_a_cancel_does_not_wait_for_an_editor_that_answers_nothing_about_its_terminals(
    acp: Start, folder: Path, does: dict[str, Callable[[Frame], object]]
) -> None:
    editor = acp("--permission", "auto", offers={"terminal": True}, does=does)
    session = begun(editor, folder)
    turn = editor.send("session/prompt", sessionId=session, prompt=text('!tool bash {"command": "make"}'))
    editor.until_asked("terminal/wait_for_exit" if does else "terminal/create")
    editor.note("session/cancel", sessionId=session)
    began = monotonic()
    assert editor.answer(turn)["result"] == {"stopReason": "cancelled"}
    assert monotonic() - began < 20
    assert not does or editor.asked[-1]["method"] == "terminal/release"


def test_a_terminal_that_is_made_after_a_cancel_is_released(acp: Start, folder: Path) -> None:
    editor = acp("--permission", "auto", offers={"terminal": True})
    session = begun(editor, folder)
    turn = editor.send("session/prompt", sessionId=session, prompt=text('!tool bash {"command": "make"}'))
    made = editor.until_asked("terminal/create")
    editor.note("session/cancel", sessionId=session)
    assert editor.answer(turn)["result"] == {"stopReason": "cancelled"}
    assert editor.withdrawn == [made["id"]]
    editor.reply(made["id"], {"terminalId": "late"})
    released = editor.until_asked("terminal/release")
    assert released["params"] == {"sessionId": session, "terminalId": "late"}


def test_a_command_that_takes_too_long_in_a_terminal_is_said_to_have_done_so(
    acp: Start, folder: Path, server: ModelServer
) -> None:
    ended = {"output": "half", "truncated": False, "exitStatus": {"signal": "SIGKILL"}}
    does = {**MAKES, "terminal/kill": lambda params: {}, "terminal/output": lambda params: ended}
    editor = acp("--permission", "auto", offers={"terminal": True}, does=does)
    session = begun(editor, folder)
    call = text('!tool bash {"command": "make", "timeout": 0.1}')
    assert editor.ask("session/prompt", sessionId=session, prompt=call) == {"stopReason": "end_turn"}
    methods = [each["method"] for each in editor.asked]
    assert methods[1:] == ["terminal/wait_for_exit", "terminal/kill", "terminal/output", "terminal/release"]
    sent = json.dumps(server.requests[-1].body["messages"])
    assert "half" in sent
    assert "timed out after 0.1 seconds" in sent


def test_a_client_that_is_gone_is_not_one_that_takes_too_long() -> None:
    peer = Peer(lambda line: None)
    peer.close()
    with pytest.raises(ClientFailed, match="the client is gone") as raised:
        peer.call("terminal/wait_for_exit", {}, CancelToken())
    assert not isinstance(raised.value, ClientLate)
