"""Where extensions are found, how they are loaded, what cannot be, and what their tools return."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.core import commands, ui_events
from linnet.core.events import ReplyStarted, ToolFinished
from linnet.core.loop.run import BEGUN
from linnet.extensions.installed import Installed, installed
from linnet.extensions.loader import MODULES, found, listed, tell_failure
from linnet.runtime.settings.packages import EXTENSIONS, entry_points
from tests.extensions.python.conftest import Extended
from tests.suite.forked import ForkedAgent

Start = Callable[..., Extended]
GREET = """
def extend(linnet):
    @linnet.command("{name}")
    def greet(args, ctx):
        ctx.notify("{name}")
"""


def names(agent: Extended) -> list[str]:
    return [each.name for each in agent.ask(commands.GetCommands()).commands]


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("import nosuch_module", "ModuleNotFoundError: No module named 'nosuch_module' (ext.py, line 1)"),
        ("def extend(linnet)", "SyntaxError: expected ':' (ext.py, line 1)"),
        ("x = 1", "it has no function extend(linnet)"),
        ("extend = 3", "it has no function extend(linnet)"),
        ("raise RuntimeError('boom')", "RuntimeError: boom (ext.py, line 1)"),
        ("def extend(linnet): 1 / 0", "ZeroDivisionError: division by zero (ext.py, line 1)"),
        ("import sys; sys.exit(3)", "it called sys.exit(3)"),
        ("def extend(linnet): raise KeyboardInterrupt", "it raised KeyboardInterrupt"),
        ("def extend(linnet): linnet.on('nosuch')", 'no event is called "nosuch"; there are agent_end, '),
        ("def extend(linnet): linnet.command('/hi')", "'/hi' cannot be the name of a command: "),
        ("def extend(linnet): linnet.tool(lambda *args: 1)", "TypeError: <lambda>: a model cannot give *args"),
    ],
)
def test_one_that_was_found_and_cannot_be_loaded_is_told_and_stops_no_other(
    extended: Start, source: str, error: str, caplog: pytest.LogCaptureFixture
) -> None:
    agent = extended(source, GREET.format(name="other"), named=False)
    assert names(agent) == ["other"]
    [(event, told)] = agent.failures
    assert event == "load"
    assert told.startswith(error)
    assert agent.path in caplog.text
    assert agent.prompt().stop == "end"


@pytest.mark.parametrize(
    "source", ["import time; time.sleep(600)", "import asyncio\nasync def extend(linnet): await asyncio.sleep(600)"]
)
def test_one_that_was_found_and_hangs_is_left_out_and_nothing_else_waits(
    extended: Start, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    monkeypatch.setattr("linnet.runtime.extensions.session_extensions.PATIENCE", 0.2)
    agent = extended(source, GREET.format(name="other"), named=False)
    asking = agent.begin(commands.GetCommands())
    assert agent.ask(commands.Ping()) == commands.Pong()
    assert agent.ask(commands.GetState()).session_id
    assert asking.outcome is None, "what needs to know the extensions waits for them"
    assert [each.name for each in agent.wait(asking).commands] == ["other"]
    assert agent.failures == [("load", "it took longer than 0.2 s")]


def test_an_abort_reaches_a_prompt_that_waits_for_extensions(extended: Start) -> None:
    agent = extended("import time; time.sleep(0.2)\ndef extend(linnet): pass")
    prompt = agent.begin(commands.Prompt("go"))
    agent.ask(commands.Abort())
    assert agent.wait(prompt).stop == "aborted"
    assert agent.heard(ReplyStarted) == []


def test_an_async_extend_is_waited_for(extended: Start) -> None:
    agent = extended("async def extend(linnet): linnet.command('late')(print)")
    assert names(agent) == ["late"]


def test_two_tools_or_commands_of_one_name_are_told_and_the_first_counts(extended: Start) -> None:
    source = """
        def extend(linnet):
            @linnet.tool
            def twice() -> str:
                return "{0}"

            @linnet.command("twice")
            def command(args, ctx):
                ctx.notify("{0}")
        """
    agent = extended(
        source.format("first"), source.format("second"), turns=[[{"call": "twice", "args": {}}], [{"text": "done"}]]
    )
    agent.prompt()
    agent.ask(commands.Prompt("/twice", slash="at_once"))
    assert agent.results == ["first"]
    assert [event.message for event in agent.heard(ui_events.Notified)] == ["first"]
    assert [spec.name for spec in agent.resources.requests[0].tools].count("twice") == 1
    assert [error.partition(" conflicts")[0] for _, error in agent.failures] == ['Tool "twice"', 'Command "/twice"']


def test_an_extension_may_replace_a_tool_of_linnets_own(extended: Start) -> None:
    agent = extended(
        """
        def extend(linnet):
            @linnet.tool
            def bash(command: str) -> str:
                return f"not {command}"
        """,
        turns=[[{"call": "bash", "args": {"command": "ls"}}], [{"text": "done"}]],
    )
    agent.prompt()
    assert agent.results == ["not ls"]


@pytest.mark.parametrize(
    ("body", "result", "is_error"),
    [
        ("return 'text'", "text", False),
        ("return None", "(no output)", False),
        ("return 3", "3", False),
        ("return {'a': [1, None]}", '{"a":[1,null]}', False),
        ("return [1, 2]", "[1,2]", False),
        ("a = []; a.append(a); return a", "RecursionError: ", True),
        ("return {1, 'a'}", "", False),
        ("raise ValueError('boom')", "ValueError: boom", True),
        ("import sys; sys.exit(3)", "Broke: it called sys.exit(3)", True),
        ("raise KeyboardInterrupt", "Broke: it raised KeyboardInterrupt", True),
        ("print('{', flush=True)", "(no output)", False),
    ],
)
def test_whatever_a_tool_returns_the_session_goes_on(extended: Start, body: str, result: str, is_error: bool) -> None:
    agent = extended(
        f"""
        def extend(linnet):
            @linnet.tool
            def odd():
                {body}
        """,
        turns=[[{"call": "odd", "args": {}}], [{"text": "done"}]],
    )
    assert agent.prompt().stop == "end"
    assert agent.prompt().stop == "end"
    assert all(each.startswith(result) for each in agent.results)
    assert [event.result.is_error for event in agent.heard(ToolFinished)] == [is_error] * 2


def test_a_tool_is_async_asks_keeps_state_and_shows_what_it_does(extended: Start) -> None:
    agent = extended(
        """
        import asyncio

        def extend(linnet):
            @linnet.tool(name="count", description="Counts.")
            async def tool(by: int, ctx) -> str:
                await asyncio.sleep(0)
                if not await ctx.confirm("count?"):
                    return "no"
                ctx.state["n"] = ctx.state.get("n", 0) + by
                ctx.progress("counting")
                return f"{ctx.state['n']} for {ctx.call_id}"
        """,
        turns=[[{"call": "count", "args": {"by": 2}}], [{"text": "done"}]],
    )
    run = agent.begin(commands.Prompt("go"))
    agent.answer(agent.question(), confirmed=True)
    agent.wait(run)
    assert agent.results == ["2 for call_1"]
    spec = next(spec for spec in agent.resources.requests[0].tools if spec.name == "count")
    assert (spec.description, list(spec.schema["properties"])) == ("Counts.", ["by"])


def test_an_abort_waits_for_no_tool_that_does_not_notice_it(extended: Start) -> None:
    agent = extended(
        """
        import time

        def extend(linnet):
            @linnet.tool
            def hang(ctx) -> str:
                ctx.notify("hanging")
                time.sleep(600)
        """,
        turns=[[{"call": "hang", "args": {}}], [{"text": "done"}]],
    )
    run = agent.begin(commands.Prompt("go"))
    agent.until_heard(ui_events.Notified)
    agent.ask(commands.Abort())
    assert agent.wait(run).stop == "aborted"
    assert agent.results == [BEGUN.format("the turn was aborted")]


def test_without_tools_extensions_have_none_either(extended: Start) -> None:
    agent = extended("def extend(linnet):\n    @linnet.tool\n    def mine() -> str: ...", tools=())
    agent.prompt()
    assert agent.resources.requests[0].tools == ()


def put(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(GREET.format(name=name))
    return folder / f"{name}.py"


def test_they_are_found_where_they_were_named_in_a_trusted_project_and_at_home(extended: Start, tmp_path: Path) -> None:
    put(tmp_path / "home" / "extensions", "home")
    put(tmp_path / ".linnet" / "extensions", "project")
    package = tmp_path / "home" / "extensions" / "package"
    package.mkdir()
    (package / "__init__.py").write_text(GREET.format(name="package") + "from .part import part")
    (package / "part.py").write_text("part = 1")
    for other in ("_hidden.py", ".dotted.py", "text.txt"):
        (tmp_path / "home" / "extensions" / other).write_text("raise RuntimeError")
    named = GREET.format(name="named")
    assert names(extended(named, trust=True)) == ["named", "project", "home", "package"]
    assert names(extended(named)) == ["named", "home", "package"]
    assert names(extended(named, find_extensions=False)) == ["named"]


def test_one_that_is_found_twice_is_loaded_once(tmp_path: Path) -> None:
    path = put(tmp_path / "extensions", "one")
    assert [place.location for place in found([str(path)], [(str(tmp_path / "extensions"), "user")])] == ["path"]


def test_a_folder_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert listed(str(tmp_path / "nosuch")) == []


def test_they_are_read_again_between_runs(extended: Start, tmp_path: Path) -> None:
    agent = extended(GREET.format(name="before"), named=False)
    assert names(agent) == ["before"]
    file = tmp_path / "home/extensions/ext.py"
    file.write_text(GREET.format(name="after!"))
    assert agent.ask(commands.Reload()) == commands.Ok()
    assert names(agent) == ["after!"]
    file.write_text("broken(")
    assert agent.ask(commands.Reload()) == commands.Ok()
    assert names(agent) == []
    assert [event for event, _ in agent.failures] == ["load"]


def test_reading_again_ends_the_old_ones_and_is_refused_while_the_agent_works(extended: Start) -> None:
    agent = extended(
        """
        def extend(linnet):
            @linnet.on("session_start")
            @linnet.on("session_shutdown")
            def heard(event, ctx):
                ctx.notify(f"{event.name} {event.reason}")

            @linnet.tool
            def wait(ctx) -> str:
                return str(ctx.confirm("wait"))
        """,
        turns=[[{"call": "wait", "args": {}}], [{"text": "done"}]],
    )
    run = agent.begin(commands.Prompt("go"))
    question = agent.question()
    assert str(agent.ask(commands.Reload())).startswith("Extensions are read again between runs; ")
    agent.answer(question, confirmed=True)
    agent.wait(run)
    assert agent.ask(commands.Reload()) == commands.Ok()
    agent.until(lambda: len(agent.heard(ui_events.Notified)) == 3)
    told = [event.message for event in agent.heard(ui_events.Notified)]
    assert told == ["session_start startup", "session_shutdown reload", "session_start startup"]


def test_an_agent_without_extensions_may_get_some(extended: Start, tmp_path: Path) -> None:
    agent = extended()
    assert names(agent) == []
    put(tmp_path / "home" / "extensions", "late")
    assert agent.ask(commands.Reload()) == commands.Ok()
    assert names(agent) == ["late"]


@pytest.fixture
def package(tmp_path: Path) -> Iterator[Path]:
    site = tmp_path / "site"
    info = site / "greeter-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "greeter_module.py").write_text(GREET.format(name="packaged").replace("extend", "hook_up"))
    (info / "entry_points.txt").write_text(
        "[console_scripts]\nx = y:z\n[linnet.extensions]\n# none\ngreeter = greeter_module:hook_up [extra]\n"
    )
    sys.path.append(str(site))
    entry_points.cache_clear()
    yield site
    sys.path.remove(str(site))
    entry_points.cache_clear()


@pytest.mark.usefixtures("package")
def test_an_installed_package_brings_some_by_entry_point(extended: Start) -> None:
    assert installed(entry_points(EXTENSIONS)) == [Installed("greeter", "greeter_module", "hook_up")]
    assert names(extended()) == ["packaged"]
    assert names(extended(find_extensions=False)) == []


@given(st.text())
def test_any_file_of_entry_points_can_be_read(text: str) -> None:
    assert all(each.function for each in installed([f"[{EXTENSIONS}]\n{text}"]))


FLAGS = """
def extend(linnet):
    plan = linnet.flag("plan", description="only plan")
    level = linnet.flag("level", description="how much", default=3)
    word = linnet.flag("word", default="none")
    print(plan, level, word)
"""


def spawn(folder: Path, *flags: str) -> tuple[str, int]:
    (folder / "flags.py").write_text(FLAGS)
    with ForkedAgent("rpc", "--provider", "scripted", *flags, cwd=folder) as agent:
        if agent.process.poll() is None:
            with suppress(BrokenPipeError, EOFError):
                agent.ask("get_commands")
        agent.end()
        code = agent.wait()
        return agent.stderr, code


def test_flags_that_extensions_register_are_accepted(tmp_path: Path) -> None:
    stderr, code = spawn(tmp_path, "-e", "flags.py", "--plan", "--level", "5", "--word=x")
    assert code == 0
    assert stderr.splitlines()[0] == "False 3 none", "once to know them"
    assert stderr.splitlines()[-1] == "True 5 x"


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        (("-e", "flags.py", "--nosuch"), "linnet: unknown flag --nosuch (did you mean --"),
        (("--plan",), "linnet: unknown flag --plan (did you mean "),
        (("-e", "flags.py", "--level", "x"), "linnet: --level must be a whole number, not 'x'\n"),
        (("-e", "flags.py", "--plan=1"), "linnet: --plan takes no value\n"),
    ],
)
def test_flags_that_nobody_knows_are_refused(tmp_path: Path, flags: tuple[str, ...], error: str) -> None:
    stderr, code = spawn(tmp_path, *flags)
    assert code == 2
    assert error in stderr


def test_a_name_that_speaks_to_the_terminal_is_told_letter_by_letter(caplog: pytest.LogCaptureFixture) -> None:
    tell_failure("/the\nre/\x1b[2Jred\x07.py", "it broke\x1b]0;title\x07")
    assert caplog.messages == [r"extension load: /the\nre/\x1b[2Jred\x07.py: it broke\x1b]0;title\x07"]


def test_the_bytecode_of_a_file_is_kept_beside_it_where_that_is_allowed(extended: Start, tmp_path: Path) -> None:
    sys.modules.pop(f"{MODULES}ext", None)  # One that was read before is read anew, whatever is beside it.
    if not sys.dont_write_bytecode:
        names(extended(GREET.format(name="x")))
        assert list((tmp_path / "__pycache__").glob("ext.*.pyc"))
        for file in (tmp_path / "__pycache__").iterdir():
            os.unlink(file)


def test_a_process_without_extensions_imports_nothing_for_their_sake(tmp_path: Path) -> None:
    code = (
        "import json, sys\n"
        "from linnet import Runtime\n"
        "with Runtime(provider='scripted', sessions=False) as agent:\n"
        "    agent.run('hi')\n"
        "print(json.dumps([name for name in sys.modules if name.startswith('linnet.extensions')]))"
    )
    import subprocess

    env = {"PATH": os.environ["PATH"], "LINNET_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == []
