"""`linnet login`, `linnet logout`, `linnet auth`, and where the key of a request comes from."""

import json
import os
import pty
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.providers.provider_rows import PROVIDERS
from linnet.testing.agent import Agent
from linnet.testing.model_server import ModelServer
from tests.suite import forked

SECRET = "sk-planted-0123456789"
LINNET = str(Path(sys.executable).with_name("linnet"))
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def run(*words: str, say: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        base = {"PATH": os.environ["PATH"], "LINNET_HOME": str(tmp_path / "home")}
        done = forked.run([LINNET, *words], input=say, capture_output=True, text=True, env={**base, **env}, timeout=20)
        assert SECRET not in done.stdout + done.stderr
        return done

    return run


@pytest.fixture
def auth(tmp_path: Path) -> Path:
    return tmp_path / "home" / "auth.json"


def test_a_key_that_is_piped_in_is_kept_used_and_forgotten(
    run: Run, auth: Path, spawn: Callable[..., Agent], server: ModelServer
) -> None:
    assert run("login", "anthropic", say=f"{SECRET}\n").stdout == f"The key of anthropic is kept in {auth}.\n"
    assert auth.stat().st_mode & 0o777 == 0o600
    agent = spawn("rpc", "--base-url", server.url, env={"LINNET_HOME": str(auth.parent)})
    agent.prompt("hi")
    assert server.requests[-1].headers["x-api-key"] == SECRET
    assert run("logout", "anthropic").stdout == f"The key of anthropic is no longer in {auth}.\n"
    again = run("logout", "anthropic")
    assert (again.returncode, again.stderr) == (1, f"linnet: {auth} has no key of anthropic\n")


def test_a_terminal_does_not_show_what_is_typed(auth: Path) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(LINNET, [LINNET, "login", "openai"], {"LINNET_HOME": str(auth.parent)})
    shown = b""
    while b"Key of openai: " not in shown:
        assert select.select([terminal], [], [], 20)[0]
        shown += os.read(terminal, 1024)
    os.write(terminal, f"{SECRET}\n".encode())
    try:
        while chunk := os.read(terminal, 1024):
            shown += chunk
    except OSError:  # How the end of a terminal is told.
        pass
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert b"is kept in" in shown
    assert SECRET.encode() not in shown
    assert json.loads(auth.read_text())["openai"]["key"] == SECRET


def test_it_is_said_where_keys_are_and_never_what_they_are(run: Run, auth: Path) -> None:
    run("login", "openai", say=f"!echo {SECRET}")
    keys = json.loads(auth.read_text())
    auth.write_text(json.dumps({**keys, "deepseek": {"type": "oauth", "access": SECRET}}))
    done = run("auth", ANTHROPIC_API_KEY=SECRET)
    said = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert list(said) == [name for name, info in PROVIDERS.items() if info.base_url or info.site]
    assert said["anthropic"] == "a key in ANTHROPIC_API_KEY"
    assert said["openai"] == f"a command in {auth}"
    assert said["deepseek"] == f"no key: its entry in {auth} is a login by OAuth, which linnet cannot use"
    assert said["openrouter"] == "no key; set OPENROUTER_API_KEY, or: linnet login openrouter"
    assert said["ollama"] == "needs no key"
    rows = [json.loads(line) for line in run("auth", "--json", ANTHROPIC_API_KEY=SECRET).stdout.splitlines()]
    assert [(row["provider"], row["key"], row["source"], row["command"]) for row in rows[:3]] == [
        ("anthropic", True, "variable", False),
        ("openai", True, "file", True),
        ("deepseek", False, "file", False),
    ]
    assert "no key; set ANTHROPIC_API_KEY, or: linnet login anthropic\n" in run("auth").stdout
    refused = run("-p", "hi", "--provider", "deepseek")
    assert "no credential for deepseek (its entry in" in refused.stderr


@pytest.mark.parametrize(
    ("words", "say", "code", "message"),
    [
        (["login"], SECRET, 2, "takes the name of one provider"),
        (["login", "anthropic", SECRET], "", 2, "takes the name of one provider"),
        (["login", "acme"], SECRET, 1, 'unknown provider "acme"'),
        (["login", "scripted"], SECRET, 1, 'unknown provider "scripted"'),
        (["login", "openai"], "", 1, "the key is empty"),
        (["login", "openai"], "!  \n", 1, "the key is empty"),
        (["login", "openai"], f"{SECRET} x", 1, "this is no key"),
        (["login", "openai"], f"{SECRET}\n{SECRET}", 1, "this is no key"),
        (["login", "openai"], f"{SECRET}ä", 1, "this is no key"),
        (["logout"], "", 2, "takes the name of one provider"),
        (["logout", "acme"], "", 1, 'unknown provider "acme"'),
        (["auth", "openai"], "", 2, "takes no words"),
        (["auth", "--all"], "", 2, "unknown flag --all"),
    ],
)
def test_what_makes_no_sense_is_one_sentence_and_nothing_is_kept(
    run: Run, auth: Path, words: list[str], say: str, code: int, message: str
) -> None:
    done = run(*words, say=say)
    assert done.returncode == code
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not auth.exists()


@pytest.mark.parametrize("word", ["login", "logout", "auth"])
def test_each_has_help(run: Run, word: str) -> None:
    assert run(word, "--help").stdout.startswith(f"linnet {word}: ")


def test_a_command_runs_once_and_only_when_a_key_is_needed(
    spawn: Callable[..., Agent], server: ModelServer, tmp_path: Path, run: Run, auth: Path
) -> None:
    ran = tmp_path / "ran"
    run("login", "anthropic", say=f"!echo x >> {ran}; echo {SECRET}")
    agent = spawn("rpc", "--base-url", server.url, env={"LINNET_HOME": str(auth.parent)})
    assert agent.ask("ping")["success"]
    assert agent.ask("get_models")["success"]
    assert agent.ask("get_state")["success"]
    assert not ran.exists()
    for _ in range(3):
        agent.prompt("hi")
        assert server.requests[-1].headers["x-api-key"] == SECRET
    assert ran.read_text() == "x\n"


def test_a_command_that_fails_ends_the_run_with_a_sentence_and_is_tried_again(
    spawn: Callable[..., Agent], server: ModelServer, tmp_path: Path
) -> None:
    command = f"!test -e {tmp_path}/unlocked && echo {SECRET} || {{ echo vault is locked >&2; exit 1; }}"
    agent = spawn("rpc", "--base-url", server.url, "--api-key", command)
    frames = agent.prompt("hi")
    assert "the command for the key of anthropic failed with exit code 1: vault is locked" in str(frames)
    (tmp_path / "unlocked").touch()
    agent.prompt("hi")
    assert server.requests[-1].headers["x-api-key"] == SECRET


def test_an_abort_ends_a_run_that_waits_for_a_command(spawn: Callable[..., Agent], server: ModelServer) -> None:
    agent = spawn("rpc", "--base-url", server.url, "--api-key", "!sleep 600")
    agent.send({"id": "p", "type": "prompt", "message": "hi"})
    agent.until("turn_start")
    agent.send({"id": "a", "type": "abort"})
    agent.until("done")
    assert agent.ask("ping")["success"]
    assert not server.requests
