"""Where pi's programs, its clients and a Node that is new enough for them are, for the tests that run them."""

import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

CLIENTS = Path(sys.prefix) / "node" / "node_modules"
PROGRAMS = Path(sys.prefix) / "pi" / "node_modules"
PACKAGES = {
    "pi37": CLIENTS / "pi37",
    "pi73": PROGRAMS / "pi73",
    "pi87": PROGRAMS / "pi87",
    "pi15": CLIENTS / "pi15",
}
"""Each as `make .venv/.node` installs it: the first without what it needs to run, so only its client is of use."""

VERSIONS = {"pi37": "0.37.2", "pi73": "0.73.1", "pi87": "0.87.1", "pi15": "1.5.0"}


def needed(file: Path) -> Path:
    """Return the file, or skip the test and say why; where CI is set, fail it."""
    if not file.exists():
        reason = f"{file.name} is not installed: `make .venv/.node` does it, where there is npm"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    return file


def node(version: str = "pi15") -> str:
    """Return the Node that this version runs on: those of today want 22.19 or later."""
    if version in ("pi37", "pi73"):
        return str(needed(Path(shutil.which("node") or "/nowhere/node")))
    return str(needed(Path(sys.prefix) / "bin" / "node24"))


def program(version: str) -> list[str]:
    """Return how this pi is started, without any flag."""
    bundled = PACKAGES[version] / "dist" / "bundle" / "cli.js"
    cli = bundled if bundled.exists() else PACKAGES[version] / "dist" / "cli.js"
    return [node(version), str(needed(cli))]


def client_file(version: str) -> Path:
    """Return the module that has this pi's RpcClient."""
    return needed(PACKAGES[version] / "dist" / "modes" / "rpc" / "rpc-client.js")


SCRIPTED = {"id": "scripted", "name": "Scripted", "contextWindow": 200_000, "maxTokens": 16_384}


def prepared_home(
    home: Path, server_url: str, models: Sequence[dict[str, Any]] = (SCRIPTED,), **settings: Any
) -> dict[str, str]:
    """Write a home for pi with models of a provider `ours`, and return the environment that names it."""
    home.mkdir(parents=True, exist_ok=True)
    provider = {"baseUrl": server_url, "apiKey": "x", "api": "anthropic-messages", "models": list(models)}
    (home / "models.json").write_text(json.dumps({"providers": {"ours": provider}}))
    quick = {"retry": {"baseDelayMs": 20}, "compaction": {"keepRecentTokens": 1}}
    (home / "settings.json").write_text(json.dumps({**quick, **settings}))
    return {"HOME": str(home), "PI_CODING_AGENT_DIR": str(home), "PI_OFFLINE": "1"}
