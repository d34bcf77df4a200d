"""Opening a hostile repository runs nothing, sends nothing elsewhere, and tells the model nothing."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from linnet.testing.agent import Agent
from linnet.testing.model_server import ModelServer
from tests.settings.conftest import Bench
from tests.settings.hostile import ALONE, EVIL, WAYS, Ground
from tests.suite.forked import ForkedAgent

COMMAND = '!tool bash {"command": "echo ran"}'


@pytest.fixture
def foreign() -> Iterator[ModelServer]:
    """A server that the user never named."""
    with ModelServer() as server:
        yield server


@pytest.fixture
def ground(bench: Bench, server: ModelServer, foreign: ModelServer, tmp_path: Path) -> Ground:
    bench.settings.write_text(json.dumps({"base_url": server.url}))
    bench.env["ANTHROPIC_API_KEY"] = bench.env["OPENAI_API_KEY"] = "the-users-key"
    return Ground(bench, tmp_path / "mark", foreign.url)


def check(ground: Ground, server: ModelServer, foreign: ModelServer) -> None:
    assert not ground.mark.exists()
    assert not (ground.bench.work / ground.mark.name).exists()
    assert foreign.connections == 0
    assert server.requests, "it did not even run"
    asked = json.dumps([request.body for request in server.requests])
    assert EVIL not in asked
    assert "ran\\n" in asked or "ran\\\\n" in asked, "the command did not run"


def zot(ground: Ground, start: type[Agent] = Agent) -> None:
    with start("rpc", cwd=ground.bench.work, env=ground.bench.env) as agent:
        agent.ask("get_state")
        agent.prompt(COMMAND)
        agent.prompt("/hello")
        agent.prompt("/skill:s")
        agent.ask("get_commands")
        agent.end()


def pi(ground: Ground, program: str = "linnet") -> None:
    with Agent("--mode", "rpc", cwd=ground.bench.work, env=ground.bench.env, program=program) as agent:
        agent.ask("get_commands")
        assert agent.ask("bash", command="echo ran")["data"]["output"] == "ran\n"
        for message in (COMMAND, "/hello", "/skill:s"):
            agent.send({"type": "prompt", "message": message})
            agent.until("agent_end")
        agent.end()


def printed(ground: Ground) -> None:
    done = ground.bench.run("-p", COMMAND, launched=True)
    assert (done.returncode, done.stderr.count("\n") <= 1) == (0, True), done.stderr


def lines(ground: Ground) -> None:
    assert ground.bench.run("--mode", "json", COMMAND, launched=True).returncode == 0


def zots_namesake(ground: Ground) -> None:
    assert ground.bench.run("--json", COMMAND, "--with-skills", program="linnet-zot", launched=True).returncode == 0


def module(ground: Ground) -> None:
    """`python -m linnet` puts the current folder first. What is called linnet itself it must not find there."""
    command = [sys.executable, "-m", "linnet", "-p", COMMAND]
    for name in ("linnet.py", "linnet/__init__.py"):
        (ground.bench.work / name).unlink(missing_ok=True)
    (ground.bench.work / "linnet").rename(ground.bench.work / "not-linnet")
    done = subprocess.run(command, cwd=ground.bench.work, env=ground.bench.env, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr


def sdk(ground: Ground) -> None:
    program = (
        "import sys; from linnet import Runtime\n"
        "with Runtime(cwd=sys.argv[1]) as runtime:\n"
        "    for text in (sys.argv[2], '/hello'):\n"
        "        runtime.run(text)\n"
    )
    command = [sys.executable, "-c", program, str(ground.bench.work), COMMAND]
    env = {**ground.bench.env, "PYTHONSAFEPATH": "1"}
    done = subprocess.run(command, cwd=ground.bench.work, env=env, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr


# What the launcher or the interpreter might fall for; by the time of all others linnet itself has begun.
AS_IT_STARTS = {
    "modules that shadow others",
    "packages with entry points",
    "files of variables",
    "programs of known names",
    "compiled files",
}


@pytest.mark.parametrize("way", WAYS)
def test_opening_a_hostile_repository_runs_nothing(
    ground: Ground, server: ModelServer, foreign: ModelServer, way: str
) -> None:
    WAYS[way](ground)
    zot(ground, Agent if way in AS_IT_STARTS else ForkedAgent)
    check(ground, server, foreign)


MODES: dict[str, Callable[[Ground], None]] = {
    "zot": zot,
    "pi": pi,
    "-p": printed,
    "json": lines,
    "linnet-pi": lambda ground: pi(ground, "linnet-pi"),
    "linnet-zot": zots_namesake,
    "python -m": module,
    "sdk": sdk,
}


@pytest.mark.parametrize("mode", MODES)
def test_nor_does_one_that_tries_everything_at_once_in_any_mode(
    ground: Ground, server: ModelServer, foreign: ModelServer, mode: str
) -> None:
    for way, plant in WAYS.items():
        if way not in ALONE:
            plant(ground)
    MODES[mode](ground)
    check(ground, server, foreign)


@pytest.mark.parametrize(
    "way",
    [
        "a shell in the settings",
        "a prefix for every command",
        "servers in the settings",
        "servers in mcp.json",
        "a hard link",
        "a file that is a link",
        "a folder that is a link",
        "a folder for sessions",
    ],
)
def test_the_same_ways_work_where_somebody_trusted_them(ground: Ground, way: str) -> None:
    WAYS[way](ground)
    ground.bench.run("-p", COMMAND, "--trust")
    assert ground.mark.exists()


@pytest.mark.parametrize("way", ["a system prompt in the settings", "words after the system prompt"])
def test_the_model_reads_it_where_somebody_trusted_it(ground: Ground, server: ModelServer, way: str) -> None:
    WAYS[way](ground)
    ground.bench.run("-p", COMMAND, "--trust")
    assert EVIL in json.dumps(server.requests[0].body)


@pytest.mark.parametrize("way", ["a base URL", "a key that is a command", "proxies and LD_PRELOAD"])
def test_and_some_do_not_work_even_then(ground: Ground, server: ModelServer, foreign: ModelServer, way: str) -> None:
    WAYS[way](ground)
    done = ground.bench.run("-p", COMMAND, "--trust")
    assert done.returncode == 0
    check(ground, server, foreign)
    assert server.requests[0].headers["x-api-key"] == "the-users-key"


def test_a_project_may_choose_the_provider_and_not_where_its_key_is_sent(ground: Ground, server: ModelServer) -> None:
    WAYS["a base URL of another provider"](ground)
    shown = ground.bench.run("config", "--trust", "--json")
    found = json.loads(shown.stdout)
    assert (found["provider"]["value"], found["base_url"]["value"]) == ("openai", server.url)
    assert "a project cannot set this" in shown.stderr


def test_a_home_that_would_be_the_projects_is_refused(ground: Ground) -> None:
    ground.settings(shell=ground.script)
    for name in (".linnet", "./.linnet", "work/../.linnet"):
        done = ground.bench.run("-p", COMMAND, LINNET_HOME=name)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert f"LINNET_HOME is {name}, which is the folder of whatever project this is" in done.stderr
    ground.settings(".pi/settings.json", shellPath=ground.script)
    ground.bench.run("--mode", "json", COMMAND, program="linnet-pi", PI_CODING_AGENT_DIR=".pi")
    assert not ground.mark.exists()


def test_what_is_swapped_between_the_check_and_the_use_is_not_used(ground: Ground) -> None:
    """The file is one thing when it is fingerprinted and another when it is read: whoever reads it notices."""
    from linnet.errors import ConfigError
    from linnet.runtime.config.config import ZOT, Config
    from linnet.runtime.project.project import Project
    from linnet.runtime.settings.settings import resolve

    file = ground.settings(max_steps=3)
    first = Project(str(ground.bench.work), str(ground.bench.home))
    first.decide(None, None, [])
    first.answer("always")

    class Swapped(Project):
        def decide(self, flag: bool | None, setting: bool | None, remarks: list[str]) -> None:
            super().decide(flag, setting, remarks)
            assert self.trusted
            file.write_text(json.dumps({"shell": ground.script}))

    environ = {**os.environ, **ground.bench.env}
    swapped = Swapped(str(ground.bench.work), str(ground.bench.home))
    with pytest.raises(ConfigError, match="is not what was trusted: it has changed since"):
        resolve(Config(cwd=ground.bench.work), environ, ZOT, project=swapped)
