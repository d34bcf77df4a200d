"""What an editor waits for: the start of `linnet acp` to the answer to `initialize`, and to that of `session/new`."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench.measure import repeated

ROUNDS = 20
LINNET = Path(sys.executable).with_name("linnet")


def rows(folder: Path, bare: float) -> list[tuple[str, str]]:
    """Rows for a table: milliseconds, and how many times a bare Python."""
    first = repeated(ROUNDS, lambda: _waited(folder, new=False))
    both = repeated(ROUNDS, lambda: _waited(folder, new=True))
    found = [("spawn → initialize", first), ("spawn → session/new", both)]
    return [(name, f"{seconds * 1000:.0f} ms, {seconds / bare:.1f} × Python") for name, seconds in found]


def _waited(folder: Path, *, new: bool) -> float:
    """Seconds from the start of a process to the answer."""
    started = time.perf_counter()
    with subprocess.Popen(
        [LINNET, "acp", "--provider", "scripted"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder
    ) as agent:
        assert agent.stdin
        assert agent.stdout
        _ask(agent, 0, "initialize", protocolVersion=1)
        if new:
            _ask(agent, 1, "session/new", cwd=str(folder), mcpServers=[])
        seconds = time.perf_counter() - started
        agent.stdin.close()
        agent.stdout.read()
    return seconds


def _ask(agent: "subprocess.Popen[bytes]", id: int, method: str, **params: Any) -> None:
    assert agent.stdin
    assert agent.stdout
    line = json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    agent.stdin.write(line.encode() + b"\n")
    agent.stdin.flush()
    while json.loads(agent.stdout.readline()).get("id") != id:
        pass
