"""What the model is told of a call that an abort, or the end of its time, came into: whether it had begun."""

from collections.abc import Callable
from pathlib import Path
from threading import Event as Signal

import pytest

from linnet import tool
from linnet.core import commands, ui_events
from linnet.core.events import QuestionAsked
from linnet.core.loop.run import BEGUN, NOT_RUN, TOO_LATE
from linnet.core.toolspec import ToolSpec
from tests.extensions.python.conftest import Extended

Start = Callable[..., Extended]
ABORTED = BEGUN.format("the turn was aborted")
HANG = [[{"call": "hang", "args": {}}], [{"text": "done"}]]


def aborted(agent: Extended, has_come_so_far: Callable[[], object]) -> list[str]:
    """The results of a run that is aborted then."""
    run = agent.begin(commands.Prompt("go"))
    has_come_so_far()
    agent.ask(commands.Abort())
    assert agent.wait(run).stop == "aborted"
    return agent.results


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_tool_of_an_extension_had_begun(extended: Start, kind: str) -> None:
    pause = "time.sleep(600)" if kind == "def" else "await asyncio.sleep(600)"
    source = f"""
    import asyncio, time
    def extend(linnet):
        @linnet.tool
        {kind} hang(ctx) -> str:
            ctx.notify("hanging")
            {pause}
    """
    agent = extended(source, turns=HANG)
    assert aborted(agent, lambda: agent.until_heard(ui_events.Notified)) == [ABORTED]


def test_a_function_had_begun(extended: Start) -> None:
    began, may_end = Signal(), Signal()

    @tool
    def hang() -> str:
        """Hang."""
        began.set()
        may_end.wait(10)
        return ""

    agent = extended(turns=HANG, tools=[hang])
    assert aborted(agent, lambda: began.wait(10)) == [ABORTED]
    may_end.set()


def test_a_tool_of_the_clients_had_begun(extended: Start) -> None:
    agent = extended(turns=HANG)
    agent.ask(commands.SetTools((ToolSpec("hang", "Hang.", {"type": "object", "properties": {}}),)))
    assert aborted(agent, lambda: agent.until_heard(QuestionAsked)) == [ABORTED]


def test_a_tool_has_run_whose_result_is_being_asked_about(extended: Start, tmp_path: Path) -> None:
    source = """
    import time
    def extend(linnet):
        @linnet.on("tool_result")
        def look(event, ctx):
            ctx.notify("looking")
            time.sleep(600)
    """
    agent = extended(source, turns=[[{"call": "write", "args": {"path": "a", "content": "b"}}]])
    assert aborted(agent, lambda: agent.until_heard(ui_events.Notified)) == [ABORTED]
    assert (tmp_path / "a").read_text() == "b"


def test_a_call_that_is_being_judged_had_not(extended: Start, tmp_path: Path) -> None:
    source = """
    import time
    def extend(linnet):
        @linnet.on("tool_call")
        def judge(event, ctx):
            ctx.notify("judging")
            time.sleep(600)
    """
    turns = [[{"call": "write", "args": {"path": "a", "content": "b"}}]]
    agent = extended(source, turns=turns)
    assert aborted(agent, lambda: agent.until_heard(ui_events.Notified)) == [NOT_RUN]
    assert not (tmp_path / "a").exists()


def test_a_call_that_waits_for_permission_had_not(extended: Start, tmp_path: Path) -> None:
    agent = extended(turns=[[{"call": "write", "args": {"path": "a", "content": "b"}}]], permission="ask")
    assert aborted(agent, lambda: agent.until_heard(QuestionAsked)) == [NOT_RUN]
    assert not (tmp_path / "a").exists()


def test_what_the_end_of_its_time_comes_into_is_told_so(extended: Start) -> None:
    agent = extended(turns=HANG, max_seconds=0.2)
    agent.ask(commands.SetTools((ToolSpec("hang", "Hang.", {"type": "object", "properties": {}}),)))
    assert agent.prompt().stop == "error"
    assert agent.results == [BEGUN.format("the time for this prompt was up")]
    asking = extended(
        turns=[[{"call": "write", "args": {"path": "a", "content": "b"}}]], permission="ask", max_seconds=0.2
    )
    assert asking.prompt().stop == "error"
    assert asking.results == [TOO_LATE]
