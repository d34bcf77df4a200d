"""The TypeScript client, by tests that Node's own runner runs: see clients/js/test."""

import json
from pathlib import Path

import pytest

from linnet.testing.model_server import ModelServer
from tests.clients_js.conftest import ran
from tests.suite.real_pi import prepared_home, program

pytestmark = pytest.mark.foreign

FILES = ["callbacks", "dialects", "draft", "examples", "hostile", "server"]
DIALECTS = {"pi73": "pi-0.73", "pi87": "pi-0.87", "pi15": "pi-1"}


def passed(client: Path, name: str, env: dict[str, str]) -> None:
    """Run the tests of a file. Those that hang are ended and named."""
    ran(["node", "--test", "--test-timeout=100000", "--test-reporter=spec", f".cache/test/{name}.test.js"], env, client)


@pytest.mark.parametrize("name", FILES)
def test_the_client_keeps_its_promises(built: Path, node_env: dict[str, str], name: str) -> None:
    passed(built, name, node_env)


@pytest.mark.parametrize(
    "version", [pytest.param("pi73", marks=pytest.mark.judge), pytest.param("pi87", marks=pytest.mark.judge), "pi15"]
)
def test_the_client_drives_real_pi(
    built: Path, node_env: dict[str, str], server: ModelServer, tmp_path: Path, version: str
) -> None:
    home = prepared_home(tmp_path / "home", server.url)
    command = json.dumps([*program(version), "--mode", "rpc"])
    passed(built, "real-pi", {**node_env, **home, "PI_COMMAND": command, "PI_DIALECT": DIALECTS[version]})
