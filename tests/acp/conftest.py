from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.agent import Agent
from linnet.testing.model_server import ModelServer
from tests.acp.editor import Editor


@pytest.fixture
def acp(spawn: Callable[..., Agent], server: ModelServer, tmp_path: Path) -> Callable[..., Editor]:
    """`linnet acp` on the scripted server, initialized unless `offers` is None."""

    def start(*flags: str, offers: dict[str, Any] | None = {}, does: Any = None, **options: Any) -> Editor:  # noqa: B006
        base = ("acp", "--provider", "anthropic", "--base-url", server.url, "--api-key", "x", "--retry-delay", "0.05")
        env = {"LINNET_MODEL": "claude-sonnet-4-5", "LINNET_HOME": str(tmp_path / "home"), **options.pop("env", {})}
        editor = Editor(spawn(*base, *flags, env=env, **options), does)
        if offers is not None:
            editor.ask("initialize", protocolVersion=1, clientCapabilities=offers)
        return editor

    return start


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "project"
    found.mkdir()
    return found
