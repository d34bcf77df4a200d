"""A setter changes this process only, unless it says `save`."""

import json
from typing import Any

import pytest

from linnet.testing.agent import Agent
from tests.settings.conftest import Bench
from tests.suite.forked import ForkedAgent

SETTERS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("set_model", {"provider": "scripted", "modelId": "scripted-2"}, {"provider": "scripted", "model": "scripted-2"}),
    ("set_thinking_level", {"level": "high"}, {"reasoning": "high"}),
    ("set_steering_mode", {"mode": "all"}, {"steering_mode": "all"}),
    ("set_follow_up_mode", {"mode": "all"}, {"follow_up_mode": "all"}),
    ("set_auto_compaction", {"enabled": False}, {"auto_compaction": False}),
    ("set_auto_retry", {"enabled": False}, {"retry_runs": False}),
]


def pi(bench: Bench, *flags: str) -> Agent:
    return ForkedAgent("--mode", "rpc", "--no-session", *flags, cwd=bench.work, env=bench.env)


def state(agent: Agent) -> dict[str, Any]:
    """What is set, without what is of this process alone."""
    data = agent.ask("get_state")["data"]
    return {name: value for name, value in data.items() if name not in ("sessionId", "sessionFile")}


def test_what_is_saved_is_there_at_the_next_start_and_nothing_else_changes(bench: Bench) -> None:
    before = '{"provider": "scripted",\n\n\t"zzz": 1}'
    bench.settings.write_text(before)
    with pi(bench) as agent:
        default = state(agent)
        for command, fields, _ in SETTERS:
            assert agent.ask(command, **fields)["success"]
            assert agent.ask(command, **fields, save=False)["success"]
        assert bench.settings.read_text() == before
        for command, fields, _ in SETTERS:
            assert agent.ask(command, **fields, save=True)["success"]
        changed = state(agent)
    assert changed != default
    wanted = {name: value for _, _, said in SETTERS for name, value in said.items()}
    assert json.loads(bench.settings.read_text()) == {"zzz": 1, **wanted}
    assert bench.settings.read_text().startswith('{"provider": "scripted",\n\n\t"zzz": 1')
    with pi(bench) as agent:
        assert state(agent) == changed
    with ForkedAgent("rpc", cwd=bench.work, env=bench.env) as agent:
        assert agent.ask("get_state")["data"]["model"] == "scripted-2"
        assert agent.ask("set_model", model="scripted", save=True)["success"]
    assert json.loads(bench.settings.read_text())["model"] == "scripted"


@pytest.mark.parametrize(("command", "fields"), [(command, fields) for command, fields, _ in SETTERS])
def test_what_cannot_be_saved_is_refused_and_not_set(bench: Bench, command: str, fields: dict[str, Any]) -> None:
    with pi(bench, "--provider", "scripted") as agent:
        before = state(agent)
        bench.settings.write_text("{")
        refused = agent.ask(command, **fields, save=True)
        assert (refused["success"], "settings.json:1: is not JSON" in refused["error"]) == (False, True)
        assert state(agent) == before
        refused = agent.ask(command, **fields, save="yes")
        assert (refused["success"], refused["error"]) == (False, "`save` must be true or false")
        assert agent.ask(command, **fields)["success"]
    assert bench.settings.read_text() == "{"


def test_an_address_goes_with_the_provider_that_it_was_meant_for(bench: Bench) -> None:
    bench.settings.write_text('{"provider": "anthropic", "base_url": "http://127.0.0.1:1", "retries": 1}')
    with pi(bench, "--api-key", "x") as agent:
        assert agent.ask("set_model", provider="anthropic", modelId="claude-opus-4-5", save=True)["success"]
        assert "base_url" in json.loads(bench.settings.read_text())
    bench.env["OPENAI_API_KEY"] = "y"
    with pi(bench, "--api-key", "x") as agent:
        assert agent.ask("set_model", provider="openai", modelId="gpt-5", save=True)["success"]
    assert json.loads(bench.settings.read_text()) == {"provider": "openai", "model": "gpt-5", "retries": 1}
