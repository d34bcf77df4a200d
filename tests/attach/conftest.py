"""A server for each test, at a path that is short enough for a socket."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attach.scripted_server import Attach, Server


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="attach-") as folder:
        yield Path(folder)


@pytest.fixture
def listening(folder: Path) -> Iterator[Server]:
    server = Server(folder / "serve.sock")
    yield server
    server.close()


@pytest.fixture
def attach() -> Iterator[Attach]:
    attach = Attach()
    yield attach
    attach.close()
