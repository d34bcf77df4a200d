"""Runtimes on the scripted server."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from linnet import Runtime
from linnet.testing.model_server import ModelServer


@pytest.fixture
def start(server: ModelServer, tmp_path: Path) -> Iterator[Callable[..., Runtime]]:
    """Each is closed in the end, and tries again soon."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(
            Runtime(
                provider="anthropic", base_url=server.url, api_key="x", cwd=tmp_path, **{"retry_delay": 0.01, **options}
            )
        )
