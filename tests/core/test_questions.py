"""Answers, checked against what was asked."""

import pytest

from linnet.core.messages import ToolCall
from linnet.core.questions import (
    ALLOW_ONCE,
    ALLOW_SESSION,
    DENY,
    Chosen,
    Confirm,
    Confirmed,
    Dismissed,
    EditText,
    EnterText,
    Given,
    Permit,
    Permitted,
    Question,
    Reply,
    RunClientTool,
    Select,
    understood,
)
from linnet.errors import BadInput

CALL = ToolCall("1", "bash", {})
PERMIT = Permit(CALL, "Allow bash?")


@pytest.mark.parametrize(
    ("question", "given", "reply"),
    [
        (Confirm("sure?"), Given(confirmed=True), Confirmed(True)),
        (Confirm("sure?"), Given(confirmed=False, reason="no"), Confirmed(False, "no")),
        (Confirm("sure?"), Given(cancelled=True), Dismissed()),
        (Select("which?", ("a", "b")), Given("b"), Chosen("b")),
        (EnterText("name?"), Given(""), Chosen("")),
        (EditText("text?"), Given("x\ny"), Chosen("x\ny")),
        (PERMIT, Given(ALLOW_ONCE), Permitted(True)),
        (PERMIT, Given(ALLOW_SESSION), Permitted(True, always=True)),
        (PERMIT, Given(DENY, reason="never"), Permitted(False, reason="never")),
        (PERMIT, Given(confirmed=True), Permitted(True)),
        (PERMIT, Given(confirmed=False), Permitted(False)),
        (PERMIT, Given(cancelled=True), Permitted(False)),
    ],
)
def test_an_answer_that_fits_is_understood(question: Question, given: Given, reply: Reply) -> None:
    assert understood(question, given) == reply


@pytest.mark.parametrize(
    ("question", "given"),
    [
        (Confirm("sure?"), Given()),
        (Confirm("sure?"), Given("yes")),
        (Select("which?", ("a", "b")), Given("c")),
        (Select("which?", ("a", "b")), Given()),
        (EnterText("name?"), Given(confirmed=True)),
        (PERMIT, Given()),
        (PERMIT, Given("yes")),
        (PERMIT, Given("yes", confirmed=True)),
        (RunClientTool(CALL), Given("x")),
    ],
)
def test_one_that_does_not_is_refused(question: Question, given: Given) -> None:
    with pytest.raises(BadInput):
        understood(question, given)
