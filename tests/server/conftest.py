"""Sessions in memory: see `tests/suite/memory.py`."""

from pathlib import Path

import pytest


@pytest.fixture
def tmp_path(in_memory: Path) -> Path:
    return in_memory
