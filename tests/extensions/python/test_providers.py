"""Providers of models that extensions bring."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.model_server import ModelServer
from tests.suite.forked import ForkedAgent

STREAM = """
from linnet.provider import Model, Usage, UsageReported

def extend(linnet):
    def stream(request, cancel):
        yield f"{request.model.id} heard "
        yield request.messages[-1].content[0].text
    linnet.provider("parrot", models=[Model("grey", "parrot", context_window=9_000), "green"], stream=stream)
"""
SERVER = """
def extend(linnet):
    linnet.provider("lan", base_url="{url}", api="anthropic-messages", models=["one", "two"], key_variable="LAN_KEY")
"""


def asked(folder: Path, source: str, lines: Sequence[dict[str, Any]], *flags: str, **env: str) -> list[dict[str, Any]]:
    """What an agent with this extension prints. Each line is sent when the one before is answered."""
    (folder / "ext.py").write_text(source)
    flags = ("--mode", "rpc", "--no-session", "-e", "ext.py", *flags)
    with ForkedAgent(*flags, cwd=folder, env={"LINNET_HOME": str(folder / "home"), **env}) as agent:
        found: list[dict[str, Any]] = []
        for line in lines:
            agent.send(line)
            found += agent.until("agent_end" if line["type"] == "prompt" else "response")
    return found


def texts(printed: list[dict[str, Any]]) -> list[str]:
    ends = [each["message"] for each in printed if each["type"] == "message_end"]
    return [part["text"] for each in ends if each["role"] == "assistant" for part in each["content"]]


def test_a_function_answers_from_the_start_and_after_a_change_of_model(tmp_path: Path) -> None:
    printed = asked(
        tmp_path,
        STREAM,
        [
            {"type": "prompt", "message": "hello"},
            {"type": "get_state"},
            {"type": "set_model", "provider": "parrot", "modelId": "green"},
            {"type": "prompt", "message": "again"},
        ],
        *("--provider", "parrot", "--model", "grey"),
    )
    assert texts(printed) == ["grey heard hello", "green heard again"]
    [state] = [each["data"] for each in printed if each.get("command") == "get_state"]
    assert (state["model"]["provider"], state["model"]["contextWindow"]) == ("parrot", 9_000)


def test_a_server_is_asked_with_its_key(tmp_path: Path) -> None:
    with ModelServer() as server:
        printed = asked(
            tmp_path,
            SERVER.format(url=server.url),
            [
                {"type": "get_available_models"},
                {"type": "set_model", "provider": "lan", "modelId": "two"},
                {"type": "prompt", "message": "hi"},
            ],
            *("--provider", "scripted"),
            LAN_KEY="k-123",
        )
        [models] = [each["data"]["models"] for each in printed if each.get("command") == "get_available_models"]
        assert [each["id"] for each in models if each["provider"] == "lan"] == ["one", "two"]
        assert server.requests[-1].body["model"] == "two"
        assert server.requests[-1].headers["x-api-key"] == "k-123"
    assert texts(printed) == ["Hello from the scripted model."]


def test_one_that_nobody_brings_is_told_when_it_is_asked(tmp_path: Path) -> None:
    source = "def extend(linnet): pass"
    printed = asked(tmp_path, source, [{"type": "prompt", "message": "hi"}], "--provider", "nobody", "--model", "m")
    errors = [each["message"].get("errorMessage", "") for each in printed if each["type"] == "message_end"]
    assert any('unknown provider "nobody"' in error for error in errors)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ('"x", models=["a"]', "needs either base_url and api, or stream"),
        ('"x", models=["a"], base_url="http://x", stream=print', "needs either base_url and api, or stream"),
        ('"x", models=["a"], base_url="http://x", api="grpc"', 'no API is called "grpc"'),
        ('"x", models=["a"], base_url="http://x", api="scripted"', '"scripted" is no API of a server'),
        ('"openai", models=["a"], base_url="http://x", api="openai-completions"', 'called "openai" already'),
        ('"x/y", models=["a"], stream=print', "without a slash"),
    ],
)
def test_what_cannot_be_added_is_told(tmp_path: Path, said: str, words: str) -> None:
    home = tmp_path / "home" / "extensions"
    home.mkdir(parents=True)
    (home / "bad.py").write_text(f"def extend(linnet): linnet.provider({said})")
    source = "def extend(linnet): pass"
    printed = asked(tmp_path, source, [{"type": "prompt", "message": "hi"}], "--provider", "scripted")
    assert any(words in each.get("error", "") for each in printed if each["type"] == "hook_error")
