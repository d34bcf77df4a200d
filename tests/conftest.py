"""A scripted model server and linnet itself as a child process, for every test that wants them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.agent import Agent
from linnet.testing.model_server import ModelServer


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def spawn(tmp_path: Path) -> Iterator[Callable[..., Agent]]:
    """Start `linnet` with these flags, in a folder of the test's own."""
    folder = tmp_path / "work"
    folder.mkdir()
    with ExitStack() as stack:
        yield lambda *flags, **options: stack.enter_context(Agent(*flags, **{"cwd": folder, **options}))


@pytest.fixture
def zot(spawn: Callable[..., Agent], server: ModelServer) -> Callable[..., Agent]:
    """`linnet rpc` on the scripted server, through the Anthropic provider unless another is named."""

    def start(*flags: str, provider: str = "anthropic", **options: Any) -> Agent:
        base = ("rpc", "--provider", provider, "--base-url", server.url, "--api-key", "x")
        return spawn(*base, *flags, **options)

    return start


@pytest.fixture
def agent(zot: Callable[..., Agent]) -> Agent:
    return zot()
