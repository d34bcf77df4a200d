"""Prompts that wait for each other, and a compaction among them."""

from collections.abc import Callable
from pathlib import Path

from linnet.testing.model_server import ModelServer
from tests.acp.editor import Editor, text
from tests.acp.test_turns import begun

Start = Callable[..., Editor]


def test_a_second_prompt_begins_when_the_first_has_ended(acp: Start, folder: Path, server: ModelServer) -> None:
    editor = acp()
    session = begun(editor, folder)
    first = editor.send("session/prompt", sessionId=session, prompt=text("!gate first"))
    second = editor.send("session/prompt", sessionId=session, prompt=text("hello"))
    server.wait_for(requests=1)
    server.release("first")
    assert editor.answer(first)["result"] == {"stopReason": "end_turn"}
    assert editor.said() == "before after"
    assert editor.answer(second)["result"] == {"stopReason": "end_turn"}
    assert editor.said() == "before afterHello from the scripted model."


def test_one_that_waits_can_be_cancelled_alone(acp: Start, folder: Path, server: ModelServer) -> None:
    editor = acp()
    session = begun(editor, folder)
    first, second, third = (
        editor.send("session/prompt", sessionId=session, prompt=text(words))
        for words in ("!gate first", "never said", "hello")
    )
    server.wait_for(requests=1)
    editor.note("$/cancel_request", requestId=second)
    assert editor.answer(second)["result"] == {"stopReason": "cancelled"}
    server.release("first")
    assert [editor.answer(each)["result"]["stopReason"] for each in (first, third)] == ["end_turn", "end_turn"]
    assert "never said" not in str(server.requests[-1].body)


def test_a_compaction_is_a_turn_that_can_be_cancelled(acp: Start, folder: Path, server: ModelServer) -> None:
    editor = acp("--compact-keep", "1", offers={"session": {"compaction": {}}})
    session = begun(editor, folder)
    for words in ("HOLD SUMMARY first", "ho"):
        editor.ask("session/prompt", sessionId=session, prompt=text(words))
    turn = editor.send("session/prompt", sessionId=session, prompt=text("/compact"))
    waiting = editor.send("session/prompt", sessionId=session, prompt=text("never said"))
    server.wait_for(requests=3)
    editor.note("session/cancel", sessionId=session)
    answers = [editor.answer(waiting), editor.answer(turn)]
    assert [each["result"] for each in answers] == [{"stopReason": "cancelled"}] * 2
    server.release("first")
    again = editor.ask("session/prompt", sessionId=session, prompt=text("/compact"))
    assert again == {"stopReason": "end_turn"}
    told = [each["status"] for each in editor.updates if each["sessionUpdate"] == "compaction_update"]
    assert told == ["in_progress", "cancelled", "in_progress", "completed"]
    assert editor.ask("session/prompt", sessionId=session, prompt=text("hello")) == {"stopReason": "end_turn"}
    assert "SUMMARY: scripted" in str(server.requests[-1].body)
