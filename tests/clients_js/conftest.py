"""The TypeScript client, compiled once for all workers, and programs of Node that use it."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from linnet.testing.model_server import ModelServer
from tests.suite.real_pi import needed

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "js"
BIN = CLIENT / "node_modules" / ".bin"


def tool(name: str) -> str:
    """Return a program that the client is made with."""
    return str(needed(BIN / name))


def ran(command: list[str], env: Mapping[str, str] | None = None, cwd: Path = CLIENT, seconds: float = 110) -> str:
    """Run a program to its end; return what it printed. Fails with that if it failed."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=seconds,
        text=True,
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-20_000:]}"
    return done.stdout


@pytest.fixture(scope="session")
def built() -> Path:
    """The client, compiled with its tests and examples, if it is not yet."""
    sources = [path for name in ("src", "test", "examples") for path in (CLIENT / name).rglob("*.ts")]
    sources += [*(CLIENT / "test").glob("*.mts"), *CLIENT.glob("*.json"), *CLIENT.glob("*.mjs")]
    marker = CLIENT / ".cache" / "built"
    state = "\n".join(f"{path} {path.stat().st_mtime_ns}" for path in sorted(sources))
    tsc = tool("tsc")
    marker.parent.mkdir(exist_ok=True)
    with (CLIENT / ".cache" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not marker.exists() or marker.read_text() != state:
            ran([tsc, "-p", "tsconfig.json"])
            ran(["node", "build.mjs"])
            ran([tsc, "-p", "tsconfig.test.json"])
            marker.write_text(state)
    return CLIENT


@pytest.fixture
def node_env(server: ModelServer) -> dict[str, str]:
    """Variables that lead the tests to linnet and to the scripted model."""
    return {"LINNET": str(Path(sys.prefix) / "bin" / "linnet"), "MODEL_URL": server.url}
