"""The example extensions in other languages, in a real agent."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.testing.agent import Agent
from linnet.testing.model_server import ModelServer

EXAMPLES = Path(__file__).parents[2] / "examples" / "extensions"
Start = Callable[..., Agent]


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_the_one_in_node_tells_how_far_it_is_and_hears_of_an_abort(zot: Start) -> None:
    agent = zot("--extension", str(EXAMPLES / "countdown-node"))
    frames = agent.prompt('!tool countdown {"from":2}')
    told = "".join(frame["text"] for frame in frames if frame["type"] == "tool_progress")
    result = next(frame for frame in frames if frame["type"] == "tool_result")
    assert (told, result["content"]) == ("2\n1\n", [{"type": "text", "text": "lift-off"}])
    agent.send({"id": "p", "type": "prompt", "message": '!tool countdown {"from":100000}'})
    agent.until("tool_progress")
    agent.send({"id": "a", "type": "abort"})
    result = next(frame for frame in agent.until("done") if frame["type"] == "tool_result")
    assert result["content"][0]["text"] == "extension countdown/countdown failed: context canceled"
    assert agent.prompt('!tool countdown {"from":0}')[-1]["type"] == "done"


def test_the_one_in_python_refuses_rewrites_and_lets_pass(zot: Start, tmp_path: Path) -> None:
    agent = zot("--extension", str(EXAMPLES / "guard-python"))

    def said(command: str) -> str:
        frames = agent.prompt('!tool bash {"command":"' + command + '"}')
        text: str = next(frame for frame in frames if frame["type"] == "tool_result")["content"][0]["text"]
        return text

    assert said("git push origin --force") == "Refused: nothing is pushed with force from here."
    assert "passed" in said("echo passed")
    assert "--ignore-scripts" in said("npm install 2>/dev/null; echo now")
    assert any(frame["type"] == "ext_notify" and frame["level"] == "warn" for frame in agent.seen)


def test_the_one_in_sh_has_a_command(zot: Start, server: ModelServer) -> None:
    agent = zot("--extension", str(EXAMPLES / "changes-sh"))
    assert [command["name"] for command in agent.ask("get_commands")["data"]["commands"]] == ["changes"]
    agent.send({"id": "c", "type": "prompt", "message": '/changes "type":"shutdown"'})
    said = agent.until("user_message")[-1]["content"][0]["text"]
    assert said.startswith("Run git diff HEAD, and review it")
    agent.until("done")
    agent.end()
    assert agent.wait() == 0
