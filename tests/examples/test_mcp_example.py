"""The example with three MCP servers, as its readers would run it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NODE = ROOT / ".venv" / "mcp" / "node_modules" / ".bin"

pytestmark = pytest.mark.foreign


@pytest.mark.timeout(180)
@pytest.mark.skipif(not NODE.exists() and "CI" not in os.environ, reason="servers from npm are not installed")
def test_an_agent_calls_a_tool_of_each_of_three_servers(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}:{NODE}:{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / "mcp" / "three_servers.py")],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "LINNET_HOME": str(tmp_path), "MEMORY_FILE": str(tmp_path / "memory.jsonl")},
        capture_output=True,
        encoding="utf-8",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [line for line in done.stdout.splitlines() if line.startswith("→")] == [
        "→ mcp__time__convert_time",
        "→ mcp__git__git_status",
        "→ mcp__memory__create_entities",
    ]
    assert done.stdout.count("✓") == 3
    assert '"sings"' in (tmp_path / "memory.jsonl").read_text()
