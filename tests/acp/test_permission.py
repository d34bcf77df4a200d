"""Questions for permission: what the user says holds, and everything else is a no."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.agent import Frame
from tests.acp.editor import Editor, chosen, text
from tests.acp.test_turns import begun
from tests.suite.times import times

Start = Callable[..., Editor]
WRITE = '!tool write {"path": "made", "content": "x"}'
CALLS = 50


def answered(editor: Editor, method: str, answer: Frame) -> Frame:
    asked = editor.until_asked(method)
    editor.agent.send({"jsonrpc": "2.0", "id": asked["id"], **answer})
    return asked


@pytest.mark.parametrize(
    "answer",
    [
        {"error": {"code": -32603, "message": "no"}},
        {"result": {"outcome": {"outcome": "cancelled"}}},
        {"result": {"outcome": {"outcome": "selected", "optionId": "something"}}},
        {"result": {"outcome": {"outcome": "allow_once"}}},
        {"result": {"outcome": "selected", "optionId": "allow_once"}},
        {"result": True},
        {"result": None},
        {"result": {"outcome": {"outcome": "selected", "optionId": "reject_once"}}},
    ],
)
def test_what_is_no_clear_yes_is_a_no(acp: Start, folder: Path, answer: Frame) -> None:
    editor = acp()
    session = begun(editor, folder)
    turn = editor.send("session/prompt", sessionId=session, prompt=text(WRITE))
    asked = answered(editor, "session/request_permission", answer)
    assert editor.answer(turn)["result"] == {"stopReason": "end_turn"}
    assert not (folder / "made").exists()
    assert asked["params"]["options"][0]["kind"] == "allow_once"
    call = asked["params"]["toolCall"]
    assert call["status"] == "pending"
    assert call["content"] == [{"type": "diff", "path": str(folder / "made"), "oldText": None, "newText": "x"}]
    assert editor.calls()[call["toolCallId"]]["status"] == "failed"
    assert not any(each.get("status") == "in_progress" for each in editor.updates)


@pytest.mark.parametrize(
    ("option", "questions", "made"),
    [("allow_once", 2, True), ("allow_always", 1, True), ("reject_once", 2, False), ("reject_always", 1, False)],
)
def test_once_and_always(acp: Start, folder: Path, option: str, questions: int, made: bool) -> None:
    editor = acp(does={"session/request_permission": chosen(option)})
    session = begun(editor, folder)
    for _ in range(2):
        editor.ask("session/prompt", sessionId=session, prompt=text(WRITE))
    assert len(editor.asked) == questions
    assert (folder / "made").exists() is made


def test_a_reason_is_asked_for_in_a_form_and_reaches_the_model(acp: Start, folder: Path, server: Any) -> None:
    does = {
        "session/request_permission": chosen("reject_with_reason"),
        "elicitation/create": lambda params: {"action": "accept", "content": {"value": "use another name"}},
    }
    editor = acp(offers={"elicitation": {"form": {}}}, does=does)
    session = begun(editor, folder)
    editor.ask("session/prompt", sessionId=session, prompt=text(WRITE))
    assert "use another name" in str(server.requests[-1].body["messages"])
    assert not (folder / "made").exists()


def test_modes_hold_at_once_and_are_in_step_with_the_option(acp: Start, folder: Path) -> None:
    editor = acp()
    said = editor.ask("session/new", cwd=str(folder), mcpServers=[])
    session = said["sessionId"]
    assert said["modes"]["currentModeId"] == "ask"
    assert [each["category"] for each in said["configOptions"]] == ["mode", "model", "thought_level"]
    editor.ask("session/set_mode", sessionId=session, modeId="auto")
    editor.ask("session/prompt", sessionId=session, prompt=text(WRITE))
    assert editor.asked == []
    assert (folder / "made").exists()
    listed = editor.ask("session/set_config_option", sessionId=session, configId="mode", value="read-only")
    assert listed["configOptions"][0]["currentValue"] == "read-only"
    (folder / "made").unlink()
    editor.ask("session/prompt", sessionId=session, prompt=text(WRITE))
    assert not (folder / "made").exists()
    modes = [each["currentModeId"] for each in editor.updates if each["sessionUpdate"] == "current_mode_update"]
    assert modes == ["auto", "read-only"]
    assert editor.fails("session/set_mode", sessionId=session, modeId="off")["code"] == -32602
    for wrong in ({"configId": "x", "value": "y"}, {"configId": "model", "value": "no/such"}):
        assert editor.fails("session/set_config_option", sessionId=session, **wrong)["code"] == -32602


def test_a_thousand_denied_calls_and_none_has_run(acp: Start, folder: Path) -> None:
    answers = ["reject_once", "nonsense", "reject_once"]

    def deny(params: Frame) -> Frame:
        answers.append(answers.pop(0))
        return chosen(answers[0])(params)

    editor = acp("--max-steps", "9999", does={"session/request_permission": deny})
    session = begun(editor, folder)
    denied = 0
    while denied < times(1000):
        call = "!tools " + json.dumps([["bash", {"command": f"touch {folder}/ran"}]] * CALLS)
        assert editor.ask("session/prompt", sessionId=session, prompt=text(call)) == {"stopReason": "end_turn"}
        denied += CALLS
    assert len(editor.asked) >= denied
    assert list(folder.iterdir()) == []
