"""The SDK's examples, as their readers would run them."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "sdk"

pytestmark = pytest.mark.timeout(60)


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
    assert "✗ [aborted]" in done.stdout
    assert done.stdout.endswith("aborted; 3 messages are kept\n")


@pytest.mark.parametrize("name", ["basic.py", "async_two.py"])
def test_a_provider_that_cannot_be_used_is_told_in_a_sentence(tmp_path: Path, name: str) -> None:
    done = run(tmp_path, name, env={"LINNET_PROVIDER": "nobody"})

    assert done.returncode == 1
    assert f'{name}: unknown provider "nobody"' in done.stderr
    assert "Traceback" not in done.stderr
