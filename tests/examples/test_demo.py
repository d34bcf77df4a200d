"""`make demo`: what it shows, and that it fails when it should."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


def run(python: str = sys.executable) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "COLUMNS": "100"}
    return subprocess.run([python, "-W", "error", str(DEMO)], env=env, capture_output=True, encoding="utf-8")


def with_agent(folder: Path, body: str) -> str:
    """A Python that has another program beside it in the place of linnet."""
    python = folder / "python"
    python.symlink_to(Path(sys.executable).resolve())
    agent = folder / "linnet"
    agent.write_text(f"#!/bin/sh\n{body}\n")
    agent.chmod(0o755)
    return str(python)


def test_the_demo_shows_the_conversation_the_work_and_what_it_left() -> None:
    done = run()

    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert '→ {"id":"2", "type":"set_thinking_level", "level":"low"}' in lines
    assert '  "data":{"disposition":"started"}}' in lines
    assert "  I will write a small program and run it." in lines
    assert "  ✗ bash python3 linnet_demo.py" in lines
    assert "  ✓ edit linnet_demo.py (1 replacement)" in lines
    assert "    │ Hello, linnet!" in lines
    folder = lines.index(next(line for line in lines if line.startswith("What is in the folder now")))
    assert lines[folder + 1 : folder + 3] == ["  linnet_demo.py", "    │ import sys"]
    assert any(line.startswith("  spawn to first answer  ") for line in lines)
    assert lines[-1].startswith("Embed it: ")


def test_the_demo_fits_a_hundred_columns_without_colours_in_a_log() -> None:
    lines = run().stdout.splitlines()

    assert max(map(len, lines)) <= 100
    assert not any("\x1b" in line or line != line.rstrip() for line in lines)


@pytest.mark.parametrize("no_color", ["", "1"])
def test_the_demo_is_coloured_on_a_terminal_unless_told_otherwise(no_color: str) -> None:
    main, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, str(DEMO)], stdout=terminal, env={**os.environ, "NO_COLOR": no_color}
    ) as demo:
        os.close(terminal)
        shown = b""
        while True:
            try:
                chunk = os.read(main, 65536)
            except OSError:  # How Linux says that nobody has the terminal open any more.
                break
            if not chunk:
                break
            shown += chunk
    os.close(main)

    assert demo.returncode == 0
    assert b"Embed it:" in shown
    assert (b"\x1b[" in shown) == (not no_color)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("exit 3", "the agent ended in the middle of the conversation"),
        (
            """read line; echo '{"type":"response","command":"get_state","success":false,"error":"no"}'; read line""",
            "get_state was refused: no",
        ),
    ],
)
def test_the_demo_fails_with_a_sentence_if_the_agent_does(tmp_path: Path, body: str, reason: str) -> None:
    done = run(with_agent(tmp_path, body))

    assert done.returncode == 1
    assert done.stderr.endswith(f"demo: {reason}\n")
