"""What extensions ask: in a form where the editor has forms, with options where it has none, or not at all."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.agent import Frame
from linnet.testing.model_server import ModelServer
from tests.acp.editor import Editor, chosen, text
from tests.acp.test_turns import begun

Start = Callable[..., Editor]
FORMS: Frame = {"elicitation": {"form": {}}}
ASKS = """
def extend(linnet):
    @linnet.tool
    def ask(what: str, ctx) -> str:
        "Ask the user."
        if what == "confirm":
            return repr(ctx.confirm("Go on?", "It is late."))
        if what == "select":
            return repr(ctx.select("Which?", ["red", "blue"]))
        if what == "input":
            return repr(ctx.input("Name?", "a name"))
        return repr(ctx.editor("Text?", "begin"))
"""


@pytest.fixture
def asks(tmp_path: Path) -> tuple[str, ...]:
    file = tmp_path / "asks.py"
    file.write_text(ASKS)
    return "-e", str(file), "--permission", "auto"


def asked(editor: Editor, folder: Path, what: str) -> tuple[str, int]:
    """Begin a session and a turn in which this is asked."""
    session = begun(editor, folder)
    call = f"!tool ask {json.dumps({'what': what})}"
    return session, editor.send("session/prompt", sessionId=session, prompt=text(call))


def told(server: ModelServer) -> str:
    """What the tool returned, as the model was told."""
    result: Any = server.requests[-1].body["messages"][-1]["content"][0]["content"]
    return result if isinstance(result, str) else "".join(part["text"] for part in result)


@pytest.mark.parametrize(
    ("what", "answer", "result"),
    [
        ("confirm", {"action": "accept", "content": {"value": True}}, "True"),
        ("confirm", {"action": "accept", "content": {"value": "yes"}}, "False"),
        ("confirm", {"action": "decline"}, "False"),
        ("select", {"action": "accept", "content": {"value": "blue"}}, "'blue'"),
        ("select", {"action": "accept", "content": {"value": "green"}}, "None"),
        ("input", {"action": "accept", "content": {"value": "Ann"}}, "'Ann'"),
        ("input", {"action": "cancel"}, "None"),
        ("editor", {"action": "accept", "content": {"value": "a\nb"}}, "'a\\nb'"),
        ("editor", {"action": "accept"}, "None"),
    ],
)
def test_in_a_form(
    acp: Start, folder: Path, server: ModelServer, asks: Any, what: str, answer: Frame, result: str
) -> None:
    editor = acp(*asks, offers=FORMS, does={"elicitation/create": lambda params: answer})
    _, turn = asked(editor, folder, what)
    assert editor.answer(turn)["result"] == {"stopReason": "end_turn"}
    assert told(server) == result
    [form] = [each["params"] for each in editor.asked]
    field = form["requestedSchema"]["properties"]["value"]
    assert field.get("enum", ["red", "blue"]) == ["red", "blue"]
    assert field.get("default", "begin") == "begin"


@pytest.mark.parametrize(
    ("what", "answer", "result"),
    [
        ("confirm", chosen("0")({}), "True"),
        ("confirm", chosen("none")({}), "False"),
        ("confirm", {"outcome": {"outcome": "cancelled"}}, "False"),
        ("select", chosen("1")({}), "'blue'"),
        ("select", chosen("none")({}), "None"),
        ("select", chosen("7")({}), "None"),
        ("select", {}, "None"),
    ],
)
def test_with_options_where_there_are_no_forms(
    acp: Start, folder: Path, server: ModelServer, asks: Any, what: str, answer: Frame, result: str
) -> None:
    editor = acp(*asks, does={"session/request_permission": lambda params: answer})
    _, turn = asked(editor, folder, what)
    assert editor.answer(turn)["result"] == {"stopReason": "end_turn"}
    assert told(server) == result
    [question] = [each["params"] for each in editor.asked]
    call = editor.calls()[question["toolCall"]["toolCallId"]]
    assert (call["title"], call["status"]) == ("Go on?" if what == "confirm" else "Which?", "completed")
    assert [each["name"] for each in question["options"]] == (
        ["Yes", "No"] if what == "confirm" else ["red", "blue", "None of these"]
    )


@pytest.mark.parametrize("what", ["input", "editor"])
def test_a_text_that_nobody_can_be_asked_for_is_none(
    acp: Start, folder: Path, server: ModelServer, asks: Any, what: str
) -> None:
    editor = acp(*asks)
    _, turn = asked(editor, folder, what)
    assert editor.answer(turn)["result"] == {"stopReason": "end_turn"}
    assert (told(server), editor.asked) == ("None", [])


@pytest.mark.parametrize("offers", [FORMS, {}])
def test_a_question_that_is_open_is_withdrawn_when_its_turn_is_cancelled(
    acp: Start, folder: Path, server: ModelServer, asks: Any, offers: Frame
) -> None:
    editor = acp(*asks, offers=offers)
    session, turn = asked(editor, folder, "confirm")
    question = editor.until_asked("elicitation/create" if offers else "session/request_permission")
    editor.note("session/cancel", sessionId=session)
    assert editor.answer(turn)["result"] == {"stopReason": "cancelled"}
    assert editor.withdrawn == [question["id"]]
    assert {each["status"] for each in editor.calls().values()} == {"failed"}
    editor.reply(question["id"], {"action": "accept", "content": {"value": True}} if offers else chosen("0")({}))
    assert editor.ask("session/prompt", sessionId=session, prompt=text("hello")) == {"stopReason": "end_turn"}


@pytest.mark.parametrize(
    "answer", [{"action": "decline"}, {"action": "accept", "content": {"value": 3}}, {"action": "accept"}]
)
def test_a_no_stays_a_no_when_no_reason_is_given(acp: Start, folder: Path, server: ModelServer, answer: Frame) -> None:
    does = {
        "session/request_permission": chosen("reject_with_reason"),
        "elicitation/create": lambda params: answer,
    }
    editor = acp(offers=FORMS, does=does)
    session = begun(editor, folder)
    call = text('!tool write {"path": "made", "content": "x"}')
    assert editor.ask("session/prompt", sessionId=session, prompt=call) == {"stopReason": "end_turn"}
    assert [each["method"] for each in editor.asked] == ["session/request_permission", "elicitation/create"]
    assert not (folder / "made").exists()


def test_a_reason_that_is_still_being_typed_is_withdrawn_on_cancel(acp: Start, folder: Path) -> None:
    editor = acp(offers=FORMS, does={"session/request_permission": chosen("reject_with_reason")})
    session = begun(editor, folder)
    call = text('!tool write {"path": "made", "content": "x"}')
    turn = editor.send("session/prompt", sessionId=session, prompt=call)
    form = editor.until_asked("elicitation/create")
    editor.note("session/cancel", sessionId=session)
    assert editor.answer(turn)["result"] == {"stopReason": "cancelled"}
    assert editor.withdrawn == [form["id"]]
    assert not (folder / "made").exists()
