"""Prompts that wait for each other, and a compaction among them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.testing.agent import Frame
from linnet.testing.model_server import ModelServer
from tests.acp.editor import Editor, text
from tests.acp.test_turns import begun

Start = Callable[..., Editor]


def answers(editor: Editor, *ids: int) -> dict[int, Frame]:
    """Return the responses to these requests, in whatever order they come."""
    found: dict[int, Frame] = {}
    while len(found) < len(ids):
        frame = editor.until(lambda frame: "method" not in frame)
        found[frame["id"]] = frame
    assert set(found) == set(ids)
    return found


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


@pytest.mark.parametrize("by_id", [True, False])
def test_one_that_came_while_something_else_takes_its_time_can_be_cancelled(
    acp: Start, folder: Path, server: ModelServer, by_id: bool
) -> None:
    """A client may send both in one write, behind a request that is not answered at once."""
    editor = acp()
    session = begun(editor, folder)
    listed = editor.send("session/list")
    turn = editor.send("session/prompt", sessionId=session, prompt=text("!hang"))
    if by_id:
        editor.note("$/cancel_request", requestId=turn)
    else:
        editor.note("session/cancel", sessionId=session)
    assert answers(editor, listed, turn)[turn]["result"] == {"stopReason": "cancelled"}
    assert editor.ask("session/prompt", sessionId=session, prompt=text("hello")) == {"stopReason": "end_turn"}


def test_one_for_a_session_that_is_being_opened_can_be_cancelled(acp: Start, folder: Path, server: ModelServer) -> None:
    editor = acp()
    session = begun(editor, folder)
    editor.ask("session/prompt", sessionId=session, prompt=text("hello"))
    editor.ask("session/close", sessionId=session)
    loaded = editor.send("session/load", sessionId=session, cwd=str(folder), mcpServers=[])
    turn = editor.send("session/prompt", sessionId=session, prompt=text("!hang"))
    editor.note("session/cancel", sessionId=session)
    assert answers(editor, loaded, turn)[turn]["result"] == {"stopReason": "cancelled"}
    assert editor.ask("session/prompt", sessionId=session, prompt=text("hello")) == {"stopReason": "end_turn"}


def test_the_end_of_input_ends_what_waits_for_something_else(acp: Start, folder: Path) -> None:
    editor = acp()
    session = begun(editor, folder)
    listed = editor.send("session/list")
    turn = editor.send("session/prompt", sessionId=session, prompt=text("!hang"))
    editor.agent.process.stdin.close()  # type: ignore[union-attr]
    assert answers(editor, listed, turn)[turn]["result"] == {"stopReason": "cancelled"}
    assert editor.agent.process.wait(10) == 0


SPEAKS = """
from threading import Thread

def extend(linnet):
    @linnet.command("later", description="Say what will be written to a pipe")
    def later(args, ctx):
        Thread(target=lambda: ctx.say(open(args).read()), daemon=True).start()
"""


@pytest.mark.parametrize("prompts", [0, 1, 2])
def test_what_an_extension_has_begun_is_cancelled_with_what_waits_for_it(
    acp: Start, folder: Path, tmp_path: Path, server: ModelServer, prompts: int
) -> None:
    (tmp_path / "speaks.py").write_text(SPEAKS)
    editor = acp("-e", str(tmp_path / "speaks.py"))
    session = begun(editor, folder)
    os.mkfifo(tmp_path / "pipe")
    said = editor.ask("session/prompt", sessionId=session, prompt=text(f"/later {tmp_path / 'pipe'}"))
    assert said == {"stopReason": "end_turn"}
    (tmp_path / "pipe").write_text("!hang")
    server.wait_for(requests=1)
    turns = [editor.send("session/prompt", sessionId=session, prompt=text("never said")) for _ in range(prompts)]
    editor.note("session/cancel", sessionId=session)
    server.wait_for(disconnects=1)
    assert all(each["result"] == {"stopReason": "cancelled"} for each in answers(editor, *turns).values())
    assert editor.ask("session/prompt", sessionId=session, prompt=text("hello")) == {"stopReason": "end_turn"}
