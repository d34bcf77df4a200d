"""Who connects and is not the user of the server, and a server that has nothing of the extra."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any, cast

import pytest

from linnet.serve.unix.loop import Loop, is_own
from linnet.serve.unix.place import peer_uid

pytestmark = pytest.mark.timeout(60)

PLAIN = """
import sys
for name in ("starlette", "uvicorn", "anyio", "h11", "click"):
    sys.modules[name] = None  # To import it raises.
sys.argv[1:1] = ["serve"]
from linnet.cli.entry_points import main
main()
"""
SENTENCE = "linnet: --http needs the extra `serve`: pip install 'linnet-agent[serve]'"


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="plain-") as folder:
        yield Path(folder)


def plain(folder: Path, *words: str) -> "subprocess.Popen[str]":
    """Start a server in an installation that has nothing of the extra."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "LINNET_HOME": str(folder)}
    command = [sys.executable, "-c", PLAIN, "--provider", "scripted", *words]
    return subprocess.Popen(command, env=env, cwd=folder, stderr=subprocess.PIPE, text=True)


def test_another_user_is_hung_up_on_without_an_answer(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as stranger:
        listening.bind(str(folder / "serve.sock"))
        listening.listen()
        loop = Loop(cast(Any, None), listening, lambda each: is_own(peer_uid(each) + 1))
        serving = Thread(target=loop.run)
        serving.start()
        stranger.connect(str(folder / "serve.sock"))
        try:
            assert stranger.recv(100) == b""
        finally:
            loop.stop()
            serving.join()
            loop.close()


def test_the_unix_socket_needs_nothing_of_the_extra(folder: Path) -> None:
    with plain(folder, "--socket", str(folder / "serve.sock")) as server, socket.socket(socket.AF_UNIX) as client:
        assert server.stderr
        assert server.stderr.readline() == f"linnet: serving at {folder}/serve.sock\n"
        client.connect(str(folder / "serve.sock"))
        lines = client.makefile("rwb", buffering=0)
        lines.write(b'{"type":"open","dialect":"zot"}\n{"type":"prompt","message":"hello"}\n')
        assert json.loads(lines.readline())["success"]
        while json.loads(lines.readline())["type"] != "done":
            pass
        server.send_signal(signal.SIGTERM)
        server.communicate()
    assert server.returncode == 0


def test_http_without_the_extra_is_a_sentence_that_says_what_to_install(folder: Path) -> None:
    with plain(folder, "--http", "127.0.0.1:0") as server:
        _, said = server.communicate()
    assert server.returncode == 1
    assert said.startswith(SENTENCE)
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("name", ["App", "app"])
def test_the_application_without_the_extra_says_what_to_install(name: str) -> None:
    code = f"import sys; sys.modules['starlette'] = sys.modules['anyio'] = None; from linnet.serve import {name}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    sentence = f"ModuleNotFoundError: linnet.serve.{name} needs the extra `serve`: pip install 'linnet-agent[serve]'"
    assert done.stderr.splitlines()[-1].startswith(sentence)
