"""One prompt from the command line."""

import json
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.agent import Agent, types
from linnet.testing.model_server import ModelServer


@pytest.fixture
def once(spawn: Callable[..., Agent], server: ModelServer) -> Callable[..., Agent]:
    return lambda *flags, **options: spawn(*flags, "--base-url", server.url, "--api-key", "x", **options)


def output(agent: Agent) -> tuple[str, int]:
    text = agent.process.communicate()[0].decode()
    return text, agent.process.returncode


def test_print_prints_the_final_text_and_nothing_else(once: Callable[..., Agent]) -> None:
    assert output(once("-p", "hi")) == ("Hello from the scripted model.\n", 0)
    assert output(once("-p", '!tool bash {"command":"echo noise"}')) == ("tool done\n", 0)
    assert output(once("--mode", "text", "hi")) == ("Hello from the scripted model.\n", 0)


def test_the_prompt_may_come_on_stdin(once: Callable[..., Agent]) -> None:
    agent = once("-p")
    text = agent.process.communicate(b"hi")[0]
    assert text == b"Hello from the scripted model.\n"


def test_json_prints_the_events_of_rpc_without_responses(once: Callable[..., Agent], zot: Callable[..., Agent]) -> None:
    text, code = output(once("--mode", "json", "!think"))
    printed = [json.loads(line) for line in text.splitlines()]
    assert code == 0
    assert types(printed) == [kind for kind in types(zot().prompt("!think")) if kind != "response"]


@pytest.mark.parametrize(
    ("prompt", "code", "words"),
    [("!fail 401 9", 1, "http 401"), ("!drop 3", 1, "cut short"), ("!length", 3, "")],
)
def test_the_exit_code_says_how_it_went(once: Callable[..., Agent], prompt: str, code: int, words: str) -> None:
    agent = once("-p", prompt)
    assert output(agent)[1] == code
    assert words in agent.stderr
    assert "Traceback" not in agent.stderr


def test_an_interrupt_ends_the_run_with_130(once: Callable[..., Agent]) -> None:
    agent = once("--mode", "json", "!gate never")
    agent.end_input()
    agent.until("text_delta")
    agent.signal(signal.SIGINT)
    frames: list[dict[str, Any]] = []
    while (frame := agent.read()) is not None:
        frames.append(frame)
    assert types(frames)[-2:] == ["turn_end", "done"]
    assert agent.wait() == 130


def test_a_reader_that_leaves_early_is_no_drama(server: ModelServer, tmp_path: Path) -> None:
    executable = Path(sys.executable).with_name("linnet")
    script = f"{executable} --mode json '!text 100000' --base-url {server.url} --api-key x | head -n 1"
    done = subprocess.run(["sh", "-c", script], capture_output=True, cwd=tmp_path, check=True)
    assert json.loads(done.stdout)["type"] == "user_message"
    assert done.stderr == b""


def test_the_tools_work_in_the_folder(once: Callable[..., Agent], tmp_path: Path) -> None:
    output(once("-p", '!tool write {"path":"d/new.txt","content":"x"}'))
    assert (tmp_path / "work" / "d" / "new.txt").read_text() == "x"


def test_a_session_that_could_not_be_saved_is_mentioned(once: Callable[..., Agent], tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    assert output(once("-p", "one", "--session", str(file)))[1] == 0
    before = file.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 50, limits[1]))
    try:
        agent = once("-p", "two", "--session", str(file))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert output(agent) == ("Hello from the scripted model.\n", 0)
    assert agent.stderr.splitlines() == [
        f"linnet: {file} could not be written to: No space left on device",
        f"linnet: this session is kept in {file}",
    ]
    assert file.read_bytes() == before
