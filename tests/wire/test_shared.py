"""Clients that are not the only ones of their agent are told of the answers that others give."""

import json

import pytest

from linnet.core.events import QuestionClosed
from linnet.core.messages import ToolCall
from linnet.core.questions import Confirm, Question, RunClientTool
from linnet.wire.dialect import Dialect
from linnet.wire.pi.dialect import Pi
from linnet.wire.pi.generations import PI_1
from linnet.wire.zot.dialect import Zot
from tests.wire.test_encoders import printed

CLOSED = {"confirm": ("extension_ui_closed", "question_closed"), "tool": ("tool_request_closed", "tool_request_closed")}
QUESTIONS: dict[str, Question] = {"confirm": Confirm("sure?"), "tool": RunClientTool(ToolCall("c", "t", {}))}


@pytest.mark.parametrize("kind", CLOSED)
@pytest.mark.parametrize(
    ("alone", "shared", "at"),
    [(Pi(), Pi(shared=True), 0), (Pi(PI_1), Pi(PI_1, shared=True), 0), (Zot(), Zot(shared=True), 1)],
)
def test_an_answer_is_told_to_those_who_are_not_alone(kind: str, alone: Dialect, shared: Dialect, at: int) -> None:
    event = QuestionClosed("q", QUESTIONS[kind], "answered")
    assert printed(alone.encoder(), [event]) == b""
    told = json.loads(printed(shared.encoder(), [event]))
    assert (told["type"], told["reason"]) == (CLOSED[kind][at], "answered")
    expired = [QuestionClosed("q", QUESTIONS[kind], "expired")]
    assert printed(alone.encoder(), expired) == printed(shared.encoder(), expired)
