"""A server on a unix socket, its model scripted."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from linnet.testing.model_server import ModelServer
from tests.serve.unix.serving import Served

Serve = Callable[..., Served]


@pytest.fixture
def serve(server: ModelServer) -> Iterator[Serve]:
    """Start a server with these flags."""
    with ExitStack() as stack:
        yield lambda *flags, **options: stack.enter_context(Served(server.url, *flags, **options))


@pytest.fixture
def served(serve: Serve) -> Served:
    return serve()
