"""pi's own example extensions, unchanged: each does what it does in pi, side by side on the scripted model."""

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.agent import Agent, Frame
from linnet.testing.model_server import ModelServer
from tests.extensions.node.bench import Driven, node
from tests.extensions.node.scenarios import FIRST, SCENARIOS, Scenario

pytestmark = pytest.mark.foreign
PI15 = Path(sys.prefix) / "node" / "node_modules" / "pi15"
PACKAGES = {
    "1.5.0": PI15,
    "0.87.1": Path(sys.prefix) / "pi" / "node_modules" / "pi87",
    "0.73.1": Path(sys.prefix) / "pi" / "node_modules" / "pi73",
}
FLAGS = ("--mode", "rpc", "--provider", "ours", "--model", "scripted")
NOT_THEIRS = {"custom-provider-anthropic", "custom-provider-qwen-cli", "gondolin", "with-deps", "sandbox"}
"""Examples that need packages from npm, which their own package.json names."""


def examples(version: str) -> Path:
    """Return the folder of a version's examples, or skip the test and say why; where CI is set, fail it."""
    folder = PACKAGES[version] / "examples" / "extensions"
    if not folder.exists():
        reason = f"pi {version} is not installed: `make .venv/.node` does it, where there is npm"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    return folder


class Program(Agent):
    """Any agent in pi's words, started by these words."""

    def __init__(self, words: list[str], cwd: Path, env: dict[str, str]) -> None:
        popen = self._popen

        def start(argv: list[str], **options: Any) -> Any:
            return popen(words, **options)

        self._popen = start  # type: ignore[assignment]
        super().__init__(cwd=cwd, env=env)


@pytest.fixture
def home(tmp_path: Path, server: ModelServer) -> dict[str, str]:
    """The variables that lead both to a home with one model."""
    folder = tmp_path / "home"
    folder.mkdir()
    model = {"id": "scripted", "name": "Scripted", "contextWindow": 200_000, "maxTokens": 8_000}
    provider = {"baseUrl": server.url, "apiKey": "x", "api": "anthropic-messages", "models": [model]}
    (folder / "models.json").write_text(json.dumps({"providers": {"ours": provider}}))
    names = ("HOME", "PI_CODING_AGENT_DIR", "LINNET_HOME")
    return {**dict.fromkeys(names, str(folder)), "PI_OFFLINE": "1", "LINNET_NODE": node(), "TERM": "dumb"}


def driven(words: list[str], scenario: Scenario, folder: Path, home: dict[str, str]) -> tuple[list[Frame], int]:
    """Return all that an agent prints in a scenario, and its exit code."""
    folder.mkdir()
    scenario.prepare(folder)
    flags = [*FLAGS, "-e", str(examples("1.5.0") / scenario.name)]
    with Program([*words, *flags], folder, home) as agent:
        client = Driven(agent)
        for line in scenario.lines:
            client.say(line)
        if agent.process.poll() is None:
            client.finish()
        return agent.seen, agent.wait()


def told(frames: list[Frame], folder: Path) -> dict[str, list[str]]:
    """Return what matters of the frames, in order for each kind: pi and linnet may interleave kinds differently."""
    kinds: dict[str, list[str]] = {"shown": [], "tools": [], "said": [], "errors": [], "answers": []}
    for frame in frames:
        for kind, value in _told(frame):
            text = json.dumps(value, sort_keys=True).replace(str(folder), "FOLDER")
            kinds[kind].append(re.sub(r"\d{13}", "TIME", text).replace(folder.name, "FOLDER"))
    return kinds


def _told(frame: Frame) -> Iterator[tuple[str, Any]]:
    match frame["type"]:
        case "extension_ui_request":
            shown = {name: value for name, value in frame.items() if name not in ("id", "type")}
            if shown.get("widgetPlacement") == "aboveEditor":
                del shown["widgetPlacement"]
            if shown["method"] == "notify":
                shown.setdefault("notifyType", "info")
            yield "shown", shown
        case "tool_execution_end":
            own = frame["toolName"] in ("bash", "read", "edit", "write", "grep", "find", "ls")
            details = None if own or frame["isError"] else frame["result"].get("details") or None
            content = [] if frame["toolName"] == "write" and not frame["isError"] else frame["result"]["content"]
            yield "tools", [frame["toolName"], frame["isError"], content, details]
        case "extension_error" | "hook_error":
            yield "errors", [frame["event"], frame["error"]]
        case "message_end" if frame["message"]["role"] in ("user", "custom", "assistant"):
            message = frame["message"]
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            parts = [block.get("text", block.get("name")) for block in blocks]
            yield "said", [message["role"], parts, message.get("stopReason"), message.get("customType")]
        case "entry_appended" if frame["entry"]["type"] == "custom_message":  # linnet tells of it as a message.
            yield "said", ["custom", [frame["entry"]["content"]], None, frame["entry"]["customType"]]
        case "response" if frame["command"] not in ("extension_ui_response", "get_state", "set_model", "get_commands"):
            data = frame.get("data") or {}
            data = {name: data[name] for name in ("cancelled", "output", "exitCode") if name in data}
            yield "answers", [frame["command"], frame["success"], frame.get("error"), data]


LINNET_PI = [str(Path(sys.executable).with_name("linnet-pi"))]
ALL = [
    pytest.param(each, id=f"{at}-{Path(each.name).name}", marks=[pytest.mark.judge] if at >= FIRST else [])
    for at, each in enumerate(SCENARIOS)
]


@pytest.mark.parametrize("scenario", ALL)
def test_an_example_does_what_it_does_in_pi(
    scenario: Scenario, home: dict[str, str], tmp_path: Path, server: ModelServer
) -> None:
    pi = [node(), str(PI15 / "dist" / "bundle" / "cli.js")]
    examples("1.5.0")
    theirs, their_code = driven(pi, scenario, tmp_path / "theirs", home)
    asked = len(server.requests)
    ours, our_code = driven(LINNET_PI, scenario, tmp_path / "ours", home)
    assert told(ours, tmp_path / "ours") == told(theirs, tmp_path / "theirs")
    assert (our_code, len(server.requests) - asked) == (their_code, asked)


def every(version: str) -> list[str]:
    folder = PACKAGES[version] / "examples" / "extensions"
    found = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
    wanted = [name for name in found if (folder / name).is_dir() or name.endswith(".ts")]
    return [name for name in wanted if name not in NOT_THEIRS] or ["hello.ts"]


@pytest.mark.judge
@pytest.mark.timeout(600)
@pytest.mark.parametrize("version", PACKAGES)
def test_every_example_loads(version: str, home: dict[str, str], tmp_path: Path) -> None:
    folder, failed = examples(version), {}
    for name in every(version):
        path = folder / name / "index.ts" if name == "subagent" else folder / name
        with Program([*LINNET_PI, *FLAGS, "-e", str(path)], tmp_path, home) as agent:
            Driven(agent).ask("get_commands")
            problems = [frame for frame in agent.seen if frame["type"].endswith("_error") and frame["event"] == "load"]
            if problems or agent.end() is None or agent.wait() != 0:
                failed[name] = problems
    assert failed == {}
