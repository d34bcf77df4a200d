"""A scripted model server and linnet itself as a child process, for every test that wants them."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from linnet.testing.agent import Agent
from linnet.testing.model_server import ModelServer
from tests.suite.forked import ForkedAgent
from tests.suite.times import times

pytest_plugins = (
    "tests.suite.rewriting",
    "tests.suite.seed",
    "tests.suite.limit",
    "tests.suite.signals",
    "tests.suite.marks",
    "tests.suite.validated",
    "tests.postgres.fixtures",
)

# A busy machine is no failure: nothing here is timed. Where CI is set Hypothesis would draw the same in every run, and
# what it does not draw would never be found: `tests/suite/seed.py` has another seed for each commit.
settings.register_profile(
    "linnet",
    deadline=None,
    derandomize=False,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=times(settings().max_examples),
)
settings.load_profile("linnet")


@pytest.fixture(autouse=True, scope="session")
def _home(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Nothing that a test starts may find, or leave, anything in the home of whoever runs it."""
    home = tmp_path_factory.mktemp("home")
    os.environ["LINNET_HOME"] = str(home)
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ["AWS_SHARED_CREDENTIALS_FILE"] = str(home / "credentials")
    os.environ["AWS_CONFIG_FILE"] = str(home / "config")


@pytest.fixture(autouse=True, scope="session")
def _python3() -> None:
    """What is called `python3` is the Python that runs the tests: a shim of pyenv takes nine times as long to start."""
    found = shutil.which("python3")
    if found is None or not os.path.samefile(os.path.realpath(found), os.path.realpath(sys.executable)):
        os.environ["PATH"] = f"{sys.base_prefix}/bin:{os.environ['PATH']}"


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
        yield lambda *flags, **options: stack.enter_context(ForkedAgent(*flags, **{"cwd": folder, **options}))


def of_then(provider: str) -> dict[str, str]:
    """The models that transcripts were recorded with. A variable: a flag would win over what sessions remember."""
    models = {"anthropic": "claude-sonnet-4-5", "openai": "gpt-5", "deepseek": "deepseek-chat"}
    return {"LINNET_MODEL": models[provider]} if provider in models else {}


@pytest.fixture
def zot(spawn: Callable[..., Agent], server: ModelServer) -> Callable[..., Agent]:
    """`linnet rpc` on the scripted server, through the Anthropic provider unless another is named."""

    def start(*flags: str, provider: str = "anthropic", **options: Any) -> Agent:
        base = ("rpc", "--provider", provider, "--base-url", server.url, "--api-key", "x")
        return spawn(*base, *flags, **{**options, "env": {**of_then(provider), **options.get("env", {})}})

    return start


@pytest.fixture
def pi(spawn: Callable[..., Agent], server: ModelServer, tmp_path: Path) -> Callable[..., Agent]:
    """`linnet --mode rpc` on the scripted server. Retries come quickly, and `extra_models` are known too."""

    def start(
        *flags: str, provider: str = "anthropic", extra_models: list[dict[str, Any]] | None = None, **options: Any
    ) -> Agent:
        env = {**of_then(provider), **options.pop("env", {})}
        if extra_models:
            home = tmp_path / "home"
            home.mkdir(exist_ok=True)
            (home / "models.json").write_text(json.dumps(extra_models))
            env["LINNET_HOME"] = str(home)
        base = ("--mode", "rpc", "--provider", provider, "--base-url", server.url, "--api-key", "x")
        return spawn(*base, "--retry-delay", "0.05", *flags, env=env, **options)

    return start


@pytest.fixture
def agent(zot: Callable[..., Agent]) -> Agent:
    return zot()
