"""A folder in memory, for tests that keep sessions: on a disk each `fsync` waits for it, and most entries have one.

A folder of tests has it by overriding `tmp_path` in its `conftest.py`. Where there is no memory to be had, it is a
folder like any other.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

MEMORY = "/dev/shm"
ENOUGH = 2 << 30  # Bytes that are free: in many a container there are next to none.


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "on_disk: is about the sandbox, which has nothing that is below /dev.")


@pytest.fixture(scope="session")
def _memory() -> Iterator[Path | None]:
    if not os.access(MEMORY, os.W_OK) or shutil.disk_usage(MEMORY).free < ENOUGH:
        yield None
        return
    folder = Path(os.path.realpath(MEMORY), f"linnet-{os.getpid()}")
    folder.mkdir(mode=0o700)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def in_memory(
    request: pytest.FixtureRequest, _memory: Path | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """A folder of the test's own, which is gone after it."""
    on_disk = _memory is None or request.node.get_closest_marker("on_disk")
    folder = tmp_path_factory.mktemp("test") if on_disk else Path(tempfile.mkdtemp(dir=_memory))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
