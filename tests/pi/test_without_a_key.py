"""pi's protocol without a provider's key: everything is answered, and prompts are refused until there is one."""

from collections.abc import Callable
from pathlib import Path
from socket import socket

import pytest

from linnet.runtime.models.keys import StoredKeys
from linnet.testing.agent import Agent

NO_KEYS = {"ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": "", "DEEPSEEK_API_KEY": ""}


@pytest.fixture
def keyless(spawn: Callable[..., Agent], tmp_path: Path) -> Callable[..., Agent]:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    return lambda *flags, **options: spawn(*flags, **{"env": {**NO_KEYS, "LINNET_HOME": str(home)}, **options})


def test_everything_is_answered_and_a_prompt_is_refused(keyless: Callable[..., Agent]) -> None:
    agent = keyless("--mode", "rpc", "--no-session")
    state = agent.ask("get_state")["data"]
    assert (state["isStreaming"], state["messageCount"]) == (False, 0)
    assert agent.ask("get_available_models")["data"] == {"models": []}
    assert agent.ask("cycle_model")["data"] is None
    assert agent.ask("get_session_stats")["success"]
    assert agent.ask("bash", command="echo hi")["data"]["output"] == "hi\n"
    for command in ({"type": "prompt"}, {"type": "steer"}, {"type": "follow_up"}):
        refused = agent.ask(command["type"], message="hello")
        assert refused["success"] is False
        assert refused["error"].startswith("no credential for anthropic; set ANTHROPIC_API_KEY")
    assert agent.ask("compact")["success"] is False
    assert agent.ask("set_model", provider="openai", modelId="gpt-5.5")["error"] == "Model not found: openai/gpt-5.5"
    agent.end()
    assert agent.wait() == 0
    assert "no credential for anthropic" in agent.stderr
    assert {frame["type"] for frame in agent.seen} == {"response"}


def test_the_earlier_protocol_refuses_with_an_error(keyless: Callable[..., Agent]) -> None:
    agent = keyless("--mode", "rpc", "--dialect", "pi-legacy")
    agent.send({"type": "prompt", "message": "hello"})
    assert agent.until("error")[-1]["error"].startswith("no credential for anthropic")


@pytest.mark.parametrize(
    "flags",
    [("rpc",), ("--mode", "rpc", "--dialect", "zot"), ("-p", "hi"), ("--mode", "json", "--dialect", "pi", "hi")],
)
def test_other_modes_do_not_start(keyless: Callable[..., Agent], flags: tuple[str, ...]) -> None:
    agent = keyless(*flags)
    assert agent.wait() == 1
    assert agent.stderr.startswith("linnet: no credential for anthropic")


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--provider", "nope"), 'unknown provider "nope"'),
        (("--provider", "openai", "--model", "nope"), 'unknown model "nope"'),
        (("--model", "nope"), 'unknown model "nope"'),
    ],
)
def test_what_does_not_exist_still_ends_it(keyless: Callable[..., Agent], flags: tuple[str, ...], why: str) -> None:
    agent = keyless("--mode", "rpc", *flags)
    assert agent.wait() == 1
    assert why in agent.stderr


def test_a_key_that_comes_later_is_used(keyless: Callable[..., Agent], tmp_path: Path) -> None:
    """The vendor is not reached: a proxy is named that nobody is behind."""
    home = tmp_path / "home"
    with socket() as closed:
        closed.bind(("127.0.0.1", 0))
        proxy = f"http://127.0.0.1:{closed.getsockname()[1]}"
        env = {**NO_KEYS, "LINNET_HOME": str(home), "HTTPS_PROXY": proxy, "NO_PROXY": ""}
        agent = keyless("--mode", "rpc", "--no-session", "--retries", "0", env=env)
        assert agent.ask("prompt", message="hello")["success"] is False
        StoredKeys(str(home)).put("openai", "k")
        assert {m["provider"] for m in agent.ask("get_available_models")["data"]["models"]} == {"openai"}
        assert agent.ask("set_model", provider="openai", modelId="gpt-5.5")["success"]
        assert agent.ask("prompt", message="hello")["success"]
        assert "proxy" in agent.until("agent_end")[-1]["messages"][-1]["errorMessage"]
        StoredKeys(str(home)).remove("openai")
        assert agent.ask("prompt", message="hello")["success"] is False
        StoredKeys(str(home)).put("openai", "k")
        assert agent.ask("prompt", message="hello")["success"]
