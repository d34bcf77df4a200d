"""The token gate, the flags and the exit codes."""

import json
import os
import signal
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet import __version__
from linnet.testing.agent import Agent, types
from linnet.testing.model_server import ModelServer

GATED = {"ZOTCORE_RPC_TOKEN": "shared-secret"}


def test_the_right_token_opens_the_gate_for_good(zot: Callable[..., Agent]) -> None:
    agent = zot(env=GATED)
    answer = agent.ask("hello", id="0", token="shared-secret")
    assert answer["success"]
    assert answer["data"]["protocol_version"] == 1
    assert agent.ask("ping")["success"]
    assert agent.ask("hello", token="now it does not matter")["success"]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (b'{"id":1,"type":"hello","token":"wrong"}', "invalid token"),
        (b'{"id":1,"type":"hello","token":""}', "invalid token"),
        (b'{"id":1,"type":"hello"}', "invalid token"),
        ('{"id":1,"type":"hello","token":"shäred"}'.encode(), "invalid token"),
        (b'{"id":1,"type":"hello","token":5}', "`token` must be a string"),
        (b'{"id":1,"type":"prompt","message":"hi"}', "auth required: send hello with token first"),
        (b'{"id":1,"type":"frob"}', "unknown command"),
        (b'{"id":1', "malformed json: "),
    ],
)
def test_any_other_first_line_is_refused_and_ends_the_process(
    zot: Callable[..., Agent], server: ModelServer, line: bytes, error: str
) -> None:
    agent = zot(env=GATED)
    agent.send_bytes(b"\n" + line + b'\n{"id":2,"type":"hello","token":"shared-secret"}\n')
    frame = agent.read()
    assert frame is not None
    assert frame["success"] is False
    assert frame["error"].startswith(error)
    assert agent.read() is None
    assert agent.wait() == 1
    assert agent.stderr == "linnet: rpc: bad auth token\n"
    assert not server.requests


def test_an_end_of_stdin_before_the_hello_is_just_an_end(zot: Callable[..., Agent]) -> None:
    agent = zot(env=GATED)
    assert agent.end() == []
    assert agent.wait() == 0


@pytest.mark.parametrize(
    ("flags", "code", "words"),
    [
        (["rpc", "--bogus"], 2, "unknown flag --bogus"),
        (["rpc", "--provder", "x"], 2, "did you mean --provider?"),
        (["rpc", "--model"], 2, "--model needs a value"),
        (["rpc", "--no-tools=1"], 2, "--no-tools takes no value"),
        (["rpc", "--max-steps", "0"], 2, "--max-steps must be a whole number, 1 or more, not '0'"),
        (["rpc", "hello"], 2, "rpc mode takes prompts on stdin"),
        (["rpc", "--api-key", "x", "--model", "nope"], 1, 'unknown model "nope" (provider="anthropic")'),
        (["rpc", "--api-key", "x", "--model", "claude-sonet-4-5"], 1, 'did you mean "claude-sonnet-4-5"?'),
        (["rpc"], 1, "no credential for anthropic; set ANTHROPIC_API_KEY, pass --api-key"),
        (["rpc", "--provider", "openai"], 1, "no credential for openai; set OPENAI_API_KEY"),
        (["rpc", "--provider", "scripted", "--tools", "read,fly"], 1, 'unknown tool "fly"'),
        (["rpc", "--provider", "scripted", "--reasoning", "much"], 1, 'unknown reasoning level "much"'),
        (["rpc", "--script", "nope.json"], 1, "nope.json cannot be read: there is no such file"),
        (["rpc", "--api-key", "x", "--base-url", "localhost:1"], 1, "--base-url must start with http://"),
        ([], 2, "say what to do"),
        (["-p"], 2, "the prompt is missing"),
    ],
)
def test_a_bad_start_is_one_sentence_and_a_code(
    spawn: Callable[..., Agent], flags: list[str], code: int, words: str
) -> None:
    agent = spawn(*flags)
    assert agent.end() == []
    assert agent.wait() == code
    assert agent.stderr.startswith("linnet: ")
    assert agent.stderr.count("\n") == 1
    assert words in agent.stderr


def test_help_and_version_are_for_people(spawn: Callable[..., Agent]) -> None:
    agent = spawn("--version")
    assert agent.process.communicate()[0] == f"linnet {__version__} (speaks as pi 1.5.0)\n".encode()
    agent = spawn("--help")
    text = agent.process.communicate()[0].decode()
    for flag in ("--provider", "--reasoning, --thinking", "--max-steps", "linnet rpc"):
        assert flag in text


def test_a_flag_may_be_joined_to_its_value(spawn: Callable[..., Agent]) -> None:
    agent = spawn("rpc", "--provider=scripted", "--model=scripted-2")
    assert agent.ask("get_state")["data"]["model"] == "scripted-2"


def test_rpc_may_be_spelled_as_a_mode_with_a_dialect(spawn: Callable[..., Agent]) -> None:
    for flags in (["--rpc"], ["--mode", "rpc", "--dialect", "zot"]):
        assert spawn(*flags, "--provider", "scripted").ask("ping")["success"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def test_a_key_comes_from_the_environment_or_from_a_private_file(
    spawn: Callable[..., Agent], server: ModelServer, home: Path
) -> None:
    def start(**env: str) -> Agent:
        return spawn("rpc", "--base-url", server.url, env={"LINNET_HOME": str(home), **env})

    start(ANTHROPIC_API_KEY="from-env").prompt("hi")
    assert server.requests[-1].headers["x-api-key"] == "from-env"

    auth = home / "auth.json"
    auth.write_text(json.dumps({"anthropic": "from-file"}))
    auth.chmod(0o600)
    start().prompt("hi")
    assert server.requests[-1].headers["x-api-key"] == "from-file"
    start(ANTHROPIC_API_KEY="from-env").prompt("hi")
    assert server.requests[-1].headers["x-api-key"] == "from-env"

    auth.chmod(0o644)
    agent = start()
    assert agent.wait() == 1
    assert f"chmod 600 {auth}" in agent.stderr


def test_a_file_that_is_no_json_is_named(spawn: Callable[..., Agent], home: Path) -> None:
    wrong = ":1: [0].id: expected a string, not a whole number\n"
    for name, text, said in [("auth.json", "{", " cannot be used"), ("models.json", '[{"id": 5}]', wrong)]:
        (home / name).write_text(text)
        (home / name).chmod(stat.S_IRUSR)
        agent = spawn("rpc", env={"LINNET_HOME": str(home)})
        assert agent.wait() == 1
        assert f"{home / name}{said}" in agent.stderr
        (home / name).unlink()


def test_models_of_ones_own_can_be_added(spawn: Callable[..., Agent], server: ModelServer, home: Path) -> None:
    model = {"id": "llama", "provider": "openai", "context_window": 8192, "max_output": 1024}
    (home / "models.json").write_text(json.dumps([model]))
    flags = ["--provider", "openai", "--model", "llama", "--base-url", server.url, "--api-key", "x"]
    agent = spawn("rpc", *flags, env={"LINNET_HOME": str(home)})
    agent.prompt("hi")
    assert server.requests[-1].body["model"] == "llama"
    assert "llama" in [m["id"] for m in agent.ask("get_models")["data"]["models"]]


def test_nothing_is_written_to_the_home_folder(agent: Agent, tmp_path: Path) -> None:
    agent.prompt('!tool bash {"command":"true"}')
    agent.end()
    assert not (tmp_path / "work" / ".linnet-home").exists()


def test_the_end_of_stdin_lets_a_tool_finish(agent: Agent) -> None:
    agent.send({"id": "1", "type": "prompt", "message": '!tool bash {"command":"sleep 0.2; echo late"}'})
    frames = agent.end()
    assert types(frames)[-1] == "done"
    assert any("late" in str(f) for f in frames if f["type"] == "tool_result")
    assert agent.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_turn_answers_the_queue_and_exits(agent: Agent, number: signal.Signals) -> None:
    agent.send({"id": "1", "type": "prompt", "message": "!gate never"})
    agent.until("text_delta")
    agent.send({"id": "2", "type": "prompt", "message": "queued"})
    assert agent.ask("ping")["success"]
    agent.signal(number)
    frames: list[dict[str, Any]] = []
    while (frame := agent.read()) is not None:
        frames.append(frame)
    assert types(frames)[-2:] == ["turn_end", "done"]
    assert [f for f in frames if f.get("id") == "2"] == [
        {
            "type": "response",
            "id": "2",
            "command": "prompt",
            "success": False,
            "error": "the agent is shutting down",
        }
    ]
    assert agent.wait() == 128 + number
    assert agent.stderr == ""


def test_a_signal_when_idle_exits_at_once(agent: Agent) -> None:
    agent.ask("ping")
    agent.signal(signal.SIGTERM)
    assert agent.read() is None
    assert agent.wait() == 128 + signal.SIGTERM


def test_stray_prints_and_child_output_cannot_touch_the_protocol(agent: Agent) -> None:
    command = f"echo stray > /proc/{agent.process.pid}/fd/1; echo ok"
    frames = agent.prompt(f"!tool bash {json.dumps({'command': command})}")
    assert types(frames)[-1] == "done"
    assert os.path.exists(f"/proc/{agent.process.pid}")


def test_the_base_url_may_come_from_the_environment_and_a_server_of_ones_own_needs_no_key(
    spawn: Callable[..., Agent], server: ModelServer
) -> None:
    agent = spawn("rpc", env={"ANTHROPIC_BASE_URL": server.url})
    assert "http 401" in agent.prompt("hi")[-2]["message"]  # This server wants one; that is for it to say.
    agent = spawn("rpc", env={"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "x"})
    assert agent.prompt("hi")[-2]["stop"] == "end_turn"
