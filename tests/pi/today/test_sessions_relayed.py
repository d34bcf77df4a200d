"""One session file, written in turn by pi and by linnet-pi: each goes on from what the other left, in all versions."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.agent import Agent, Frame
from linnet.testing.model_server import ModelServer
from tests.suite.real_pi import prepared_home, program

pytestmark = pytest.mark.foreign
Start = Callable[..., Agent]
DIALECTS = {"pi73": "pi-0.73", "pi87": "pi-0.87", "pi15": "pi-1"}
LAST = {"pi73": "agent_end", "pi87": "agent_settled", "pi15": "agent_settled"}


@pytest.fixture(
    params=[pytest.param("pi73", marks=pytest.mark.judge), pytest.param("pi87", marks=pytest.mark.judge), "pi15"]
)
def version(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def start(version: str, server: ModelServer, tmp_path: Path) -> Iterator[Start]:
    """Start pi, or linnet-pi in its stead, on a session file. Both have the same home, the same model and folder."""
    work = tmp_path / "work"
    work.mkdir()
    env = prepared_home(tmp_path / "home", server.url)
    place = ("--provider", "anthropic", "--base-url", server.url, "--api-key", "x")
    ours = (*place, "--compact-keep", "1", "--retry-delay", "0.05")
    with ExitStack() as stack:

        def start(who: str, *flags: str) -> Agent:
            node, cli = program(version)
            if who == "pi":
                named = ("--mode", "rpc", "--provider", "ours", "--model", "scripted")
                agent = Agent(cli, *named, *flags, cwd=work, env=env, program=node)
            else:
                agent = Agent("--mode", "rpc", "--dialect", DIALECTS[version], *ours, *flags, cwd=work)
            return stack.enter_context(agent)

        yield start


def ran(agent: Agent, version: str, text: str) -> None:
    """Have it answer a prompt to the end."""
    agent.send({"id": "p", "type": "prompt", "message": text})
    agent.until(LAST[version])
    while agent.ask("get_state")["data"]["isStreaming"]:  # 0.73 has no event for the end of all that follows.
        agent.until(LAST[version])


def told(agent: Agent) -> list[tuple[str, str]]:
    """Who said what, as `get_messages` has it, without what only tells the model how to be."""
    messages: list[Frame] = agent.ask("get_messages")["data"]["messages"]
    return [(message["role"], words(message)) for message in messages if message["role"] != "system"]


def words(message: Frame) -> str:
    content = message.get("content", message.get("summary", message.get("output")))
    if isinstance(content, str):
        return content
    blocks = content or []
    return " ".join(str(block.get("text") or block.get("thinking") or block.get("name")) for block in blocks)


def asked(server: ModelServer) -> list[tuple[str, str]]:
    """What the model was sent last: who said which texts."""
    sent: list[dict[str, Any]] = server.requests[-1].body["messages"]
    out: list[tuple[str, str]] = []
    for message in sent:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        out += [(message["role"], _words(block)) for block in blocks]
    return out


def _words(block: dict[str, Any]) -> str:
    inner = block.get("content")
    if isinstance(inner, list):
        return " ".join(part.get("text", part["type"]) for part in inner)
    return str(block.get("text") or inner or block.get("name"))


def conversation(agent: Agent, version: str, name: str) -> None:
    """Text, a tool, a failure that is tried again, a command of the user's, a name."""
    ran(agent, version, f"hello from {name}")
    ran(agent, version, '!tool bash {"command":"echo from a tool"}')
    ran(agent, version, f"!fail 529 1 {name}")
    agent.ask("bash", command=f"echo by {name}")
    assert agent.ask("set_session_name", name=f"of {name}")["success"]
    ran(agent, version, f"goodbye from {name}")


def left(agent: Agent) -> None:
    agent.end()
    assert agent.wait() == 0


ORDERS = [("pi", "linnet", "pi"), ("linnet", "pi", "linnet")]


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_each_goes_on_where_the_other_stopped(
    order: tuple[str, ...], start: Start, version: str, server: ModelServer, tmp_path: Path
) -> None:
    first = start(order[0], "--session-dir", str(tmp_path / "sessions"))
    conversation(first, version, "the first")
    file = Path(first.ask("get_state")["data"]["sessionFile"])
    before, id = told(first), first.ask("get_state")["data"]["sessionId"]
    left(first)

    for number, who in enumerate(order[1:], start=2):
        written = file.read_bytes()
        agent = start(who, "--session", str(file))
        state = agent.ask("get_state")["data"]
        assert (state["sessionId"], state["sessionName"]) == (id, f"of {'the first' if number == 2 else 'number 2'}")
        assert told(agent) == before
        ran(agent, version, f"are you number {number}?")
        sent = asked(server)
        assert [said for said in before if said[0] == "user"] == [
            said for said in sent if said in before and said[0] == "user"
        ]
        conversation(agent, version, f"number {number}")
        before = told(agent)
        left(agent)
        assert file.read_bytes().startswith(written)


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_each_knows_the_others_branches_and_summaries(
    order: tuple[str, ...], start: Start, version: str, server: ModelServer, tmp_path: Path
) -> None:
    first = start(order[0], "--session-dir", str(tmp_path / "sessions"))
    for text in ("one " * 40, "two " * 40, "three " * 40):
        ran(first, version, text)
    assert first.ask("compact")["success"]
    ran(first, version, "after the summary")
    file = first.ask("get_state")["data"]["sessionFile"]
    ids = [(each["entryId"], each["text"]) for each in first.ask("get_fork_messages")["data"]["messages"]]
    left(first)

    second = start(order[1], "--session", file)
    assert [(each["entryId"], each["text"]) for each in second.ask("get_fork_messages")["data"]["messages"]] == ids
    ran(second, version, "what do you remember?")
    everything = json.dumps(asked(server))
    assert "SUMMARY: scripted" in everything
    assert "one one" not in everything
    assert "after the summary" in everything
    forked = second.ask("fork", entryId=ids[-1][0])["data"]
    assert (forked["text"], forked["cancelled"]) == ("after the summary", False)
    ran(second, version, "on the branch")
    branch = second.ask("get_state")["data"]["sessionFile"]
    assert branch != file
    before = told(second)
    left(second)

    third = start(order[2], "--session", branch)
    assert told(third) == before
    ran(third, version, "still here?")
    assert "on the branch" in json.dumps(asked(server))
    assert "what do you remember?" not in json.dumps(asked(server))
