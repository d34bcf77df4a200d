"""A server with real agents on loopback, its model scripted, and a client that speaks plain HTTP."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from linnet.serve.agents.host import Host, HostOptions
from linnet.serve.http.http_server import HttpOptions, http_server
from linnet.testing.model_server import ModelServer
from tests.serve.http.over_http import Client, Served

Serve = Callable[..., Served]


@pytest.fixture
def environ(tmp_path: Path, server: ModelServer) -> dict[str, str]:
    """Variables of a server whose agents ask the scripted model."""
    usual = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    asked = {"LINNET_PROVIDER": "anthropic", "LINNET_MODEL": "claude-sonnet-4-5", "LINNET_BASE_URL": server.url}
    return {**usual, **asked, "ANTHROPIC_API_KEY": "x", "LINNET_HOME": str(tmp_path / "home")}


@pytest.fixture
def serve(tmp_path: Path, environ: dict[str, str]) -> Iterator[Serve]:
    """Start a server with these options; agents work in `tmp_path / "work"`, which is a root."""
    (tmp_path / "work").mkdir()
    with ExitStack() as stack:

        def start(**options: Any) -> Served:
            state = str(tmp_path / "state")
            host = Host(HostOptions(state=state), environ)
            host.begin()
            stack.callback(host.close)
            given = {"state": state, "roots": (str(tmp_path / "work"),), **options}
            running = http_server(host, HttpOptions(**given))
            running.begin()
            stack.callback(running.stop)
            return Served(host, running, Path(state), tmp_path / "work")

        yield start


@pytest.fixture
def served(serve: Serve) -> Served:
    return serve()


@pytest.fixture
def drive(served: Served) -> Client:
    """A client that may do everything."""
    return served.client("drive")
