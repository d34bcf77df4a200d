"""Whoever starts linnet may block or ignore signals: its tools run as ever, and `nohup` keeps what it promises."""

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
NOHUP = "[signal.signal(number, signal.SIG_IGN) for number in (signal.SIGHUP, signal.SIGINT)]"
IGNORED = "[signal.signal(number, signal.SIG_IGN) for number in every]"
PARENT = f"""#!{sys.executable}
import os, signal, sys
every = signal.valid_signals() - {{signal.SIGKILL, signal.SIGSTOP}}
HOW
os.execv(PROGRAM, [PROGRAM, *sys.argv[1:]])
"""
FIND = json.dumps({"command": "grep -E 'Sig(Blk|Ign)' /proc/self/status; (sleep 60 & echo background)"})


@pytest.fixture
def parents(tmp_path: Path) -> Callable[[str, str], str]:
    """A program that changes its signals like this and becomes another."""

    def make(program: str, how: str) -> str:
        path = tmp_path / program
        replaced = Path(sys.executable).parent / program
        path.write_text(PARENT.replace("HOW", how).replace("PROGRAM", repr(str(replaced))))
        path.chmod(0o755)
        return str(path)

    return make


@pytest.fixture(params=[BLOCKED, IGNORED, f"{BLOCKED}; {IGNORED}"], ids=["blocked", "ignored", "both"])
def parent(request: pytest.FixtureRequest, parents: Callable[[str, str], str]) -> Callable[[str], str]:
    return lambda program: parents(program, request.param)


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


@pytest.mark.parametrize(
    ("how", "number"),
    [
        (BLOCKED, signal.SIGTERM),
        (BLOCKED, signal.SIGINT),
        (BLOCKED, signal.SIGHUP),
        (IGNORED, signal.SIGTERM),
        (NOHUP, signal.SIGTERM),
    ],
)
@pytest.mark.parametrize("program", ["linnet", "linnet-pi"])
def test_it_still_ends_when_it_is_told_to(
    spawn: Callable[..., Agent],
    server: ModelServer,
    parents: Callable[[str, str], str],
    how: str,
    number: signal.Signals,
    program: str,
) -> None:
    mode = ("rpc",) if program == "linnet" else ("--mode", "rpc")
    base = ("--provider", "anthropic", "--base-url", server.url, "--api-key", "x")
    agent = spawn(*mode, *base, program=parents(program, how))
    assert agent.ask("get_state")["success"]
    agent.signal(number)
    assert agent.wait() == 128 + number


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT])
def test_what_was_started_with_nohup_or_in_the_background_survives_a_hangup_and_a_ctrl_c(
    zot: Callable[..., Agent], parents: Callable[[str, str], str], number: signal.Signals
) -> None:
    agent = zot(program=parents("linnet", NOHUP))
    agent.send({"id": "1", "type": "prompt", "message": '!tool bash {"command": "echo up; exec sleep 60"}'})
    agent.until("tool_progress")
    agent.signal(number)
    assert agent.ask("ping")["success"]
    agent.send({"id": "2", "type": "abort"})
    assert agent.until("done")[-1] == {"type": "done"}
    assert agent.end() == []
    assert agent.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT])
def test_one_prompt_survives_them_as_well(
    spawn: Callable[..., Agent], server: ModelServer, parents: Callable[[str, str], str], number: signal.Signals
) -> None:
    prompt = "!tool bash " + json.dumps({"command": f"kill -{int(number)} $(cat pid); touch ran"})
    base = ("--provider", "anthropic", "--base-url", server.url, "--api-key", "x")
    agent = spawn(
        "--mode", "json", *base, prompt, program=parents("linnet", f"{NOHUP}; open('pid', 'w').write(str(os.getpid()))")
    )
    assert types(agent.end())[-1] == "done"
    assert agent.wait() == 0


def test_one_prompt_runs_its_tools(
    spawn: Callable[..., Agent], server: ModelServer, parent: Callable[[str], str]
) -> None:
    prompt = '!tool bash {"command": "touch ran"}'
    base = ("--provider", "anthropic", "--base-url", server.url, "--api-key", "x")
    agent = spawn("--mode", "json", *base, prompt, program=parent("linnet"))
    frames = agent.end()
    assert "tool_result" in types(frames)
    assert agent.wait() == 0
