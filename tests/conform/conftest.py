"""`linnet conform` as it is run."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

BIN = Path(sys.executable).parent
MISBEHAVING = Path(__file__).parent / "misbehaving.py"
LINNET: dict[str, list[str]] = {
    "zot": ["linnet", "rpc"],
    "pi": ["linnet", "--mode", "rpc"],
    "pi-legacy": ["linnet", "--mode", "rpc", "--dialect", "pi-legacy"],
    **{name: ["linnet-pi", "--mode", "rpc", "--dialect", name] for name in ("pi-0.73", "pi-0.87", "pi-1")},
}


def linnet(dialect: str) -> list[str]:
    """How linnet is started to speak this."""
    name, *words = LINNET[dialect]
    return [str(BIN / name), *words]


def misbehaving(manner: str, dialect: str = "zot") -> list[str]:
    """An agent that misbehaves in this manner."""
    return [sys.executable, str(MISBEHAVING), manner, *linnet(dialect)]


def run(*words: str, timeout: float = 110, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [str(BIN / "linnet"), "conform", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, cwd=cwd, check=False)


def judged(
    dialect: str, command: Sequence[str], *words: str, code: int | None = None, timeout: float = 110
) -> dict[str, Any]:
    """What `--json` says of a program."""
    done = run("--dialect", dialect, "--json", *words, "--", *command, timeout=timeout)
    assert done.returncode in ((0, 1) if code is None else (code,)), done.stdout + done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["passed"] is (done.returncode == 0)
    return report


def failed(report: dict[str, Any]) -> dict[str, str]:
    """What was seen instead, by the ids of the checks that failed."""
    return {check["id"]: check["saw"] for check in report["checks"] if check["outcome"] == "failed"}
