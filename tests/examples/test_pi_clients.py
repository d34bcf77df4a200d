"""The clients of pi's protocol, and the one-liner of zot's, as real processes on the real linnet."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.testing.model_server import ModelServer
from tests.suite.go import built

EXAMPLES = Path(__file__).parents[2] / "examples"
LINNET = Path(sys.executable).with_name("linnet")
PATIENCE = 60
Run = Callable[..., "subprocess.CompletedProcess[str]"]

pytestmark = [pytest.mark.foreign, pytest.mark.timeout(180)]  # A cold Go build takes a while.


def needs(program: str) -> str:
    """The path of a program that not every machine has; without it the test skips, but never in CI."""
    found = shutil.which(program) or shutil.which(program, path=str(Path(sys.executable).parent))
    if found is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{program} is not installed")
    return found


def command(name: str) -> list[str]:
    match name:
        case "shell":
            needs("jq")
            return [str(EXAMPLES / "pi" / "shell" / "client.sh")]
        case "one-liner":
            needs("jq")
            return [str(EXAMPLES / "rpc" / "shell" / "one-liner.sh")]
        case "python":
            return [sys.executable, "-I", str(EXAMPLES / "pi" / "python" / "client.py")]
        case "node":
            return [needs("node"), str(EXAMPLES / "pi" / "node" / "client.mjs")]
        case _:
            return [built(EXAMPLES / "pi" / "go")]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def run(
        name: str, *args: str, typed: str | None = None, agent: Path = LINNET
    ) -> "subprocess.CompletedProcess[str]":
        argv = [needs("node"), str(EXAMPLES / "pi" / "node" / "interactive.mjs")] if typed else command(name)
        work = tmp_path / "work"
        work.mkdir(exist_ok=True)
        keyless = {f"{vendor}_API_KEY": "" for vendor in ("ANTHROPIC", "OPENAI", "DEEPSEEK")}
        env = {**os.environ, **keyless, "LINNET": str(agent), "LINNET_HOME": str(tmp_path / "home")}
        return subprocess.run(
            [*argv, *args], cwd=work, env=env, input=typed or "", capture_output=True, text=True, timeout=PATIENCE
        )

    return run


CLIENTS = ["shell", "python", "node", "go", "one-liner"]
one_and_all = pytest.mark.parametrize(
    "name", ["python", *(pytest.param(name, marks=pytest.mark.judge) for name in CLIENTS if name != "python")]
)


@pytest.mark.parametrize("name", CLIENTS)
def test_a_prompt_is_sent_and_its_answer_streamed(run: Run, server: ModelServer, name: str) -> None:
    flags = ("--provider", "anthropic", "--base-url", server.url, "--api-key", "x", "--retry-delay", "0.05")
    done = run(name, "hello", *flags)
    assert (done.returncode, done.stdout) == (0, "Hello from the scripted model.\n")
    again = run(name, "!fail 503 1", *flags)
    assert (again.returncode, again.stdout.strip()) == (0, "recovered")


@one_and_all
def test_what_fails_is_said_and_is_no_success(run: Run, server: ModelServer, name: str) -> None:
    failed = run(name, "!fail 401 9", "--provider", "anthropic", "--base-url", server.url)
    assert failed.returncode == 1
    assert "401" in failed.stderr
    assert run(name, "hello", "--provider", "nope").returncode != 0
    keyless = run(name, "hello")
    assert keyless.returncode != 0
    assert "no credential for anthropic" in keyless.stderr


@one_and_all
def test_an_agent_that_cannot_be_started_is_named(run: Run, tmp_path: Path, name: str) -> None:
    failed = run(name, "hello", agent=tmp_path / "no-such-agent")
    assert failed.returncode == 1
    assert "no-such-agent" in failed.stderr
    assert "Traceback" not in failed.stderr


@pytest.mark.parametrize("name", ["python"])
def test_an_agent_that_dies_is_told_in_a_sentence(run: Run, name: str) -> None:
    failed = run(name, "hello", "--no-such-flag")
    assert failed.returncode == 1
    assert "client: the agent ended before it had answered" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_a_conversation_goes_on_until_nothing_more_is_typed(run: Run, server: ModelServer) -> None:
    done = run("", "--provider", "anthropic", "--base-url", server.url, "--api-key", "x", typed="hello\n")
    assert (done.returncode, done.stdout) == (0, "Hello from the scripted model.\n")


def test_the_python_client_imports_nothing_but_the_standard_library() -> None:
    for folder in ("rpc", "pi"):
        source = (EXAMPLES / folder / "python" / "client.py").read_text()
        imported = {
            line.split()[1].split(".")[0] for line in source.splitlines() if line.startswith(("import ", "from "))
        }
        assert imported <= sys.stdlib_module_names
