"""Commands, dialogs, what is shown and said, and state: what an extension does to its session."""

from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.core import commands, ui_events
from linnet.core.events import (
    CompactionEnded,
    NoteAdded,
    QuestionAsked,
    QuestionClosed,
    QueueChanged,
    ReplyEnded,
    RunStarted,
    Settled,
    StepStarted,
    ToolFinished,
    ToolStarted,
    UserSaid,
)
from linnet.core.messages import texts
from linnet.core.questions import Confirm, EditText, EnterText, Select
from tests.extensions.python.conftest import Extended

Start = Callable[..., Extended]
WAITING = [[{"call": "wait", "args": {}}], [{"text": "done"}]]
WAIT = """
            @linnet.tool
            def wait(ctx) -> str:
                return "yes" if ctx.confirm("wait") else "no"
"""


def said(extended: Extended) -> list[str]:
    return [texts(event.message.content) for event in extended.heard(UserSaid)]


def notices(extended: Extended) -> list[str]:
    return [event.message for event in extended.heard(ui_events.Notified)]


GREET = """
        def extend(linnet):
            @linnet.command("greet", description="Say hello")
            def greet(args, ctx):
                ctx.notify(f"hello {args!r}")

            @linnet.command("ask")
            async def ask(args, ctx):
                '''Ask something.

                At length.
                '''
                ctx.notify("yes" if await ctx.confirm(args) else "no")

            @linnet.command("boom")
            def boom(args, ctx):
                raise RuntimeError("boom")
"""


def test_a_command_gets_its_arguments_as_they_are_and_asks_no_model(extended: Start) -> None:
    agent = extended(GREET)
    assert agent.ask(commands.Prompt('/greet  two "words" ', slash="at_once")) == commands.Ok()
    assert agent.ask(commands.Prompt("/greet", slash="at_once")) == commands.Ok()
    assert notices(agent) == ["hello ' two \"words\" '", "hello ''"]
    assert (agent.heard(RunStarted), agent.resources.requests) == ([], [])


def test_what_is_no_command_is_said_to_the_model(extended: Start) -> None:
    agent = extended(GREET)
    for text in ("/GREET", " /greet", "/nosuch greet", "greet"):
        agent.prompt(text)
    assert said(agent) == ["/GREET", " /greet", "/nosuch greet", "greet"]


def test_commands_are_listed_with_where_they_come_from(extended: Start) -> None:
    agent = extended(GREET)
    listed = agent.ask(commands.GetCommands()).commands
    assert [(each.name, each.description) for each in listed] == [
        ("greet", "Say hello"),
        ("ask", "Ask something."),
        ("boom", ""),
    ]
    assert {(each.source, each.location, each.path) for each in listed} == {("extension", "path", agent.path)}


def test_a_command_runs_while_the_agent_works_and_others_are_served_meanwhile(extended: Start) -> None:
    agent = extended(GREET + WAIT, turns=WAITING)
    run = agent.begin(commands.Prompt("go"))
    first = agent.question()
    asking = agent.begin(commands.Prompt("/ask sure?", when_busy="steer", slash="at_once"))
    second = agent.question(2)
    assert agent.ask(commands.Prompt("/greet you", slash="at_once")) == commands.Ok()
    assert asking.outcome is None, "it is answered when it has ended"
    agent.answer(second, confirmed=True)
    assert agent.wait(asking) == commands.Ok()
    assert notices(agent) == ["hello 'you'", "yes"]
    agent.answer(first, confirmed=True)
    assert agent.wait(run).stop == "end"
    assert said(agent) == ["go"]


@pytest.mark.parametrize("when", ["steer", "follow_up"])
def test_a_command_cannot_be_queued(extended: Start, when: str) -> None:
    agent = extended(GREET)
    error = agent.ask(commands.Prompt("/greet you", when_busy=when, slash="refuse"))  # type: ignore[arg-type]
    assert str(error) == (
        'Extension command "/greet" cannot be queued. Use prompt() or execute the command when not streaming.'
    )
    assert agent.events == []


def test_a_command_that_fails_is_told_and_answered(extended: Start) -> None:
    agent = extended(GREET)
    assert agent.ask(commands.Prompt("/boom", slash="at_once")) == commands.Ok()
    assert agent.failures == [("command", "/boom: boom")]


def test_an_abort_ends_a_command_that_waits(extended: Start) -> None:
    agent = extended(GREET)
    asking = agent.begin(commands.Prompt("/ask sure?", slash="at_once"))
    agent.question()
    agent.ask(commands.Abort())
    assert str(agent.wait(asking)) == "the command /ask was aborted"
    assert agent.until_heard(QuestionClosed).how == "withdrawn"
    assert agent.failures == []


def test_where_prompts_take_their_turn_so_do_commands(extended: Start) -> None:
    agent = extended(GREET + WAIT, turns=WAITING)
    run = agent.begin(commands.Prompt("go"))
    question = agent.question()
    greeting = agent.begin(commands.Prompt("/greet you"))
    assert notices(agent) == []
    agent.answer(question, confirmed=True)
    assert agent.wait(run).stop == "end"
    assert agent.wait(greeting) == commands.Done("end")
    assert notices(agent) == ["hello 'you'"]
    assert [event.kind for event in agent.heard(Settled)] == ["prompt", "prompt"]


def test_the_user_is_asked_and_answers_are_checked(extended: Start) -> None:
    agent = extended(
        """
        def extend(linnet):
            @linnet.command("all")
            def all(args, ctx):
                ctx.notify(repr([
                    ctx.confirm("sure?", "really"),
                    ctx.select("which?", ["a", "b"]),
                    ctx.input("name?", "yours"),
                    ctx.editor("text?", "to begin with"),
                    ctx.select("and?", ["a"]),
                ]))
        """
    )
    running = agent.begin(commands.Prompt("/all", slash="at_once"))
    agent.answer(agent.question(1), confirmed=True)
    second = agent.question(2)
    agent.answer(second, value="c")
    agent.answer(second, value="b")
    agent.answer(agent.question(3), value="me")
    agent.answer(agent.question(4), value="all of it")
    agent.answer(agent.question(5), cancelled=True)
    agent.wait(running)
    assert [event.question for event in agent.heard(QuestionAsked)] == [
        Confirm("sure?", "really"),
        Select("which?", ("a", "b")),
        EnterText("name?", "yours"),
        EditText("text?", "to begin with"),
        Select("and?", ("a",)),
    ]
    assert notices(agent) == ["[True, 'b', 'me', 'all of it', None]"]


def test_what_is_shown_is_told_at_once(extended: Start) -> None:
    agent = extended(
        """
        def extend(linnet):
            @linnet.command("show")
            def show(args, ctx):
                ctx.notify("careful", "warning")
                ctx.status("busy")
                ctx.status(None, key="other")
                ctx.widget(["a", "b"], placement="below_editor")
                ctx.title("mine")
                ctx.editor_text("say this")
        """
    )
    agent.ask(commands.Prompt("/show", slash="at_once"))
    assert agent.events == [
        ui_events.Notified("ext", "careful", "warning", "shown-1"),
        ui_events.StatusSet("ext", "ext", "busy", "shown-2"),
        ui_events.StatusSet("ext", "other", None, "shown-3"),
        ui_events.WidgetSet("ext", "ext", ("a", "b"), "below_editor", "shown-4"),
        ui_events.TitleSet("ext", "mine", "shown-5"),
        ui_events.EditorTextSet("ext", "say this", "shown-6"),
    ]


def test_a_dialog_at_the_start_of_a_session_works(extended: Start) -> None:
    agent = extended(
        """
        def extend(linnet):
            @linnet.on("session_start")
            def start(event, ctx):
                ctx.notify(f"{event.reason}: {ctx.confirm('begin?')}")
        """
    )
    agent.session.warm()
    question = agent.question()
    assert agent.prompt("meanwhile").stop == "end"
    agent.answer(question, confirmed=True)
    agent.until_heard(ui_events.Notified)
    assert notices(agent) == ["startup: True"]


def test_time_that_a_dialog_waits_is_not_counted(extended: Start) -> None:
    agent = extended(
        """
        def extend(linnet):
            @linnet.on("tool_call")
            def guard(event, ctx):
                for _ in range(3):
                    ctx.confirm("wait", timeout=0.3)
        """,
        turns=[[{"call": "bash", "args": {"command": "echo ran"}}], [{"text": "done"}]],
        hook_timeout=0.5,
    )
    agent.prompt()
    assert (agent.results, agent.failures) == (["ran\n"], [])


def test_an_extension_speaks_to_the_agent(extended: Start) -> None:
    agent = extended(
        """
        def extend(linnet):
            @linnet.command("say")
            def say(args, ctx):
                ctx.say(args or "/say itself")

            @linnet.command("note")
            def note(args, ctx):
                ctx.say(args, when="note", kind="weather", details={"sun": True})

            @linnet.command("empty")
            def empty(args, ctx):
                ctx.say(" ")
        """
    )
    agent.ask(commands.Prompt("/note rain", slash="at_once"))
    assert agent.heard(RunStarted) == []
    agent.ask(commands.Prompt("/say", slash="at_once"))
    agent.until_heard(Settled)
    assert said(agent) == ["/say itself"]
    [note] = agent.heard(NoteAdded)
    assert (note.message.kind, note.message.details) == ("weather", {"sun": True})
    assert [texts(each.content) for each in agent.resources.requests[0].messages] == ["rain", "/say itself"]
    agent.ask(commands.Prompt("/empty", slash="at_once"))
    assert agent.failures == [("command", "/empty: there is nothing to say")]


@pytest.mark.parametrize("when", ["steer", "follow_up", "note"])
def test_what_is_said_while_the_agent_works_is_heard_when_it_was_to_be(extended: Start, when: str) -> None:
    agent = extended(
        f"""
        def extend(linnet):
            @linnet.command("say")
            def say(args, ctx):
                ctx.say("listen", when="{when}")
        """
        + WAIT,
        turns=[
            [{"call": "wait", "args": {}}, {"call": "bash", "args": {"command": "echo b"}}],
            *[[{"text": "done"}]] * 2,
        ],
        calls_at_once=1,
    )
    run = agent.begin(commands.Prompt("go"))
    question = agent.question()
    agent.ask(commands.Prompt("/say", slash="at_once"))
    agent.until_heard(QueueChanged)
    agent.answer(question, confirmed=True)
    agent.wait(run)
    skipped = agent.results[1] != "b\n"
    assert skipped is (when != "follow_up")
    told = [texts(event.message.content) for event in agent.events if isinstance(event, UserSaid | NoteAdded)]
    assert told == ["go", "listen"]
    assert bool(agent.heard(NoteAdded)) is (when == "note")


def test_commands_of_the_protocol_can_be_run_and_refused(extended: Start) -> None:
    agent = extended(
        """
        def extend(linnet):
            @linnet.command("new")
            def new(args, ctx):
                before = ctx.session_id
                answer = ctx.run("new_session")
                ctx.notify(f"{answer.cancelled} {before != ctx.session_id} {ctx.cwd} {ctx.model.id} {ctx.busy}")

            @linnet.command("run")
            def run(args, ctx):
                ctx.run(args, what=1)
        """
    )
    agent.ask(commands.Prompt("/new", slash="at_once"))
    assert notices(agent) == [f"False True {Path(agent.path).parent} scripted False"]
    agent.ask(commands.Prompt("/run nosuch", slash="at_once"))
    agent.ask(commands.Prompt("/run abort", slash="at_once"))
    first, second = [error for _, error in agent.failures]
    assert first.startswith('/run: no command is called "nosuch"; choose one of abort, ')
    assert second == "/run: abort takes no what; it takes keep, wait"


def test_a_command_may_abort_what_runs_and_goes_on_itself(extended: Start) -> None:
    agent = extended(
        """
        def extend(linnet):
            @linnet.command("stop")
            def stop(args, ctx):
                ctx.abort()
                ctx.notify("stopped")
        """
        + WAIT,
        turns=WAITING,
    )
    run = agent.begin(commands.Prompt("go"))
    agent.question()
    assert agent.ask(commands.Prompt("/stop", slash="at_once")) == commands.Ok()
    assert agent.wait(run).stop == "aborted"
    assert notices(agent) == ["stopped"]


def test_a_program_is_run_where_the_agent_works(extended: Start) -> None:
    agent = extended(
        """
        def extend(linnet):
            @linnet.command("exec")
            def exec(args, ctx):
                ran = ctx.exec("sh", "-c", args)
                ctx.notify(f"{ran.exit_code} {ran.output}")
        """
    )
    agent.ask(commands.Prompt("/exec pwd; exit 3", slash="at_once"))
    assert notices(agent) == [f"3 {Path(agent.path).parent}\n"]


STATE = """
        def extend(linnet):
            @linnet.command("add")
            def add(args, ctx):
                ctx.state["items"] = [*ctx.state.get("items", []), args]
                ctx.notify(" ".join(ctx.state["items"]))

            @linnet.command("show")
            def show(args, ctx):
                ctx.notify(repr(dict(ctx.state)))

            @linnet.command("drop")
            def drop(args, ctx):
                del ctx.state["items"]

            @linnet.command("odd")
            def odd(args, ctx):
                ctx.state["items"] = object()
"""


def add(agent: Extended, word: str) -> str:
    agent.ask(commands.Prompt(f"/add {word}", slash="at_once"))
    return notices(agent)[-1]


def show(agent: Extended) -> str:
    agent.ask(commands.Prompt("/show", slash="at_once"))
    return notices(agent)[-1]


def test_state_is_that_of_the_path_that_the_conversation_stands_on(extended: Start) -> None:
    agent = extended(STATE)
    agent.prompt("first")
    add(agent, "a")
    agent.prompt("second")
    assert add(agent, "b") == "a b"
    [_, (second, _)] = agent.ask(commands.GetBranchMessages()).messages
    agent.ask(commands.Branch(second))
    assert show(agent) == "{'items': ['a']}"
    agent.ask(commands.Navigate(None))
    assert show(agent) == "{}"
    agent.ask(commands.NewSession())
    assert show(agent) == "{}"


def test_state_is_there_when_the_session_is_opened_again(extended: Start) -> None:
    agent = extended(STATE)
    agent.prompt("first")
    add(agent, "a")
    agent.close()
    assert add(extended(STATE, resume=True), "b") == "a b"


def test_state_may_be_dropped_and_is_plain_json(extended: Start) -> None:
    agent = extended(STATE)
    add(agent, "a")
    agent.ask(commands.Prompt("/odd", slash="at_once"))
    assert agent.failures[0][1].startswith("/odd: only plain JSON can be kept")
    agent.ask(commands.Prompt("/drop", slash="at_once"))
    assert show(agent) == "{}"


def test_an_agent_without_a_session_keeps_state_until_the_conversation_is_cleared(extended: Start) -> None:
    agent = extended(STATE, save=False, sessions=False)
    add(agent, "a")
    assert show(agent) == "{'items': ['a']}"
    agent.ask(commands.Clear())
    assert show(agent) == "{}"


def test_events_are_told_in_their_order_and_session_start_once_for_each_session(extended: Start) -> None:
    agent = extended(
        """
        def extend(linnet):
            for name in ("session_start", "agent_start", "turn_start", "message_start", "message_end",
                         "tool_execution_start", "tool_execution_end", "turn_end", "agent_end", "model_select",
                         "thinking_level_select", "session_compact", "session_shutdown"):
                @linnet.on(name)
                def heard(event, ctx):
                    ctx.notify(event.name)
        """,
        turns=[[{"call": "bash", "args": {"command": "true"}}], [{"text": "done"}]],
        compact_keep=1,
    )
    agent.prompt()
    agent.ask(commands.SetThinking("high"))
    agent.ask(commands.NewSession())
    agent.until(lambda: notices(agent).count("session_start") == 2)
    agent.close()
    step = ["turn_start", "message_start", "message_end"]
    assert notices(agent) == [
        "session_start",
        *("agent_start", "message_start", "message_end", *step),
        *("tool_execution_start", "tool_execution_end", "turn_end", *step, "turn_end", "agent_end"),
        "thinking_level_select",
        "session_start",
        "session_shutdown",
    ]


def test_a_listener_that_hangs_holds_up_no_other(extended: Start) -> None:
    agent = extended(
        """
        import time

        def extend(linnet):
            @linnet.on("agent_start")
            def hang(event, ctx):
                time.sleep(600)
        """,
        """
        def extend(linnet):
            @linnet.on("agent_end")
            def heard(event, ctx):
                ctx.notify(event.messages[-1].text)
        """,
        hook_timeout=0.05,
    )
    assert agent.prompt().stop == "end"
    agent.until_heard(ui_events.Notified)
    agent.until(lambda: agent.failures == [("agent_start", "it took longer than 0.05 s")])
    assert notices(agent) == ["hello"]
    assert agent.heard(ReplyEnded)


def test_each_compaction_is_told_with_its_own_entry(extended: Start) -> None:
    agent = extended(
        """
        def extend(linnet):
            @linnet.on("session_before_compact")
            def same(event, ctx):
                return linnet.replace(summary="the same")

            @linnet.on("session_compact")
            def told(event, ctx):
                ctx.notify(f"{event.summary} {event.entry}")
        """,
        compact_keep=1,
    )
    for _ in range(2):
        agent.prompt("one")
        agent.prompt("two")
        agent.ask(commands.Compact())
    agent.until_heard(ui_events.Notified, 2)
    entries = [event.id for event in agent.heard(CompactionEnded)]
    assert notices(agent) == [f"the same {entry}" for entry in entries]
    assert len(set(entries)) == 2


def test_what_is_sent_is_asked_about_when_the_run_has_begun(extended: Start) -> None:
    agent = extended(
        """
        def extend(linnet):
            for name in ("input", "before_agent_start", "context", "tool_call", "tool_result"):
                @linnet.on(name)
                def asked(event, ctx):
                    ctx.notify(event.name)
        """,
        turns=[[{"call": "bash", "args": {"command": "true"}}], [{"text": "done"}]],
    )
    agent.prompt()
    kinds = (ui_events.Notified, RunStarted, StepStarted, ToolStarted, ToolFinished)
    told = [
        event.message if isinstance(event, ui_events.Notified) else type(event).__name__
        for event in agent.events
        if isinstance(event, kinds)
    ]
    assert told == [
        *("input", "before_agent_start", "RunStarted", "StepStarted", "context"),
        *("ToolStarted", "tool_call", "tool_result", "ToolFinished", "StepStarted", "context"),
    ]
