"""A sandbox around a folder of the test's own, of which nothing may be left."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from linnet.testing.confined import Place


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    place.processes.close()
    assert not os.path.exists(place.sandbox.temporary)
