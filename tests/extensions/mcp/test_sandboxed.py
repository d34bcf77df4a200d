"""A server whose entry says so runs where commands do, or not at all."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linnet.errors import ConfigError
from linnet.extensions.mcp.config import StdioServer, servers
from linnet.testing.confined import Place
from tests.extensions.mcp.conftest import SCRIPTED, Bench


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    (tmp_path / "inside").mkdir()
    place = Place(tmp_path / "inside")
    yield place
    place.processes.close()


def entry(**more: Any) -> dict[str, Any]:
    """Its program is in a folder that commands do not see; it is shown to the server, since that is started there."""
    return {"command": "python3", "args": [SCRIPTED.name], "cwd": str(SCRIPTED.parent), **more}


def test_it_is_in_the_sandbox_if_its_entry_says_so(bench: Bench, place: Place) -> None:
    bench.processes = place.processes
    toolset = bench.configured(confined=entry(sandbox=True), free=entry())
    assert toolset.specs, toolset.status()
    temporary = {
        name: bench.words(bench.call(toolset, f"mcp__{name}__env", name="TMPDIR")) for name in ("confined", "free")
    }
    assert temporary["confined"] == place.sandbox.temporary
    assert temporary["free"] != place.sandbox.temporary
    assert int(bench.words(bench.call(toolset, "mcp__confined__pid"))) < 10


def test_without_a_sandbox_it_is_not_started(bench: Bench) -> None:
    toolset = bench.configured(confined=entry(sandbox=True))
    (status,) = (toolset.specs, toolset.status())[1]
    assert status.state == "down"
    assert "it is to run in the sandbox, and there is none; start linnet with --sandbox" in status.problem


def test_an_entry_says_true_or_false_and_has_a_command() -> None:
    (server,) = servers({"mcpServers": {"a": {"command": "x", "sandbox": True}}}, "f", {})
    assert server.transport == StdioServer("x", sandbox=True)
    with pytest.raises(ConfigError, match="sandbox: expected true or false"):
        servers({"mcpServers": {"a": {"command": "x", "sandbox": "yes"}}}, "f", {})
    with pytest.raises(ConfigError, match="sandbox: is for a command that is started here; a url is not"):
        servers({"mcpServers": {"a": {"url": "http://x", "sandbox": True}}}, "f", {})
