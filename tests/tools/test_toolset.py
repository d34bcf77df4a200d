"""Toolsets beside each other: whose a name is, and what comes and goes."""

import logging
from collections.abc import Sequence

import pytest

from linnet.concurrency.cancel import CancelToken
from linnet.core.messages import Text, ToolCall
from linnet.core.toolspec import ToolSpec
from linnet.errors import Cancelled
from linnet.processes.process import Processes
from linnet.tools.context import ToolContext
from linnet.tools.spec import ToolOutput
from linnet.tools.toolset import Combined, Guarded, Toolset, clash


class Having:
    """A toolset with these names, all of which say the same. `ran` are those that did run."""

    def __init__(self, says: str, *names: str) -> None:
        self.says = says
        self.names: tuple[str, ...] = names
        self.ran: list[str] = []

    @property
    def specs(self) -> Sequence[ToolSpec]:
        return [ToolSpec(name, "", {}) for name in self.names]

    def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        self.ran.append(call.name)
        return ToolOutput((Text(f"{self.says}: {call.name}"),))


def run(tools: Toolset, name: str) -> str:
    output = tools.run(ToolCall("1", name, {}), ToolContext("/", CancelToken(), lambda text: None, Processes()))
    [part] = output.content
    assert isinstance(part, Text)
    return part.text


def test_a_name_that_two_have_is_the_firsts_and_both_owners_are_named_once(caplog: pytest.LogCaptureFixture) -> None:
    tools = Combined(("linnet itself", Having("a", "z", "x")), ("the client", Having("b", "x", "y")))
    with caplog.at_level(logging.WARNING, "linnet.tools"):
        for _ in range(3):
            assert [spec.name for spec in tools.specs] == ["x", "y", "z"]
    assert [record.getMessage() for record in caplog.records] == [
        'the tool "x" is declared twice: by linnet itself and by the client; the first one is kept'
    ]
    assert [run(tools, name) for name in "xyz"] == ["a: x", "b: y", "a: z"]


def test_tools_come_and_go_and_what_nobody_has_is_the_firsts_to_refuse() -> None:
    second = Having("b")
    tools = Combined(("one", Having("a", "x")), ("two", second))
    assert run(tools, "y") == "a: y"
    second.names = ("y",)
    assert [spec.name for spec in tools.specs] == ["x", "y"]
    assert run(tools, "y") == "b: y"


def test_a_clash_names_the_first_two_that_claim_a_name() -> None:
    assert clash([("a", "one"), ("b", "two"), ("b", "three"), ("a", "three")]) == (
        'the tool "b" is declared twice: by two and by three'
    )
    assert clash([("a", "one"), ("b", "one")]) == ""


class Deciding:
    """A gate that says this, and whose thread is overtaken by an abort while it does."""

    def __init__(self, reason: str, *, aborted: bool = False) -> None:
        self.reason = reason
        self.aborted = aborted

    def refusal(self, call: ToolCall, context: ToolContext, **how: object) -> str:
        if self.aborted:
            assert isinstance(context.cancel, CancelToken)
            context.cancel.set()
        return self.reason

    def finding(self, call: ToolCall) -> None:
        """It may find everything."""


def test_what_was_allowed_and_aborted_before_it_began_does_not_run() -> None:
    inner = Having("a", "x")
    with pytest.raises(Cancelled):
        run(Guarded(inner, Deciding("", aborted=True), own=True), "x")
    assert inner.ran == []
    assert run(Guarded(inner, Deciding(""), own=True), "x") == "a: x"


@pytest.mark.parametrize("gates", [("no", ""), ("", "no"), ("no", "never")])
def test_of_two_gates_one_that_says_no_is_enough(gates: tuple[str, str]) -> None:
    inner = Having("a", "x")
    outer, nearer = map(Deciding, gates)
    assert run(Guarded(Guarded(inner, nearer, own=True), outer, own=True), "x") == "no"
    assert inner.ran == []
