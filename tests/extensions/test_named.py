"""Guards that somebody named: either they are there, or nothing is done without them."""

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from linnet import Runtime
from linnet.core import commands
from linnet.core.events import ReplyStarted, Settled
from linnet.errors import ConfigError
from linnet.extensions import named
from linnet.extensions.programs.discovery import DISABLED
from linnet.runtime.config.config import Config
from linnet.runtime.extensions.session_extensions import SessionExtensions
from linnet.runtime.settings.settings import resolve
from linnet.testing.processes import wait_until
from tests.extensions.programs.conftest import GUARD, HELLO, READY, TOOL, extension
from tests.extensions.python.conftest import Extended
from tests.suite import forked
from tests.suite.forked import ForkedAgent

Start = Callable[..., Extended]
SILENT = 'take("x")\n'
WORDS = {
    "zot": ("rpc",),
    "pi": ("--mode", "rpc", "--no-session"),
    "pi-legacy": ("--mode", "rpc", "--no-session", "--dialect", "pi-legacy"),
}


@pytest.fixture
def extended(tmp_path: Path) -> Iterator[Start]:
    opened: list[Extended] = []

    def start(*sources: str, turns: Any = (), **config: Any) -> Extended:
        opened.append(Extended(tmp_path, sources, turns, **config))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


def put(path: Path, text: str = "def extend(linnet): pass\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))
    return path


def nothing(folder: Path) -> Path:
    return folder / "nosuch.py"


def foreign(folder: Path) -> Path:
    return put(folder / "guard.rb", "puts 1")


def empty(folder: Path) -> Path:
    (folder / "guard").mkdir()
    return folder / "guard"


def without_exec(folder: Path) -> Path:
    return put(folder / "guard" / "extension.json", '{"name": "guard"}').parent


def without_program(folder: Path) -> Path:
    return extension(folder / "guard", "", exec="./nope")


def without_program_in_path(folder: Path) -> Path:
    return extension(folder / "guard", "", exec="no-such-program-anywhere")


def that_may_not_be_run(folder: Path) -> Path:
    return extension(folder / "guard", "", exec="./main.py")


def disabled(folder: Path) -> Path:
    return extension(folder / "guard", "", enabled=False)


VISIBLE: list[tuple[Callable[[Path], Path], str]] = [
    (nothing, "there is no such file or folder"),
    (foreign, "guard.rb is none"),
    (empty, "guard is none"),
    (without_exec, "manifest: exec is required"),
    (without_program, "nope, and there is no such program"),
    (without_program_in_path, "its exec is no-such-program-anywhere, and there is no such program"),
    (that_may_not_be_run, "main.py, and there is no such program"),
    (disabled, DISABLED),
]


@pytest.mark.parametrize(("make", "why"), VISIBLE)
def test_what_can_be_seen_is_refused_without_running_anything(
    tmp_path: Path, make: Callable[[Path], Path], why: str
) -> None:
    path = make(tmp_path)
    other = put(tmp_path / "other.py", "raise SystemExit('run')")
    with pytest.raises(ConfigError) as refused:
        Runtime(provider="scripted", cwd=tmp_path, extensions=[other, path])
    assert str(refused.value).startswith(f'Failed to load extension "{path}": ')
    assert why in str(refused.value)


def test_two_programs_of_one_name_cannot_both_be_meant(tmp_path: Path) -> None:
    one, two = (str(extension(tmp_path / each, "", name="guard")) for each in ("one", "two"))
    with pytest.raises(ConfigError, match='the name "guard" is taken by'):
        named.check([one, two], os.environ)
    named.check([one, one], os.environ)


def run(folder: Path, *words: str, input: str = "", **settings: Any) -> subprocess.CompletedProcess[str]:
    home = folder / "home"
    home.mkdir(exist_ok=True)
    if settings:
        (home / "settings.json").write_text(json.dumps(settings))
    (folder / "work").mkdir(exist_ok=True)
    return forked.run(
        [str(Path(sys.executable).with_name("linnet")), *words, "--provider", "scripted"],
        cwd=folder / "work",
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "LINNET_HOME": str(home)},
        input=input,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("words", [*WORDS.values(), ("-p", "hello"), ("--mode", "json", "hello")])
@pytest.mark.parametrize("by", ["flag", "settings"])
def test_the_process_ends_before_its_first_line(tmp_path: Path, words: tuple[str, ...], by: str) -> None:
    missing = tmp_path / "nosuch.py"
    flags, settings = (("-e", str(missing)), {}) if by == "flag" else ((), {"extensions": [str(missing)]})
    done = run(tmp_path, *words, *flags, input='{"id": 1, "type": "get_state"}\n', **settings)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (f'linnet: Failed to load extension "{missing}": there is no such file or folder\n')


def throws(folder: Path) -> Path:
    return put(folder / "guard.py", "def extend(linnet): 1 / 0")


def dies(folder: Path) -> Path:
    return extension(folder / "guard", "sys.exit(3)")


def dies_after_its_hello(folder: Path) -> Path:
    return extension(folder / "guard", HELLO + GUARD + "sys.exit(4)")


def speaks_something_else(folder: Path) -> Path:
    return extension(folder / "guard", 'print("good morning", flush=True)\n' + SILENT)


def is_silent(folder: Path) -> Path:
    return extension(folder / "guard", SILENT)


def hangs(folder: Path) -> Path:
    return put(folder / "guard.py", "import time; time.sleep(600)")


SHOWN: list[tuple[Callable[[Path], Path], str]] = [
    (throws, "ZeroDivisionError: division by zero (guard.py, line 1)"),
    (dies, "exited with code 3"),
    (dies_after_its_hello, "exited with code 4"),
    (speaks_something_else, "parse hello"),
    (is_silent, "it has said nothing for 0.2 s"),
    (hangs, "it took longer than 0.2 s"),
]


@pytest.mark.parametrize(("make", "why"), SHOWN)
def test_whatever_waits_for_one_that_cannot_be_loaded_is_refused_and_so_is_what_comes(
    extended: Start, tmp_path: Path, make: Callable[[Path], Path], why: str
) -> None:
    wait = 0.2 if make in (is_silent, hangs) else 30
    agent = extended(extensions=[make(tmp_path)], extension_wait=wait)
    waiting = [agent.begin(each) for each in (commands.Prompt("one"), commands.GetCommands(), commands.Prompt("two"))]
    refusals = [agent.wait(each) for each in (*waiting, agent.begin(commands.Prompt("three")))]
    assert all(isinstance(each, ConfigError) and why in str(each) for each in refusals), refusals
    agent.until(lambda: agent.broken is not None)
    assert why in str(agent.broken)
    assert ("load", True) in [(event, why in error) for event, error in agent.failures]
    assert agent.resources.requests == []
    assert agent.ask(commands.Ping()) == commands.Pong()


@pytest.mark.parametrize("dialect", list(WORDS))
def test_the_process_answers_what_waits_and_ends_with_1(tmp_path: Path, dialect: str) -> None:
    """Both are there before it starts: it does not wait for anybody once it knows."""
    guard = throws(tmp_path)
    command = [
        str(Path(sys.executable).with_name("linnet")),
        *WORDS[dialect],
        "--provider",
        "scripted",
        "-e",
        str(guard),
    ]
    env = {"PATH": os.environ["PATH"], "LINNET_HOME": str(tmp_path / "home")}
    source, keyboard = os.pipe()
    with open(source, "rb") as stdin, open(keyboard, "wb", buffering=0) as ours:
        ours.write(b"".join(b'{"id":"%d","type":"prompt","message":"hello"}\n' % at for at in (1, 2)))
        done = forked.run(command, stdin=stdin, capture_output=True, text=True, cwd=tmp_path, env=env, timeout=60)
    code, said = done.returncode, done.stderr.splitlines()
    seen = [json.loads(line) for line in done.stdout.splitlines()]
    answers = [frame for frame in seen if frame["type"] in ("response", "error")]
    assert [each.get("success", False) for each in answers] == [False, False]
    assert all("ZeroDivisionError" in each["error"] for each in answers)
    assert code == 1
    assert said[-1].startswith(f'linnet: Failed to load extension "{guard}": Zero')


def test_the_process_ends_also_where_nothing_waits(tmp_path: Path) -> None:
    with ForkedAgent("rpc", "--provider", "scripted", "-e", str(dies(tmp_path)), cwd=tmp_path) as agent:
        assert agent.ask("ping")["success"]
        assert agent.wait() == 1


@pytest.mark.parametrize("words", [("-p", "hello"), ("--mode", "json", "hello")])
def test_one_prompt_is_not_asked_without_its_guard(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = run(tmp_path, *words, "-e", str(throws(tmp_path)))
    assert done.returncode == 1
    assert "ZeroDivisionError: division by zero" in done.stderr
    assert "text_delta" not in done.stdout


def test_a_program_that_hosts_the_runtime_is_told_with_each_prompt(tmp_path: Path) -> None:
    with Runtime(provider="scripted", cwd=tmp_path, extensions=[throws(tmp_path)]) as runtime:
        for _ in range(2):
            with pytest.raises(ConfigError, match="ZeroDivisionError"):
                runtime.run("hello")


def test_a_prompt_waits_for_one_that_was_named_and_is_guarded_by_it(extended: Start, tmp_path: Path) -> None:
    refuse = 'send(type="event_intercept_response", id=take("event_intercept")["id"], block=True, reason="no")\n'
    code = f'while not os.path.exists("go"): time.sleep(0.01)\n{HELLO}{GUARD}{READY}{refuse}{SILENT}'
    guard = extension(tmp_path / "guard", 'note("here")\n' + code)
    agent = extended(
        turns=[[{"call": "write", "args": {"path": "a", "content": "b"}}]], extensions=[guard], max_steps=1
    )
    run = agent.begin(commands.Prompt("go"))
    wait_until((guard / "noted").exists)
    assert agent.ask(commands.GetState()).session_id
    assert run.outcome is None
    (guard / "go").touch()
    agent.wait(run)
    assert agent.results == ["no"]
    assert not (tmp_path / "a").exists()


def test_an_abort_is_not_lost_while_the_door_turns_to_the_next_one(
    extended: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = extended(extensions=[is_silent(tmp_path)], extension_wait=600)
    loads = []
    load = SessionExtensions.load

    def loading(self: SessionExtensions, *args: Any, **keywords: Any) -> None:
        loads.append(self)
        if len(loads) == 2:  # The first one is through; somebody aborts the second just before it is waited for again.
            agent.until_heard(Settled)
            agent.ask(commands.Abort())
        load(self, *args, **keywords)

    monkeypatch.setattr(SessionExtensions, "load", loading)
    first, second = agent.begin(commands.Prompt("one")), agent.begin(commands.Prompt("two"))
    agent.ask(commands.Abort())
    assert agent.wait(first).stop == "aborted"
    assert agent.wait(second).stop == "aborted"
    assert agent.heard(ReplyStarted) == []


def test_a_reload_that_would_lose_one_is_refused_and_the_old_ones_stay(extended: Start, tmp_path: Path) -> None:
    source = """
    def extend(linnet):
        @linnet.on("tool_call")
        def guard(event, ctx):
            from . import words
            return linnet.block(words.NO)
    """
    package = tmp_path / "guard"
    put(package / "__init__.py", source)
    put(package / "words.py", 'NO = "never"')
    program = extension(tmp_path / "program", 'note("started")\n' + HELLO + TOOL + READY + SILENT)
    turns = [[{"call": "write", "args": {"path": "a", "content": "b"}}], [{"text": "done"}]]
    agent = extended(turns=turns, extensions=[package, program])
    assert agent.ask(commands.GetCommands()).commands == []
    for broken in ("def extend(linnet): 1 / 0", "import nosuch_module"):
        put(package / "__init__.py", broken)
        assert isinstance(agent.ask(commands.Reload()), ConfigError)
        agent.prompt()
        assert agent.results[-1] == "never", "what there was is still there, modules and all"
    assert agent.broken is None
    put(package / "__init__.py", source)
    put(package / "words.py", 'NO = "not again"')
    (program / "main.py").unlink()
    assert isinstance(agent.ask(commands.Reload()), ConfigError)
    agent.prompt()
    assert agent.results[-1] == "never"
    agent.session.close()
    wait_until(lambda: (program / "noted").read_text().count("started") == 3)


def test_what_the_user_named_is_there_whatever_a_project_or_a_flag_names(tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    mine, projects, flagged = (put(tmp_path / f"{name}.py") for name in ("mine", "projects", "flagged"))
    put(home / "settings.json", json.dumps({"extensions": [str(mine)]}))
    put(work / ".linnet" / "settings.json", json.dumps({"extensions": [str(projects)]}))
    asked = Config(provider="scripted", cwd=work, trust=True, extensions=[flagged])
    assert resolve(asked, {"LINNET_HOME": str(home)}).extensions == tuple(map(str, (mine, projects, flagged)))
    put(work / ".linnet" / "settings.json", '{"extensions": []}')
    asked = Config(provider="scripted", cwd=work, trust=True)
    assert resolve(asked, {"LINNET_HOME": str(home)}).extensions == (str(mine),)
