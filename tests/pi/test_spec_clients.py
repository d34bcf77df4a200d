"""The two clients that pi's document shows: both spawn `pi` by name, and find linnet-pi under it."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from linnet.testing.model_script import ODD_TEXT
from linnet.testing.model_server import ModelServer
from linnet.testing.processes import marked, wait_until

LINNET_PI = Path(sys.executable).with_name("linnet-pi")
INTERACTIVE = Path(__file__).parent / "clients" / "interactive.mjs"
SPAWNED = ["pi", "--mode", "rpc", "--no-session"]

pytestmark = pytest.mark.foreign


def environment(folder: Path) -> dict[str, str]:
    """One in which the first `pi` is the one in this folder."""
    return {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(folder), "LINNET_TEST": str(folder)}


@pytest.fixture
def linked(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "pi").symlink_to(LINNET_PI)
    return environment(tmp_path)


@pytest.fixture
def wrapped(tmp_path: Path, server: ModelServer) -> dict[str, str]:
    """The clients pass no address and no key, so what they find adds those of the scripted server."""
    pi = tmp_path / "pi"
    pi.write_text(f'#!/bin/sh\nexec {LINNET_PI} "$@" --base-url {server.url} --api-key x\n')
    pi.chmod(0o755)
    return environment(tmp_path)


@pytest.fixture
def nothing_left(tmp_path: Path) -> Iterator[None]:
    yield
    wait_until(lambda: not marked(f"LINNET_TEST={tmp_path}"))


def test_a_link_is_all_it_takes_to_be_found_as_pi(linked: dict[str, str], tmp_path: Path) -> None:
    def run(*words: str, **added: str) -> subprocess.CompletedProcess[str]:
        asking = '{"type":"get_state"}\n'
        env = {**linked, **added}
        return subprocess.run(words, input=asking, capture_output=True, text=True, cwd=tmp_path, env=env, timeout=20)

    asked = run("pi", "--version")
    assert (asked.stdout, asked.stderr, asked.returncode) == ("1.5.0\n", "", 0)
    done = run(*SPAWNED, ANTHROPIC_API_KEY="x")
    assert json.loads(done.stdout)["data"]["model"]["provider"] == "anthropic"
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize(("message", "reply"), [("Hello!", "Hello from the scripted model."), ("!utf8", ODD_TEXT)])
def test_the_python_client_prints_the_reply_and_leaves_when_the_agent_is_done(
    wrapped: dict[str, str], message: str, reply: str
) -> None:
    printed = ""
    with subprocess.Popen(SPAWNED, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=wrapped) as pi:
        assert pi.stdin
        assert pi.stdout
        pi.stdin.write(json.dumps({"type": "prompt", "message": message}) + "\n")
        pi.stdin.flush()
        for line in pi.stdout:
            event = json.loads(line)
            if event["type"] == "agent_end":
                break
            update = event.get("assistantMessageEvent", {})
            if update.get("type") == "text_delta":
                printed += update["delta"]
    assert printed == reply
    assert pi.returncode == 0


@pytest.fixture
def node() -> str:
    found = shutil.which("node")
    if found:
        return found
    if os.environ.get("CI"):
        pytest.fail("node is not installed")
    pytest.skip("node is not installed")


@pytest.mark.usefixtures("nothing_left")
def test_the_node_client_prints_the_reply_even_with_line_separators_in_it(node: str, wrapped: dict[str, str]) -> None:
    expected = ODD_TEXT.encode()
    with subprocess.Popen([node, INTERACTIVE, "!utf8"], stdout=subprocess.PIPE, env=wrapped) as client:
        assert client.stdout
        assert client.stdout.read(len(expected)) == expected
        client.kill()  # It would show the next reply, and the next.


@pytest.mark.usefixtures("nothing_left")
def test_the_node_client_aborts_when_it_is_interrupted(node: str, wrapped: dict[str, str], server: ModelServer) -> None:
    with subprocess.Popen([node, INTERACTIVE, "!gate never"], stdout=subprocess.PIPE, env=wrapped) as client:
        assert client.stdout
        assert client.stdout.read(1)
        assert server.disconnects == 0
        client.send_signal(signal.SIGINT)
        server.wait_for(disconnects=1)
        assert client.poll() is None
        client.kill()
