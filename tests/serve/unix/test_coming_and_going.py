"""Clients come and go and agents are removed at any moment: nothing of them is left, and the server stays."""

import json
import os
import socket
from collections.abc import Callable
from contextlib import suppress

import pytest

from linnet.testing.model_server import ModelServer
from tests.serve.unix.conftest import Serve
from tests.serve.unix.serving import Served

pytestmark = pytest.mark.timeout(60)


def until(holds: Callable[[], object]) -> None:
    """Return when this holds; the time limit of the test ends what never does."""
    while not holds():
        os.sched_yield()


def gone_at_once(served: Served, *lines: object) -> None:
    """Say this on a connection, and leave before there is an answer."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(served.socket))
        connection.sendall(b"".join(json.dumps(line).encode() + b"\n" for line in lines))


def descriptors(served: Served) -> int:
    return len(os.listdir(f"/proc/{served.pid}/fd"))


def test_who_leaves_before_the_first_answer_is_not_attached(served: Served) -> None:
    agent = served.open().agent
    until(lambda: served.agents()[agent]["drivers"] == 1)
    for _ in range(300):
        gone_at_once(served, {"type": "attach", "agent": agent, "role": "watch"})
    until(lambda: served.agents()[agent]["watchers"] == 0)
    until(lambda: descriptors(served) < 40)


def test_an_agent_that_is_not_to_be_kept_is_gone_when_its_client_left_before_the_first_answer(served: Served) -> None:
    for _ in range(20):
        gone_at_once(served, {"type": "open", "cwd": str(served.work), "keep": False})
    served.open()
    until(lambda: len(served.agents()) == 1)


def test_what_was_said_before_leaving_is_carried_out(served: Served) -> None:
    for number in range(20):
        gone_at_once(
            served,
            {"type": "open", "cwd": str(served.work), "dialect": "pi-1"},
            {"id": "1", "type": "set_session_name", "name": f"named {number}"},
        )
    until(lambda: {each["name"] for each in served.agents().values()} == {f"named {number}" for number in range(20)})


def test_who_is_one_too_many_and_leaves_ends_nothing(serve: Serve) -> None:
    served = serve("--max-connections", "1")
    client = served.open()
    served.stop()
    for _ in range(50):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(served.socket))
    served.go_on()
    client.done("get_state")


def test_an_agent_that_is_not_to_be_kept_is_gone_also_if_it_sleeps_when_its_input_ends(serve: Serve) -> None:
    served = serve("--sleep-after", "0.1")
    client = served.open(keep=False)
    until(lambda: served.agents()[client.agent]["state"] == "asleep")
    client.socket.shutdown(socket.SHUT_WR)
    client.rest()
    until(lambda: not served.agents())


@pytest.mark.parametrize("sleeps", [False, True])
def test_of_an_agent_that_was_removed_nothing_comes_back(serve: Serve, server: ModelServer, sleeps: bool) -> None:
    """`keep` false removes it while it wakes, sleeps, works and is asked."""
    served = serve("--sleep-after", "0.05") if sleeps else serve("--permission", "ask")
    for prompt in ("!text 20 1", '!tool bash {"command":"echo x"}', "!hang", "!text 1 1"):
        client = served.open(keep=False)
        other = served.attach(client.agent, client="1e3c2d2a-9b1c-4c0e-8d4e-6f2f3c1a0b77")
        client.done("prompt", message=prompt)
        if sleeps and prompt != "!hang":
            client.until("agent_settled")
            until(lambda agent=client.agent: served.agents()[agent]["state"] == "asleep")  # type: ignore[misc]
        client.close()
        with suppress(EOFError, OSError):
            while True:
                other.say({"id": "late", "type": "set_session_name", "name": "late"})
                other.read()
    until(lambda: not served.agents())
    until(lambda: not os.listdir(served.state / "agents"))
    served.restart()
    assert served.agents() == {}
    assert "left out" not in served.stderr


def test_what_was_being_opened_when_the_server_was_killed_leaves_nothing(served: Served) -> None:
    agent = served.open().agent
    served.kill()
    begun = served.state / "agents" / ("0" * 16)
    (begun / "events").mkdir(parents=True)
    served.start()
    assert list(served.agents()) == [agent]
    assert not begun.exists()
    assert "left out" not in served.stderr
