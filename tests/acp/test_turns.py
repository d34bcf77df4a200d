"""`linnet acp`: a prompt is one request, and what happens is told before its answer."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.testing.agent import Agent, Frame
from linnet.testing.model_server import ModelServer
from tests.acp.editor import Editor, chosen, text

Start = Callable[..., Editor]


def begun(editor: Editor, folder: Path) -> str:
    found: str = editor.ask("session/new", cwd=str(folder), mcpServers=[])["sessionId"]
    return found


def test_a_prompt_is_answered_after_all_that_is_told_of_it(acp: Start, folder: Path) -> None:
    editor = acp()
    session = begun(editor, folder)
    assert editor.ask("session/prompt", sessionId=session, prompt=text("hello")) == {"stopReason": "end_turn"}
    assert editor.said() == "Hello from the scripted model."
    kinds = [each["sessionUpdate"] for each in editor.updates]
    assert kinds[-1] == "usage_update"
    assert kinds.count("available_commands_update") == 2  # After the session, and once more: the first may be lost.
    assert "user_message_chunk" not in kinds
    [info] = [each for each in editor.updates if each["sessionUpdate"] == "session_info_update"]
    assert info["title"] == "hello"


def test_initialize_comes_first_and_says_the_newest_version_to_whoever_asks_for_another(acp: Start) -> None:
    editor = acp(offers=None)
    assert editor.fails("session/list")["code"] == -32600
    for wrong in (None, -1, 65536, 1.5, True):
        assert editor.fails("initialize", protocolVersion=wrong)["code"] == -32602
    said = editor.ask("initialize", protocolVersion=99, clientCapabilities={"auth": {"terminal": True}})
    assert said["protocolVersion"] == 1
    assert [each["id"] for each in said["authMethods"]] == ["linnet-keys", "linnet-login"]
    assert said["authMethods"][1]["args"] == ["--login"]
    assert editor.fails("initialize", protocolVersion=1)["code"] == -32600
    assert editor.ask("authenticate", methodId="linnet-keys") == {}
    assert editor.fails("authenticate", methodId="other")["code"] == -32602
    assert editor.fails("_linnet/x")["code"] == -32601


def test_a_client_whose_version_is_a_string_is_answered(acp: Start) -> None:
    """As drafts had it, and `acplint` still has."""
    assert acp(offers=None).ask("initialize", protocolVersion="1")["protocolVersion"] == 1


def test_what_is_no_request_is_answered_as_json_rpc_has_it(acp: Start) -> None:
    editor = acp()
    for line, code in ((b"{", -32700), (b"[]", -32600), (b"3", -32600), (b'{"jsonrpc":"2.0","id":{}}', -32600)):
        editor.agent.send_bytes(line + b"\n")
        frame = editor.read()
        assert frame is not None
        assert (frame["id"], frame["error"]["code"]) == (None, code)
    quiet = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "parse error"}}
    editor.agent.send(quiet, {"jsonrpc": "2.0", "id": 77, "result": {}}, {"jsonrpc": "2.0", "method": "$/x"})
    assert editor.ask("session/list")["sessions"] == []


@pytest.mark.parametrize(
    ("prompt", "stop"), [("!length", "max_tokens"), ("!loop 9 ls {}", "max_turn_requests"), ("hello", "end_turn")]
)
def test_stop_reasons(acp: Start, folder: Path, prompt: str, stop: str) -> None:
    editor = acp("--max-steps", "3", "--tools", "ls")
    session = begun(editor, folder)
    assert editor.ask("session/prompt", sessionId=session, prompt=text(prompt)) == {"stopReason": stop}


def test_a_failed_turn_is_an_error_whose_message_is_the_sentence(acp: Start, folder: Path) -> None:
    editor = acp("--retries", "0")
    session = begun(editor, folder)
    error = editor.fails("session/prompt", sessionId=session, prompt=text("!err 401 scripted failure"))
    assert "scripted failure" in error["message"]
    assert editor.ask("session/prompt", sessionId=session, prompt=text("hello")) == {"stopReason": "end_turn"}


def test_without_any_key_the_editor_is_told_to_log_in(
    spawn: Callable[..., Agent], folder: Path, tmp_path: Path
) -> None:
    editor = Editor(spawn("acp", env={"LINNET_HOME": str(tmp_path / "home")}))
    editor.ask("initialize", protocolVersion=1)
    error = editor.fails("session/new", cwd=str(folder), mcpServers=[])
    assert (error["code"], "ANTHROPIC_API_KEY" in error["message"]) == (-32000, True)
    assert editor.fails("authenticate", methodId="linnet-keys")["code"] == -32000


@pytest.mark.parametrize(
    "prompt",
    [
        "!gate never",
        "!hang",
        "!hanghead",
        '!tool bash {"command": "sleep 1000"}',
        "!fail 529 99",
        '!tool write {"path": "a", "content": "b"}',
    ],
)
def test_cancel_ends_the_turn_in_order_whatever_it_does(
    acp: Start, folder: Path, server: ModelServer, prompt: str
) -> None:
    editor = acp("--retry-delay", "1000", "--allow", "bash", offers={})
    session = begun(editor, folder)
    turn = editor.send("session/prompt", sessionId=session, prompt=text(prompt))
    waiting = editor.send("session/prompt", sessionId=session, prompt=text("never said"))
    question = -1
    if "write" in prompt:
        question = editor.until_asked("session/request_permission")["id"]
    elif "bash" in prompt:
        editor.until(lambda frame: '"in_progress"' in json.dumps(frame))
    else:
        server.wait_for(requests=1)
    editor.note("session/cancel", sessionId=session)
    answers = [editor.answer(waiting), editor.answer(turn)]
    assert [each["result"] for each in answers] == [{"stopReason": "cancelled"}] * 2
    assert all(each["status"] in ("completed", "failed") for each in editor.calls().values())
    if "write" in prompt:
        assert editor.withdrawn == [question]
        editor.reply(question, chosen("allow_once")({}))  # Too late.
    assert editor.ask("session/prompt", sessionId=session, prompt=text("hello")) == {"stopReason": "end_turn"}
    assert not (folder / "a").exists()


def test_a_request_can_be_cancelled_by_its_id(acp: Start, folder: Path, server: ModelServer) -> None:
    editor = acp()
    session = begun(editor, folder)
    turn = editor.send("session/prompt", sessionId=session, prompt=text("!gate never"))
    server.wait_for(requests=1)
    editor.note("$/cancel_request", requestId=turn)
    assert editor.answer(turn)["result"] == {"stopReason": "cancelled"}


def test_the_end_of_input_cancels_what_goes_on_and_ends_the_process(
    acp: Start, folder: Path, server: ModelServer
) -> None:
    editor = acp("--permission", "auto")
    session = begun(editor, folder)
    turn = editor.send("session/prompt", sessionId=session, prompt=text('!tool bash {"command": "sleep 1000"}'))
    editor.until(lambda frame: '"in_progress"' in json.dumps(frame))
    editor.agent.process.stdin.close()  # type: ignore[union-attr]
    assert editor.answer(turn)["result"] == {"stopReason": "cancelled"}
    while editor.read() is not None:
        pass
    assert editor.agent.process.wait(10) == 0


def test_prompts_of_several_sessions_run_side_by_side_each_in_its_folder(
    acp: Start, folder: Path, tmp_path: Path, server: ModelServer
) -> None:
    editor = acp("--permission", "auto")
    other = tmp_path / "other"
    other.mkdir()
    first, second = begun(editor, folder), begun(editor, other)
    call = '!tool write {"path": "here", "content": "x"}'
    turns = [editor.send("session/prompt", sessionId=each, prompt=text(call)) for each in (first, second)]
    done: list[Frame] = [editor.until(lambda frame: "method" not in frame) for _ in turns]
    assert sorted(each["id"] for each in done) == turns
    assert (folder / "here").exists()
    assert (other / "here").exists()


def test_content_of_prompts_reaches_the_model(acp: Start, folder: Path, server: ModelServer) -> None:
    editor = acp()
    session = begun(editor, folder)
    dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    prompt = [
        {"type": "text", "text": "look at "},
        {"type": "resource_link", "uri": "file:///a/b%20c.py", "name": "b c.py"},
        {"type": "resource", "resource": {"uri": "file:///a/d.py", "text": "enclosed"}},
        {"type": "image", "data": dot, "mimeType": "image/png"},
    ]
    editor.ask("session/prompt", sessionId=session, prompt=prompt)
    sent = json.dumps(server.requests[-1].body["messages"])
    assert all(words in sent for words in ("look at @/a/b c.py", "enclosed", "/a/d.py", dot))
    for wrong in ([], text("  "), [{"type": "audio", "data": "", "mimeType": "audio/wav"}], [{"type": "x"}]):
        assert editor.fails("session/prompt", sessionId=session, prompt=wrong)["code"] == -32602
    assert editor.fails("session/prompt", sessionId="nobody", prompt=text("x"))["code"] == -32002
