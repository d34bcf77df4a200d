"""The client that pi publishes, in the mission's time and much later, drives linnet-pi and notices no difference."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.model_server import ModelServer

HERE = Path(__file__).parent / "clients"
INSTALLED = Path(sys.prefix) / "node" / "node_modules"
LINNET_PI = Path(sys.executable).with_name("linnet-pi")
SPOKEN = {"pi37": "0.35", "pi73": "0.73"}

Report = dict[str, Any]

pytestmark = pytest.mark.foreign


def client_file(version: str) -> Path:
    file = INSTALLED / version / "dist" / "modes" / "rpc" / "rpc-client.js"
    if not file.exists() or not shutil.which("node"):
        reason = "pi's own clients are not installed: `make .venv/.node` does it, where there is npm"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return file


def drive(version: str, server: ModelServer, folder: Path) -> Report:
    folder.mkdir()
    flags = ["--base-url", server.url, "--api-key", "x", "--compact-keep", "1", "--retry-delay", "60"]
    config = {
        "client": str(client_file(version)),
        "server": server.url,
        "options": {
            "cliPath": str(HERE / "shim.mjs"),
            "cwd": str(folder),
            "env": {
                "AGENT_UNDER_TEST": str(LINNET_PI),
                "LINNET_HOME": str(folder / "home"),
                "LINNET_PI_VERSION": SPOKEN[version],
            },
            "provider": "anthropic",
            "model": "claude-sonnet-4-5",
            "args": [*flags, "--session-dir", "sessions", "a stray word"],
        },
    }
    done = subprocess.run(
        ["node", str(HERE / "drive.mjs"), json.dumps(config)],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PATH": os.environ["PATH"], "HOME": str(folder)},
    )
    assert done.returncode == 0, done.stderr
    report: Report = json.loads(done.stdout)
    return report


@pytest.fixture(params=["pi37", "pi73"])
def version(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def test_every_method_of_the_client_does_what_it_promises(version: str, server: ModelServer, tmp_path: Path) -> None:
    report = drive(version, server, tmp_path / "work")

    assert set(report["methods"]) == set(report["called"])

    state = report["state"]
    assert (state["model"]["provider"], state["model"]["id"]) == ("anthropic", "claude-sonnet-4-5")
    assert (state["isStreaming"], state["messageCount"]) == (False, 0)

    prompt = report["aPrompt"]
    assert (prompt["types"][0], prompt["types"][-1]) == ("agent_start", "agent_end")
    assert prompt["roles"] == ["user", "assistant"]
    assert prompt["lastText"] == "Hello from the scripted model."
    assert (prompt["stats"]["userMessages"], prompt["stats"]["totalMessages"]) == (1, 2)
    assert prompt["stats"]["cost"] > 0

    assert report["aPicture"] == ["look[image]"]
    tool = report["aTool"]
    assert (tool["toolName"], tool["result"]["content"][0]["text"]) == ("bash", "from a tool\n")

    queues = report["queues"]
    assert (queues["steeringMode"], queues["followUpMode"]) == ("all", "all")
    assert (queues["isStreaming"], queues["pendingMessageCount"]) == (True, 3)
    assert queues["said"] == ["!gate queues", "left", "no, right", "and then"]
    assert report["anAbort"] == {"stopReason": "aborted", "isStreaming": False}

    models = report["models"]
    ids = [model["id"] for model in models["available"]]
    assert all({"provider", "id", "contextWindow", "reasoning"} <= model.keys() for model in models["available"])
    assert models["chosen"]["id"] == ids[0]
    assert models["cycled"]["model"]["id"] == models["now"]["id"] == ids[1]
    assert models["cycled"]["isScoped"] is False
    assert models["unknown"] == "Model not found: anthropic/nope"
    assert report["thinking"] == {"thinkingLevel": "high", "cycled": {"level": "off"}}

    compaction = report["compaction"]
    assert compaction["autoCompactionEnabled"] is False
    assert compaction["result"]["summary"].startswith("SUMMARY: scripted")
    assert compaction["result"]["tokensBefore"] > 0
    assert compaction["again"] == "Already compacted"
    assert compaction["roles"][0] == "compactionSummary"
    assert any("Keep the file names" in json.dumps(request.body) for request in server.requests)

    retries = report["retries"]
    assert (retries["gaveUp"], retries["attempt"]) == ("error", 1)
    assert (retries["over"]["success"], retries["over"]["finalError"]) == (False, "Retry cancelled")

    done = {"output": "out\nerr\n", "exitCode": 3, "cancelled": False, "truncated": False}
    assert report["commands"]["done"] == done
    assert report["commands"]["aborted"]["cancelled"] is True
    assert report["aNewSession"] == {"answer": {"cancelled": False}, "isAnother": True, "messageCount": 0}

    sessions = report["sessions"]
    assert [prompt["text"] for prompt in sessions["prompts"]] == ["one", "two"]
    assert sessions["branched"] == {"text": "two", "cancelled": False}
    assert [sessions[name]["messageCount"] for name in ("branch", "clone", "back")] == [2, 2, 4]
    assert sessions["switched"] == {"cancelled": False}
    assert sessions["missing"] == f"{tmp_path}/work/nowhere.jsonl does not exist"
    assert sessions["page"] == {"path": str(tmp_path / "work" / "page.html")}
    assert (tmp_path / "work" / "page.html").read_text().startswith("<!doctype html>")
    first, branch, clone, back = sessions["files"]
    assert first == back
    assert {Path(file).parent for file in sessions["files"]} == {tmp_path / "work" / "sessions"}
    assert branch != first
    if version == "pi73":
        assert (sessions["cloned"], sessions["name"]) == ({"cancelled": False}, "mine")
        assert sessions["clone"]["sessionName"] == "mine"
        assert clone not in (first, branch)

    assert report["slashCommands"] == ([] if version == "pi73" else None)

    assert report["stderr"] == "Warning: rpc mode takes prompts on stdin, so this one is ignored: 'a stray word'\n"
    assert report["exitCode"] == 143
    assert report["stopped"] == "Client not started"
    assert not (tmp_path / "work" / "home").exists()
