"""Whoever starts linnet may block or ignore signals: a parent that does changes nothing."""

import json
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.testing.agent import Agent, types
from linnet.testing.model_server import ModelServer

BLOCKED = "signal.pthread_sigmask(signal.SIG_BLOCK, every)"
IGNORED = "[signal.signal(number, signal.SIG_IGN) for number in every]"
PARENT = f"""#!{sys.executable}
import os, signal, sys
every = signal.valid_signals() - {{signal.SIGKILL, signal.SIGSTOP}}
HOW
os.execv(PROGRAM, [PROGRAM, *sys.argv[1:]])
"""
FIND = json.dumps({"command": "grep -E 'Sig(Blk|Ign)' /proc/self/status; (sleep 60 & echo background)"})


@pytest.fixture(params=[BLOCKED, IGNORED, f"{BLOCKED}; {IGNORED}"], ids=["blocked", "ignored", "both"])
def parent(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], str]:
    """A program that changes its signals and becomes another."""

    def make(program: str) -> str:
        path = tmp_path / program
        replaced = Path(sys.executable).parent / program
        path.write_text(PARENT.replace("HOW", request.param).replace("PROGRAM", repr(str(replaced))))
        path.chmod(0o755)
        return str(path)

    return make


def test_commands_run_and_end_and_find_their_signals_as_usual(
    zot: Callable[..., Agent], parent: Callable[[str], str]
) -> None:
    agent = zot(program=parent("linnet"))
    frames = agent.prompt(f"!tool bash {FIND}")
    [text] = [f["content"][0]["text"] for f in frames if f["type"] == "tool_result"]
    found = {name: int(mask, 16) for name, mask in re.findall(r"(Sig\w+):\s+(\w+)", text)}
    ours = 0x7FFFFFFF  # The C library may ignore two signals of its own.
    assert (found["SigBlk"], found["SigIgn"] & ours) == (0, 0)
    assert "background" in text
    agent.send({"id": "1", "type": "prompt", "message": '!tool bash {"command": "echo up; exec sleep 60"}'})
    agent.until("tool_progress")
    agent.send({"id": "2", "type": "abort"})
    assert types(agent.until("done"))[-2:] == ["turn_end", "done"]
    assert agent.end() == []
    assert agent.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("program", ["linnet", "linnet-pi"])
def test_it_still_ends_when_it_is_told_to(
    spawn: Callable[..., Agent], server: ModelServer, parent: Callable[[str], str], number: signal.Signals, program: str
) -> None:
    mode = ("rpc",) if program == "linnet" else ("--mode", "rpc")
    agent = spawn(*mode, "--provider", "anthropic", "--base-url", server.url, "--api-key", "x", program=parent(program))
    assert agent.ask("get_state")["success"]
    agent.signal(number)
    assert agent.wait() == 128 + number


def test_one_prompt_runs_its_tools(
    spawn: Callable[..., Agent], server: ModelServer, parent: Callable[[str], str]
) -> None:
    prompt = '!tool bash {"command": "touch ran"}'
    base = ("--provider", "anthropic", "--base-url", server.url, "--api-key", "x")
    agent = spawn("--mode", "json", *base, prompt, program=parent("linnet"))
    frames = agent.end()
    assert "tool_result" in types(frames)
    assert agent.wait() == 0
