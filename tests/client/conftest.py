"""Clients of linnet on the scripted model server, and of agents that are a few lines of Python."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from linnet.client import PiClient, ZotClient
from linnet.testing.model_server import ModelServer

HEAD = """
import json, os, sys, time
def say(type, **fields):
    os.write(1, json.dumps({"type": type, **fields}).encode() + b"\\n")
def hear():
    line = sys.stdin.readline()
    return json.loads(line) if line else sys.exit(0)
def answer(asked, **data):
    say("response", id=asked["id"], command=asked["type"], success=True, data=data)
"""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def flags(server: ModelServer) -> list[str]:
    """What makes any linnet speak to the scripted model."""
    return ["--provider", "anthropic", "--base-url", server.url, "--api-key", "x"]


@pytest.fixture
def zot_client(work: Path, flags: list[str]) -> Iterator[Callable[..., ZotClient]]:
    with ExitStack() as stack:

        def start(*args: str, **options: Any) -> ZotClient:
            return stack.enter_context(ZotClient(args=[*flags, *args], cwd=work, **options))

        yield start


@pytest.fixture
def pi_client(work: Path, flags: list[str]) -> Iterator[Callable[..., PiClient]]:
    with ExitStack() as stack:

        def start(*args: str, **options: Any) -> PiClient:
            args = (*flags, "--retry-delay", "0.05", "--session-dir", "sessions", *args)
            return stack.enter_context(PiClient(args=args, cwd=work, **options))

        yield start


@pytest.fixture
def fake(work: Path) -> Callable[[str], list[str]]:
    """The command of an agent that is this program, with `hear`, `say` and `answer`."""

    def write(body: str) -> list[str]:
        file = work / "agent.py"
        file.write_text(HEAD + body)
        return [sys.executable, str(file)]

    return write
