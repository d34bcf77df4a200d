"""All extensions asked as one: whose word is the last, and what is not done after it."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.concurrency.cancel import CancelToken
from linnet.core.cancel import Cancel
from linnet.core.extensions import hooks
from linnet.core.extensions.hooks import Block, Decision, InputGiven, Replace, ToolCalling
from linnet.core.messages import Text, ToolCall
from linnet.core.slash import Location
from linnet.core.toolspec import ToolSpec
from linnet.errors import Cancelled
from linnet.extensions.chain import Chain
from linnet.extensions.extension import ExtensionCommand
from linnet.extensions.hooked import Hooked
from linnet.processes.process import Processes
from linnet.tools.context import ToolContext
from linnet.tools.spec import ToolOutput

Behaviour: TypeAlias = Decision | Literal["throws", "is late", "aborts"] | None


class Asked:
    """An extension that does this when it is asked, and notes what it was asked about."""

    commands: Sequence[ExtensionCommand] = ()
    tools = None
    providers = ()
    replaces_tools = True
    asked: tuple[hooks.Name, ...] = ("tool_call", "input")
    told = ()
    location: Location = "user"

    def __init__(self, name: str, does: Behaviour) -> None:
        self.name = self.path = name
        self.does = does
        self.seen: list[Any] = []

    def wait_ready(self, patience: float, hurry: Cancel) -> None:
        pass

    def ask(self, event: hooks.Hook, cancel: Cancel, patience: float) -> Decision | None:
        self.seen.append(event)
        match self.does:
            case "throws":
                raise RuntimeError("boom")
            case "is late":
                raise TimeoutError
            case "aborts":
                assert isinstance(cancel, CancelToken)
                cancel.set()
                return None
            case decision:
                return decision

    def tell(self, event: object) -> None:
        pass

    def run_command(self, name: str, arguments: str, cancel: Cancel) -> None:
        pass

    def close(self, patience: float) -> None:
        pass


class Tool:
    """Notes the arguments that it ran with."""

    def __init__(self) -> None:
        self.ran: list[dict[str, Any]] = []

    @property
    def specs(self) -> Sequence[ToolSpec]:
        return [ToolSpec("bash", "", {})]

    def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        self.ran.append(call.args)
        return ToolOutput((Text("ran"),))


def run(*extensions: Asked) -> tuple[Tool, str]:
    tool = Tool()
    chain = Chain(extensions, lambda path, event, error: None)
    context = ToolContext("/", CancelToken(), lambda text: None, Processes())
    output = Hooked(tool, chain).run(ToolCall("1", "bash", {"command": "was"}), context)
    [part] = output.content
    assert isinstance(part, Text)
    return tool, part.text


changes = st.sampled_from("abc").map(lambda word: Replace({"args": {"command": word}}))
behaviours: st.SearchStrategy[Behaviour] = st.one_of(
    st.none(), changes, st.sampled_from(["x", "y"]).map(Block), st.sampled_from(["throws", "is late"])
)


@given(st.lists(behaviours))
def test_a_call_runs_only_if_every_guard_lets_it_and_with_what_the_last_one_made_of_it(does: list[Behaviour]) -> None:
    extensions = [Asked(f"e{at}", each) for at, each in enumerate(does)]
    tool, said = run(*extensions)
    no = next((at for at, each in enumerate(does) if isinstance(each, Block | str)), None)
    asked = extensions if no is None else extensions[: no + 1]
    assert [len(each.seen) for each in extensions] == [1] * len(asked) + [0] * (len(extensions) - len(asked))
    args = {"command": "was"}
    for extension in asked:
        assert extension.seen == [ToolCalling("1", "bash", args)]
        args = extension.does.changes["args"] if isinstance(extension.does, Replace) else args
    assert tool.ran == ([args] if no is None else [])
    if no is not None:
        stopped = does[no]
        assert (
            said == stopped.reason if isinstance(stopped, Block) else said.startswith(f"Denied: the extension e{no} ")
        )


@pytest.mark.parametrize("second", [None, Replace({"args": {"command": "rm"}}), Block("other"), "throws"])
def test_a_block_is_final_whatever_the_next_guard_would_say(second: Behaviour) -> None:
    first, other = Asked("first", Block("no")), Asked("second", second)
    tool, said = run(first, other)
    assert (tool.ran, said, other.seen) == ([], "no", [])


def test_a_call_that_is_aborted_after_the_last_guard_let_it_does_not_run() -> None:
    guard, tool = Asked("guard", "aborts"), Tool()
    context = ToolContext("/", CancelToken(), lambda text: None, Processes())
    with pytest.raises(Cancelled):
        Hooked(tool, Chain([guard], lambda *told: None)).run(ToolCall("1", "bash", {}), context)
    assert tool.ran == []


def test_what_only_looks_and_fails_has_said_nothing() -> None:
    told: list[tuple[str, str, str]] = []
    later = Asked("later", Replace({"text": "changed"}))
    chain = Chain([Asked("broken", "throws"), later], lambda *failure: told.append(failure))
    outcome = chain.ask(InputGiven("hi"), CancelToken())
    assert (outcome.event.text, outcome.stop) == ("changed", None)
    assert told == [("broken", "input", "boom")]
