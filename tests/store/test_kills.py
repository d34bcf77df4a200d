"""kill -9, two hundred times and more, at whatever moment: what was added before is there afterwards."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.suite.times import times

ROUNDS = times(200)


@pytest.mark.drawn
@pytest.mark.parametrize("format", ["0.73", "1.5"])
def test_nothing_that_was_added_is_lost_however_often_its_writer_is_killed(path: Path, format: str) -> None:
    script = Path(__file__).with_name("killing.py")
    command = [sys.executable, str(script), str(path), "1", str(ROUNDS), format]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.startswith(f"{ROUNDS} killed, ")
