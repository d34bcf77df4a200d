"""Examples of tools and permissions of one's own, as their readers would run them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "tools"


def run(folder: Path, name: str) -> list[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    program = [sys.executable, "-W", "error"] if name.endswith(".py") else ["node"]
    done = subprocess.run(
        [*program, str(EXAMPLES / name)],
        cwd=folder,
        env={
            **inherited,
            "LINNET_HOME": str(folder / "home"),
            "LINNET": str(Path(sys.executable).with_name("linnet")),
            "TMPDIR": str(folder),
        },
        capture_output=True,
        encoding="utf-8",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert list(folder.iterdir()) == [], "nothing is left behind"
    return done.stdout.splitlines()


def test_functions_are_tools_plain_async_and_with_progress(tmp_path: Path) -> None:
    said = run(tmp_path, "own_tools.py")
    assert said[5:] == [
        "✓ 12",
        "✗ There is no customer called Eve; there are Ada, Grace.",
        "1 of 2",
        "2 of 2",
        "✓ invoice-12.txt",
        '✓ {"EUR":1.08,"CHF":1.13}',
        "Done.",
        "1. a loom",
        "2. ten punched cards",
    ]


@pytest.mark.parametrize("name", ["client_tool.py", "client_tool.mjs"])
def test_the_client_runs_a_tool_in_python_and_in_node(tmp_path: Path, name: str) -> None:
    assert run(tmp_path, name) == [
        "Let me ask.",
        "? stock loom",
        "counting",
        "✓ 3",
        "? stock spinning jenny",
        "counting",
        "✗ We have no such thing as a spinning jenny.",
        "Three looms are left.",
    ]


def test_rules_decide_and_a_function_is_asked_about_the_rest(tmp_path: Path) -> None:
    said = run(tmp_path, "permission.py")
    assert [line[:30] for line in said[1:-2]] == [
        "✓ $ ls",
        "✗ Denied: this call to bash is",
        "? bash: echo hello > greeting",
        "✗ Denied by the user: Commands",
        "? write: notes.txt (new)",
        "✓ Successfully wrote 8 bytes t",
    ]
    assert said[-1] == "['notes.txt', 'script.json']"


def test_a_tool_is_an_agent_and_two_of_them_work_at_once(tmp_path: Path) -> None:
    said = run(tmp_path, "subagent.py")
    assert said[:3] == [
        "I will have that looked into.",
        "→ research: What is here?",
        "→ research: And what is not?",
    ]
    assert sorted(said[3:-1]) == ["  → ls", "  → ls", "✓ There is a readme.", "✓ There is a readme."]
    assert said[-1] == "Both have reported."
