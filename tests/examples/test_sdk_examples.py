"""The SDK's examples, as their readers would run them."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "sdk"


def run(folder: Path, name: str, *args: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name), *args],
        cwd=folder,
        env={**inherited, "LINNET_HOME": str(folder / "home"), **(env or {})},
        capture_output=True,
        encoding="utf-8",
    )


def test_basic_shows_text_tools_and_cost(tmp_path: Path) -> None:
    done = run(tmp_path, "basic.py", "Show me.")

    assert (done.returncode, done.stderr) == (0, "")
    assert "I will write a small program and run it.\n→ write" in done.stdout
    assert "✗ $ python3 linnet_demo.py\n" in done.stdout
    assert "✓ $ python3 linnet_demo.py && python3 linnet_demo.py linnet\n" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("end_turn: ")


def test_async_two_runs_two_agents_that_do_not_mix(tmp_path: Path) -> None:
    done = run(tmp_path, "async_two.py")

    assert (done.returncode, done.stderr) == (0, "")
    for name in ("left", "right"):
        mine = [line for line in done.stdout.splitlines() if line.startswith(f"{name}: ")]
        assert [line.removeprefix(f"{name}: ") for line in mine[:4]] == ["→ write", "✓", "→ bash", "✗"]
        assert mine[-2].startswith(f"{name}: Done. I wrote linnet_demo.py")
        assert mine[-1] == f"{name}: left behind linnet_demo.py"


def test_abort_stops_the_run_from_another_thread(tmp_path: Path) -> None:
    done = run(tmp_path, "abort.py", "0.3")

    assert (done.returncode, done.stderr) == (0, "")
    *counted, last = done.stdout.splitlines()
    assert "999" not in counted
    assert re.fullmatch(r"aborted; \d messages are kept", last)  # How far it had come by then, nobody can say.


def test_twenty_agents_do_their_work_at_once(tmp_path: Path) -> None:
    done = run(tmp_path, "twenty.py")

    assert (done.returncode, done.stderr) == (0, "")
    for number in range(1, 21):
        mine = [line for line in done.stdout.splitlines() if line.startswith(f"agent {number:02} ")]
        assert [line.split()[-1] for line in mine[:-1]] == ["write", "bash", "read", "edit", "bash"][: len(mine) - 1]
        assert mine[-1].startswith(f"agent {number:02} ✓ 5 steps: Done.")
    assert done.stdout.splitlines()[-1].startswith("20 of 20 done, ")


def test_agents_that_cannot_work_are_counted(tmp_path: Path) -> None:
    done = run(tmp_path, "twenty.py", "2", env={"LINNET_PROVIDER": "nobody"})

    assert done.returncode == 1
    assert 'agent 02 ✗ unknown provider "nobody"' in done.stdout
    assert done.stdout.endswith("0 of 2 done, 0 tokens, $0.0000\n")


def test_a_review_fails_the_job_if_something_is_serious(tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=x", "-c", "user.email=x", "-c", "init.defaultBranch=main"]
    subprocess.run([*git, "init", "--quiet"], cwd=tmp_path, check=True)
    (tmp_path / "app.py").write_text("old\n")
    subprocess.run([*git, "add", "app.py"], cwd=tmp_path, check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", "x"], cwd=tmp_path, check=True)

    done = run(tmp_path, "ci_review.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "nothing has changed since HEAD\n", "")

    (tmp_path / "app.py").write_text("new\n")
    done = run(tmp_path, "ci_review.py", "HEAD")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines()[0] == "app.py:1: serious: divides by zero for an empty list"

    done = run(tmp_path, "ci_review.py", env={"LINNET_PROVIDER": "nobody"})
    assert done.returncode == 2
    assert 'ci_review.py: unknown provider "nobody"' in done.stderr


@pytest.mark.parametrize("name", ["basic.py", "async_two.py"])
def test_a_provider_that_cannot_be_used_is_told_in_a_sentence(tmp_path: Path, name: str) -> None:
    done = run(tmp_path, name, env={"LINNET_PROVIDER": "nobody"})

    assert done.returncode == 1
    assert f'{name}: unknown provider "nobody"' in done.stderr
    assert "Traceback" not in done.stderr
