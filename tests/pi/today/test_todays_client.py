"""The client that pi publishes today drives linnet-pi, and the pi that it belongs to, through the same checks."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.model_server import ModelServer
from tests.suite.real_pi import VERSIONS, client_file, node, prepared_home, program

HERE = Path(__file__).parents[1] / "clients"
LINNET_PI = Path(sys.executable).with_name("linnet-pi")
MODELS = [
    {"id": name, "name": name, "reasoning": True, "input": ["text", "image"], "contextWindow": 200_000}
    for name in ("scripted", "another")
]

pytestmark = pytest.mark.foreign


def options_of(real: bool, version: str, server: ModelServer, folder: Path) -> dict[str, Any]:
    """Return what the client is made with: the real pi with a model of ours, or linnet-pi with the same flags."""
    folder.mkdir()
    env = prepared_home(folder / "home", server.url, models=MODELS, retry={"baseDelayMs": 60_000})
    if real:
        _, cli = program(version)
        return {
            "cliPath": cli,
            "cwd": str(folder),
            "env": env,
            "provider": "ours",
            "model": "scripted",
            "args": ["--session-dir", str(folder / "sessions")],
        }
    flags = ["--base-url", server.url, "--api-key", "x", "--compact-keep", "1", "--retry-delay", "60"]
    return {
        "cliPath": str(HERE / "shim.mjs"),
        "cwd": str(folder),
        "env": {"AGENT_UNDER_TEST": str(LINNET_PI), "LINNET_HOME": str(folder / "linnet")},
        "provider": "anthropic",
        "model": "claude-sonnet-4-5",
        "args": [*flags, "--session-dir", str(folder / "sessions"), "--pi-version", VERSIONS[version]],
    }


def drive(real: bool, version: str, server: ModelServer, folder: Path) -> dict[str, Any]:
    generation = VERSIONS[version].rpartition(".")[0]
    config = {
        "client": str(client_file(version)),
        "server": server.url,
        "options": options_of(real, version, server, folder),
        "version": generation,
    }
    bin_folder = folder / "bin"  # The client starts what is called `node`.
    bin_folder.mkdir()
    (bin_folder / "node").symlink_to(node(version))
    done = subprocess.run(
        [node(version), str(HERE / "today.mjs"), json.dumps(config)],
        capture_output=True,
        text=True,
        timeout=120,
        env={"PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder)},
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.mark.parametrize(
    ("version", "real"),
    [
        pytest.param("pi15", False, id="linnet-1.5.0"),
        pytest.param("pi87", False, id="linnet-0.87.1", marks=pytest.mark.judge),
        pytest.param("pi15", True, id="pi-1.5.0", marks=pytest.mark.judge),
        pytest.param("pi87", True, id="pi-0.87.1", marks=pytest.mark.judge),
    ],
)
def test_every_method_of_todays_client_does_what_it_promises(
    version: str, real: bool, server: ModelServer, tmp_path: Path
) -> None:
    report = drive(real, version, server, tmp_path / "work")

    failed = {name: trouble for name, trouble in report["checks"].items() if trouble}
    assert not failed, "\n\n".join(f"{name}\n{trouble}" for name, trouble in failed.items())
    assert report["missed"] == []
    assert len(report["checks"]) >= 36
