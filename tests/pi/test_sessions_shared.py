"""One session file for linnet and for real pi of three versions: each goes on with what the other wrote."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.agent import Agent, Frame
from linnet.testing.model_server import ModelServer
from tests.pi.test_sessions import lines
from tests.suite import real_pi

pytestmark = pytest.mark.foreign
judge = pytest.mark.judge
SLOW = 60.0  # Seconds. pi takes a while to start on a machine that does much else.
PROMPTS = ("hello", "!fail 529 1", '!tool bash {"command":"echo hi"}')
DIALECTS = ["pi", "pi-0.73", "pi-0.87", "pi-1"]
ways = pytest.mark.parametrize(
    ("version", "dialect"),
    [
        pytest.param(version, dialect, marks=() if (version, dialect) == ("pi15", "pi-1") else judge)
        for version in ("pi73", "pi87", "pi15")
        for dialect in DIALECTS
    ],
)
Start = Callable[..., Agent]


@pytest.fixture
def start(server: ModelServer, tmp_path: Path) -> Iterator[Start]:
    """Start linnet, or that version of pi, on a session file, with the same models and in the same folder."""
    folder, home = tmp_path / "work", tmp_path / "home"
    folder.mkdir(exist_ok=True)
    env = real_pi.prepared_home(home, server.url)
    with ExitStack() as stack:

        def started(who: str, file: Path, *flags: str) -> Agent:
            session = ("--session", str(file), *flags)
            if who in real_pi.VERSIONS:
                node, *program = real_pi.program(who)
                named: tuple[str, ...] = ("--mode", "rpc", "--provider", "ours", "--model", "scripted")
                agent = Agent(*program, *named, *session, program=node, cwd=folder, env=env)
            else:
                named = ("--mode", "rpc", "--dialect", who, "--provider", "anthropic", "--base-url", server.url)
                agent = Agent(*named, "--api-key", "x", "--retry-delay", "0.05", *session, cwd=folder)
            return stack.enter_context(agent)

        yield started


def run(agent: Agent, who: str, prompt: str) -> list[Frame]:
    """Send a prompt, and wait until all is over that follows from it."""
    agent.send({"id": "p", "type": "prompt", "message": prompt})
    if who in ("pi87", "pi15", "pi-0.87", "pi-1"):
        return agent.until("agent_settled", SLOW)
    return agent.until(lambda f: f["type"] == "agent_end" and f["messages"][-1].get("stopReason") != "error", SLOW)


def talk(agent: Agent, who: str) -> None:
    for prompt in PROMPTS:
        run(agent, who, prompt)


def conversation(agent: Agent) -> list[tuple[str, Any]]:
    """What is shown, but for what only some generations show."""
    messages = agent.ask("get_messages")["data"]["messages"]
    return [(m["role"], m.get("content")) for m in messages if m["role"] != "system"]


def answered(server: ModelServer, words: str) -> bool:
    return words in str(server.requests[-1].body)


@ways
def test_pi_goes_on_with_ours(start: Start, server: ModelServer, tmp_path: Path, version: str, dialect: str) -> None:
    file = tmp_path / "work" / "shared.jsonl"
    ours = start(dialect, file)
    talk(ours, dialect)
    shown = conversation(ours)
    ours.end()
    before = file.read_bytes()
    theirs = start(version, file)
    there = conversation(theirs)
    if version == "pi73" and dialect in ("pi-0.87", "pi-1"):  # It does not know what takes a failed reply out.
        there = [each for each in there if each != ("assistant", [])]
    assert there == shown
    run(theirs, version, "hello again")
    assert answered(server, "echo hi")
    after = conversation(theirs)
    theirs.end()
    assert file.read_bytes().startswith(before)
    again = start(dialect, file)
    expected = after if version != "pi73" else [each for each in after if each != ("assistant", [])]
    assert conversation(again) == expected
    run(again, dialect, "and again")
    assert answered(server, "hello again")


@ways
def test_ours_goes_on_with_pis(start: Start, server: ModelServer, tmp_path: Path, version: str, dialect: str) -> None:
    file = tmp_path / "work" / "shared.jsonl"
    theirs = start(version, file)
    talk(theirs, version)
    shown = [each for each in conversation(theirs) if each != ("assistant", [])]
    theirs.end()
    before = file.read_bytes()
    ours = start(dialect, file)
    assert conversation(ours) == shown
    run(ours, dialect, "hello again")
    assert answered(server, "echo hi")
    ours.end()
    assert file.read_bytes().startswith(before)
    back = start(version, file)
    there = [each for each in conversation(back) if each != ("assistant", [])]
    assert [role for role, _ in there] == [*[role for role, _ in shown], "user", "assistant"]
    run(back, version, "and again")
    assert answered(server, "hello again")


@ways
def test_compactions_are_shared(start: Start, server: ModelServer, tmp_path: Path, version: str, dialect: str) -> None:
    file = tmp_path / "work" / "shared.jsonl"
    ours = start(dialect, file, "--compact-keep", "1")
    for _ in range(3):
        run(ours, dialect, "!text 60")
    assert ours.ask("compact")["success"]
    run(ours, dialect, "after it")
    shown = conversation(ours)
    ours.end()
    theirs = start(version, file)
    assert [role for role, _ in conversation(theirs)] == [role for role, _ in shown]
    run(theirs, version, "!text 60")
    run(theirs, version, "!text 60")
    compacted = theirs.ask("compact")
    assert compacted["success"], compacted
    after = conversation(theirs)
    theirs.end()
    again = start(dialect, file)
    assert [role for role, _ in conversation(again)] == [role for role, _ in after]
    run(again, dialect, "once more")
    assert answered(server, "SUMMARY: scripted")
    assert [entry["type"] for entry in lines(file)].count("compaction") == 2
