"""Each hook: when it is asked, what it may decide, and what becomes of that."""

from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.core import commands
from linnet.core.events import (
    CompactionEnded,
    NoteAdded,
    QueueChanged,
    ReplyEnded,
    RunEnded,
    SessionEntered,
    StepStarted,
    TextGrew,
    ToolFinished,
    UserSaid,
)
from linnet.core.messages import AssistantMessage, Note, UserMessage, texts
from tests.extensions.python.conftest import Extended

Start = Callable[..., Extended]
BASH = [[{"call": "bash", "args": {"command": "echo one"}}], [{"text": "done"}]]


def said(extended: Extended) -> list[str]:
    return [texts(event.message.content) for event in extended.heard(UserSaid)]


def test_what_the_user_says_may_be_rewritten(extended: Start) -> None:
    agent = extended(
        """
        def extend(linnet):
            @linnet.on("input")
            def shout(event, ctx):
                return linnet.replace(text=event.text.upper())

            @linnet.on("input")
            def mark(event, ctx):
                return linnet.replace(text=event.text + "!")
        """
    )
    agent.prompt("hello")
    assert said(agent) == ["HELLO!"]
    assert texts(agent.resources.requests[0].messages[0].content) == "HELLO!"


def test_what_an_extension_handles_goes_no_further(extended: Start) -> None:
    agent = extended(
        """
        def extend(linnet):
            @linnet.on("input")
            def mine(event, ctx):
                if event.text == "mine":
                    ctx.notify("seen to")
                    return linnet.handled()
        """
    )
    settled = agent.prompt("mine")
    assert (settled.stop, agent.resources.requests, agent.heard(RunEnded)) == ("end", [], [])
    agent.prompt("not mine")
    assert said(agent) == ["not mine"]


def test_what_is_handled_while_the_agent_works_ends_the_run_where_it_would_have_ended(extended: Start) -> None:
    agent = extended(
        """
        def extend(linnet):
            @linnet.on("input")
            def mine(event, ctx):
                return linnet.handled() if event.queued else None

            @linnet.on("tool_call")
            def wait(event, ctx):
                ctx.confirm("go on?")
        """,
        turns=BASH,
    )
    asked = agent.begin(commands.Prompt("go"))
    question = agent.question()
    agent.begin(commands.Prompt("more", when_busy="follow_up", slash="refuse"))
    agent.until_heard(QueueChanged)
    agent.answer(question, confirmed=True)
    agent.wait(asked)
    assert said(agent) == ["go"]
    assert len(agent.resources.requests) == 2


def test_a_run_may_begin_with_another_system_prompt_and_a_note(extended: Start) -> None:
    agent = extended(
        """
        def extend(linnet):
            @linnet.on("before_agent_start")
            def first(event, ctx):
                assert event.prompt == "go"
                return linnet.replace(system_prompt=event.system_prompt + " Be brief.")

            @linnet.on("before_agent_start")
            def second(event, ctx):
                assert event.system_prompt.endswith(" Be brief.")
                return linnet.replace(note="it is Monday")
        """
    )
    agent.prompt("go")
    [request] = agent.resources.requests
    assert request.system.endswith(" Be brief.")
    assert [texts(message.content) for message in request.messages] == ["go", "it is Monday"]
    assert [event.message.kind for event in agent.heard(NoteAdded)] == ["extension"]
    assert agent.failures == []


def test_what_is_sent_may_be_edited_and_what_is_stored_stays(extended: Start) -> None:
    agent = extended(
        """
        def extend(linnet):
            @linnet.on("context")
            def newest(event, ctx):
                return linnet.replace(messages=event.messages[-1:])
        """
    )
    agent.prompt("one")
    agent.prompt("two")
    assert [texts(message.content) for message in agent.resources.requests[1].messages] == ["two"]
    answer = agent.ask(commands.GetMessages())
    assert len(answer.messages) == 4


@pytest.mark.parametrize(
    ("body", "result"),
    [
        ('return linnet.block("not today")', "not today"),
        ("return linnet.block()", "Tool execution was blocked by an extension"),
        ('return linnet.replace(args={"command": "echo two"})', "two\n"),
        ('event.args["command"] = "echo in place"', "in place\n"),
        ("return None", "one\n"),
        ('raise RuntimeError("boom")', "Denied: the extension ext could not be asked: boom"),
        ("return True", "Denied: the extension ext could not be asked: a handler of tool_call returned True; "),
        ("return linnet.cancel()", "Denied: the extension ext could not be asked: tool_call cannot be answered with"),
        ('return linnet.replace(args="ls")', "Denied: the extension ext could not be asked: tool_call: args: "),
        ("import sys; sys.exit(3)", "Denied: the extension ext could not be asked: it called sys.exit(3)"),
        ("raise KeyboardInterrupt", "Denied: the extension ext could not be asked: it raised KeyboardInterrupt"),
        ("import time; time.sleep(60)", "Denied: the extension ext could not be asked: it took longer than 0.1 s"),
    ],
)
def test_a_call_is_blocked_or_changed_and_a_guard_that_fails_denies(extended: Start, body: str, result: str) -> None:
    agent = extended(
        f"""
        def extend(linnet):
            @linnet.on("tool_call")
            def guard(event, ctx):
                {body}
        """,
        turns=BASH,
        hook_timeout=0.1 if "sleep" in body else 10,
    )
    assert agent.prompt().stop == "end"
    assert agent.results[0].startswith(result)
    assert bool(agent.failures) is result.startswith("Denied: the extension")
    replies = [event.message for event in agent.heard(ReplyEnded)]
    assert replies[0].calls[0].args == {"command": "echo one"}, "what the model said stays as it was"


def test_nobody_is_asked_about_a_call_that_cannot_be_one(extended: Start) -> None:
    agent = extended(
        """
        def extend(linnet):
            @linnet.on("tool_call")
            def guard(event, ctx):
                raise RuntimeError("asked")
        """,
        turns=[[{"call": "nosuch", "args": {}}], [{"text": "done"}]],
    )
    agent.prompt()
    assert agent.results == ["Tool nosuch not found"]


def test_results_are_changed_field_by_field_and_each_handler_sees_the_changes(extended: Start) -> None:
    agent = extended(
        """
        def extend(linnet):
            @linnet.on("tool_result")
            def first(event, ctx):
                return linnet.replace(content="repaired", is_error=False)

            @linnet.on("tool_result")
            def second(event, ctx):
                assert (event.content[0].text, event.is_error) == ("repaired", False)
                return linnet.replace(details={"seen": event.args["command"]})
        """,
        turns=[[{"call": "bash", "args": {"command": "exit 3"}}], [{"text": "done"}]],
    )
    agent.prompt()
    [finished] = agent.heard(ToolFinished)
    assert (texts(finished.result.content), finished.result.is_error) == ("repaired", False)
    assert finished.result.details == {"seen": "exit 3"}
    assert agent.failures == []


def test_a_result_that_a_hook_makes_odd_stays_as_it_was(extended: Start) -> None:
    agent = extended(
        """
        def extend(linnet):
            @linnet.on("tool_result")
            def odd(event, ctx):
                return linnet.replace(content=[3])
        """,
        turns=BASH,
    )
    agent.prompt()
    agent.prompt()
    assert agent.results[0] == "one\n"
    assert [name for name, _ in agent.failures] == ["tool_result"] * 2


def test_extensions_are_asked_in_their_order(extended: Start) -> None:
    source = """
        def extend(linnet):
            @linnet.on("tool_call")
            def add(event, ctx):
                return linnet.replace(args={{"command": event.args["command"] + " {}"}})
        """
    agent = extended(source.format("two"), source.format("three"), turns=BASH)
    agent.prompt()
    assert agent.results == ["one two three\n"]


def test_a_reply_is_told_when_it_was_decided_about_and_not_before(extended: Start) -> None:
    agent = extended(
        """
        def extend(linnet):
            @linnet.on("assistant_message")
            def redact(event, ctx):
                return linnet.replace(text=event.text.replace("secret", "***"))
        """,
        turns=[[{"text": "the secret is out"}, {"call": "bash", "args": {"command": "true"}}], [{"text": "fine"}]],
    )
    agent.prompt()
    assert "secret" not in "".join(event.text for event in agent.heard(TextGrew))
    first, second = [event.message for event in agent.heard(ReplyEnded)]
    assert (first.text, second.text) == ("the *** is out", "fine")
    assert len(first.calls) == 1


def test_a_reply_that_could_not_be_asked_about_is_not_told(extended: Start) -> None:
    agent = extended(
        """
        def extend(linnet):
            @linnet.on("assistant_message")
            def fail(event, ctx):
                raise RuntimeError("boom")
        """,
        turns=[[{"text": "the secret is out"}]],
    )
    agent.prompt()
    assert agent.heard(TextGrew) == []
    assert agent.failures == [("assistant_message", "boom")]


SWITCH = """
    def extend(linnet):
        @linnet.on("session_before_switch")
        def switch(event, ctx):
            ctx.notify(f"{event.reason} {event.target}")
            return linnet.cancel()

        @linnet.on("session_before_branch")
        def branch(event, ctx):
            ctx.notify(f"{event.reason} {event.entry}")
            return linnet.cancel()
"""


def test_a_move_that_is_called_off_changes_nothing(extended: Start) -> None:
    agent = extended(SWITCH)
    agent.prompt("first")
    here = (agent.session.id, agent.session.file)
    [(entry, _)] = agent.ask(commands.GetBranchMessages()).messages
    leaf = agent.ask(commands.GetTree()).leaf
    assert agent.ask(commands.NewSession()) == commands.SessionOpened(cancelled=True)
    assert agent.ask(commands.SwitchSession(str(here[1]))) == commands.SessionOpened(cancelled=True)
    assert agent.ask(commands.Branch(entry)) == commands.Branched("first", cancelled=True)
    assert agent.ask(commands.CloneSession()) == commands.SessionOpened(cancelled=True)
    assert agent.ask(commands.Navigate(None)) == commands.Navigated(leaf, cancelled=True)
    assert (agent.session.id, agent.session.file) == here
    assert len(agent.ask(commands.GetMessages()).messages) == 2
    assert agent.heard(SessionEntered) == []


@pytest.mark.parametrize(
    ("short", "command"),
    [
        ("before_switch", commands.NewSession()),
        ("before_branch", commands.CloneSession()),
        ("before_fork", commands.CloneSession()),
        ("session_before_fork", commands.CloneSession()),
    ],
)
def test_hooks_have_the_names_of_pis_documents(extended: Start, short: str, command: commands.Command) -> None:
    agent = extended(
        f"""
        def extend(linnet):
            @linnet.on("{short}")
            def refuse(event, ctx):
                return linnet.cancel()
        """
    )
    agent.prompt("first")
    assert agent.ask(command) == commands.SessionOpened(cancelled=True)


def test_a_move_that_is_called_off_ends_no_run(extended: Start) -> None:
    agent = extended(SWITCH, turns=[[{"call": "bash", "args": {"command": "cat fifo"}}], [{"text": "done"}]])
    run = agent.begin(commands.Prompt("go"))
    agent.until(lambda: bool(agent.heard(ReplyEnded)))
    assert agent.ask(commands.NewSession()) == commands.SessionOpened(cancelled=True)
    assert agent.wait(run).stop == "end"


def test_a_move_that_is_bound_to_fail_is_not_asked_about(extended: Start) -> None:
    agent = extended(SWITCH)
    error = agent.ask(commands.Branch("nosuch"))
    assert str(error) == "Invalid entry ID for branching"


def test_a_hook_that_fails_calls_nothing_off(extended: Start) -> None:
    agent = extended(
        """
        def extend(linnet):
            @linnet.on("session_before_switch")
            def switch(event, ctx):
                raise RuntimeError("boom")
        """
    )
    assert agent.ask(commands.NewSession()) == commands.SessionOpened()
    assert agent.failures == [("session_before_switch", "boom")]


ASKING = """
    def extend(linnet):
        @linnet.on("session_before_switch")
        def switch(event, ctx):
            if not ctx.confirm("leave?"):
                return linnet.cancel()
"""


def test_while_a_move_is_asked_about_everything_else_is_served_and_what_is_said_waits(extended: Start) -> None:
    agent = extended(ASKING)
    moving = agent.begin(commands.NewSession())
    question = agent.question()
    saying = agent.begin(commands.Prompt("in the new one", slash="at_once"))
    assert agent.ask(commands.GetState()).session_id == agent.session.id
    assert agent.ask(commands.Bash("echo hi")).run.output == "hi\n"
    assert (moving.outcome, saying.outcome, agent.session.busy) == (None, None, True)
    agent.answer(question, confirmed=True)
    assert agent.wait(moving) == commands.SessionOpened()
    agent.wait(saying)
    entered = next(at for at, event in enumerate(agent.events) if isinstance(event, SessionEntered))
    assert [isinstance(event, UserSaid) for event in agent.events[:entered]].count(True) == 0
    assert said(agent) == ["in the new one"]


def test_an_abort_ends_the_wait_and_the_move(extended: Start) -> None:
    agent = extended(ASKING)
    moving = agent.begin(commands.NewSession())
    agent.question()
    agent.ask(commands.Abort())
    assert agent.wait(moving) == commands.SessionOpened(cancelled=True)
    assert agent.prompt("still here").stop == "end"


def test_the_end_of_input_is_a_no(extended: Start) -> None:
    agent = extended(ASKING)
    moving = agent.begin(commands.NewSession())
    agent.question()
    agent.session.end_input()
    agent.session.finish()
    assert moving.outcome == commands.SessionOpened(cancelled=True)


def test_a_hook_that_waits_for_what_waits_for_it_is_given_up(extended: Start) -> None:
    agent = extended(
        """
        def extend(linnet):
            @linnet.on("session_before_switch")
            def switch(event, ctx):
                ctx.run("new_session")
        """,
        hook_timeout=0.1,
    )
    agent.prompt()
    assert agent.ask(commands.NewSession()) == commands.SessionOpened()
    agent.session.finish()
    assert agent.failures == [("session_before_switch", "it took longer than 0.1 s")]
    assert len(agent.heard(SessionEntered)) == 1


def test_moves_are_asked_about_one_after_the_other(extended: Start) -> None:
    agent = extended(ASKING)
    moves = [agent.begin(commands.NewSession()) for _ in range(3)]
    for at, yes in enumerate((True, False, True)):
        agent.answer(agent.question(at + 1), confirmed=yes)
    assert [agent.wait(each).cancelled for each in moves] == [False, True, False]


def test_closing_answers_whatever_waits(extended: Start) -> None:
    agent = extended(ASKING)
    waiting = [agent.begin(commands.NewSession()), agent.begin(commands.Prompt("x")), agent.begin(commands.Compact())]
    agent.question()
    agent.close()
    assert [str(agent.wait(each)) for each in waiting] == ["the agent is shutting down"] * 3


def compactable(extended: Start, source: str) -> Extended:
    agent = extended(source, compact_keep=1)
    agent.prompt("one")
    agent.prompt("two")
    return agent


@pytest.mark.parametrize("name", ["session_before_compact", "before_compact"])
def test_a_compaction_may_be_called_off(extended: Start, name: str) -> None:
    agent = compactable(
        extended,
        f"""
        def extend(linnet):
            @linnet.on("{name}")
            def no(event, ctx):
                return linnet.cancel()
        """,
    )
    asked = len(agent.resources.requests)
    assert str(agent.ask(commands.Compact())) == "Compaction cancelled"
    assert len(agent.resources.requests) == asked


def test_the_summary_of_a_compaction_may_be_supplied(extended: Start) -> None:
    agent = compactable(
        extended,
        """
        def extend(linnet):
            @linnet.on("session_before_compact")
            def mine(event, ctx):
                said = [part.text for message in event.messages for part in message.content]
                return linnet.replace(summary=f"{event.reason}: {said}, {event.kept} kept, {event.instructions}")
        """,
    )
    asked = len(agent.resources.requests)
    answer = agent.ask(commands.Compact("be brief"))
    assert answer.result.summary.text == "manual: ['one', 'hello', 'two'], 1 kept, be brief"
    assert len(agent.resources.requests) == asked
    assert agent.heard(CompactionEnded)[0].result == answer.result


@pytest.mark.parametrize(
    ("decision", "output"),
    [
        ('linnet.replace(command="echo " + event.command)', "echo hi\n"),
        ('linnet.replace(output="made up", exit_code=3)', "made up"),
        ("None", "hi\n"),
    ],
)
def test_a_command_of_the_clients_may_be_changed_or_answered(extended: Start, decision: str, output: str) -> None:
    agent = extended(
        f"""
        def extend(linnet):
            @linnet.on("user_bash")
            def change(event, ctx):
                return {decision}
        """
    )
    assert agent.ask(commands.Bash("echo hi")).run.output == output


def test_a_command_of_the_clients_may_be_blocked(extended: Start) -> None:
    agent = extended(
        """
        def extend(linnet):
            @linnet.on("user_bash")
            def no(event, ctx):
                return linnet.block("not " + event.command)
        """
    )
    assert str(agent.ask(commands.Bash("rm x"))) == "not rm x"  # Also the first: it waits until they are loaded.


def test_an_abort_ends_the_wait_for_a_hook_at_once(extended: Start) -> None:
    agent = extended(
        """
        import time

        def extend(linnet):
            @linnet.on("context")
            def hang(event, ctx):
                ctx.notify("hangs")
                time.sleep(600)
        """,
        hook_timeout=600,
    )
    asked = agent.begin(commands.Prompt("go"))
    agent.until(lambda: bool(agent.heard(StepStarted)))
    agent.ask(commands.Abort())
    assert agent.wait(asked).stop == "aborted"
    assert agent.failures == []


def test_a_session_with_extensions_is_the_same_for_the_store(extended: Start) -> None:
    agent = extended(
        """
        def extend(linnet):
            @linnet.on("before_agent_start")
            def note(event, ctx):
                return linnet.replace(note="noted")
        """
    )
    agent.prompt("go")
    answer = agent.ask(commands.GetMessages())
    assert [type(message) for message in answer.messages] == [UserMessage, Note, AssistantMessage]
    agent.ask(commands.CloneSession())
    copied = agent.ask(commands.GetMessages()).messages
    assert [texts(each.content) for each in copied] == [texts(each.content) for each in answer.messages]


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("then", ["None", "linnet.replace(args={'command': 'touch ran'})", "linnet.block('second')"])
def test_of_two_guards_the_first_that_says_no_is_the_last_that_is_asked(
    extended: Start, tmp_path: Path, apart: bool, then: str
) -> None:
    first = """
        def extend(linnet):
            @linnet.on("tool_call")
            def no(event, ctx):
                return linnet.block("first")
    """
    second = f"""
            @linnet.on("tool_call")
            def other(event, ctx):
                open({str(tmp_path / "asked")!r}, "w").close()
                return {then}
    """
    sources = [first, f"\n        def extend(linnet):{second}"] if apart else [first.rstrip(" ") + second]
    agent = extended(*sources, turns=[[{"call": "bash", "args": {"command": "touch ran"}}], [{"text": "done"}]])
    agent.prompt()
    assert agent.results == ["first"]
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "asked").exists()
