"""`linnet watch` as a child process, and every capture of zot and pi that there is."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.capture.recorded import captures
from tests.serve.watching.watching import Watching

__all__ = ["captures"]

Watch = Callable[..., Watching]


@pytest.fixture
def watch() -> Iterator[Watch]:
    """Start a command under `linnet watch`."""
    with ExitStack() as stack:

        def start(*command: str, **options: Any) -> Watching:
            watching = Watching(command, **options)
            stack.callback(watching.end)
            return watching

        yield start
