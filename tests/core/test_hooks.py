"""What a chain of decisions makes of an event."""

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.core.extensions import extension_events, hooks
from linnet.core.extensions.hooks import (
    HOOKS,
    AgentStarting,
    Block,
    Cancel,
    ContextSent,
    Decision,
    Handled,
    Misfit,
    Outcome,
    Replace,
    SessionSwitching,
    ToolCalling,
    ToolReturning,
    decided,
    folded,
)
from linnet.core.messages import Text, UserMessage

CALL = ToolCalling("1", "bash", {"command": "ls"})
args = st.dictionaries(st.sampled_from("abc"), st.integers(), max_size=3)
replacements = st.builds(lambda args: Replace({"args": args}), args)
decisions = st.none() | replacements | st.builds(Block, st.text(max_size=3))


def asked(event: ToolCalling, chain: list[Decision | None]) -> tuple[Outcome[ToolCalling], int]:
    """What comes of it if these are decided one after the other, and how many were asked."""
    left = iter(chain)
    outcome = folded(event, (lambda event: decided(event, next(left)) for _ in chain))
    return outcome, len(chain) - len(list(left))


@given(st.lists(decisions))
def test_each_sees_what_those_before_it_changed_and_the_first_stop_is_the_last_word(
    chain: list[Decision | None],
) -> None:
    outcome, count = asked(CALL, chain)
    stops = [at for at, each in enumerate(chain) if isinstance(each, Block)]
    before = chain[: stops[0]] if stops else chain
    changed = [each.changes["args"] for each in before if isinstance(each, Replace)]
    assert outcome.event.args == (changed[-1] if changed else CALL.args)
    assert outcome.stop == (chain[stops[0]] if stops else None)
    assert count == (stops[0] + 1 if stops else len(chain))


@given(st.lists(decisions), st.lists(decisions))
def test_a_chain_may_be_cut_anywhere(first: list[Decision | None], second: list[Decision | None]) -> None:
    so_far, _ = asked(CALL, first)
    whole, _ = asked(CALL, [*first, *second])
    assert whole == (so_far if so_far.stop is not None else asked(so_far.event, second)[0])


fields = st.fixed_dictionaries(
    {}, optional={"content": st.text(max_size=3), "is_error": st.booleans(), "details": args | st.none()}
)


@given(st.lists(fields))
def test_changes_are_taken_field_by_field(chain: list[dict[str, Any]]) -> None:
    before = ToolReturning("1", "bash", {}, (Text("was"),), False, {"a": 1})
    left = iter(chain)
    after = folded(before, (lambda event: decided(event, Replace(next(left))) for _ in chain)).event
    last: dict[str, Any] = {"content": "was", "is_error": False, "details": {"a": 1}}
    for each in chain:
        last.update(each)
    assert after.content == (Text(last["content"]),)
    assert (after.is_error, after.details) == (last["is_error"], last["details"])


@pytest.mark.parametrize(
    ("event", "decision", "why"),
    [
        (CALL, Cancel(), "tool_call cannot be answered with cancel; possible: block, replace(args=…)"),
        (CALL, Handled(), "tool_call cannot be answered with handled; possible: block, replace(args=…)"),
        (CALL, Replace({"tool": "rm"}), "tool_call has no tool that could be replaced"),
        (CALL, Replace({"args": "ls"}), "tool_call: args: Expected `object`, got `str`"),
        (ContextSent(()), Replace({"messages": [3]}), "context: messages: "),
        (SessionSwitching("new"), Block("no"), "session_before_switch cannot be answered with block; possible: cancel"),
        (AgentStarting("hi", "be good"), Replace({"system_prompt": None}), "before_agent_start: system_prompt: "),
    ],
)
def test_a_decision_that_does_not_fit_says_what_would(event: hooks.Hook, decision: Decision, why: str) -> None:
    with pytest.raises(Misfit) as raised:
        decided(event, decision)
    assert str(raised.value).startswith(why)


def test_messages_may_be_given_as_mappings() -> None:
    said = {"role": "user", "content": [{"type": "text", "text": "hi"}], "time": 1}
    after = decided(ContextSent(()), Replace({"messages": [said]})).event
    assert after.messages == (UserMessage((Text("hi"),), 1),)


def test_nothing_decided_changes_nothing() -> None:
    assert decided(CALL, None) == Outcome(CALL)


def test_every_name_has_one_struct() -> None:
    assert sorted(kind.name for kind in HOOKS) == sorted(get_args(hooks.Name))
    told = [kind.name for kind in extension_events.Observed.__subclasses__()]
    assert sorted(told) == sorted(get_args(extension_events.Name))
