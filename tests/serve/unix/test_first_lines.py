"""How a connection begins: what may be asked for first, and what is refused, in words."""

import os
import resource
import select
import signal
import stat
from pathlib import Path
from typing import Any

import pytest

from linnet.errors import ConfigError
from linnet.serve.agents.host import Host, HostOptions
from tests.serve.unix.conftest import Serve
from tests.serve.unix.serving import Client, Served

pytestmark = pytest.mark.timeout(60)


def processor_seconds(pid: int) -> float:
    """Return how long processors have worked for a process."""
    figures = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(figures[11]) + int(figures[12])) / os.sysconf("SC_CLK_TCK")


def test_opening_an_agent_tells_its_id_and_the_dialect_that_is_spoken_from_then_on(served: Served) -> None:
    client = served.connected()
    client.say({"type": "open", "id": 7, "dialect": "zot", "cwd": str(served.work)})
    answer = client.read()
    assert answer["id"] == 7
    assert answer["command"] == "open"
    data = answer["data"]
    assert len(data["agent"]) == 16
    assert (data["seq"], data["dialect"]) == (0, "zot")
    assert client.done("ping") == {"pong": True} or client.seen[-1]["success"]
    assert [*served.agents()] == [data["agent"]]


def test_flags_are_words_as_they_would_follow_linnet(served: Served) -> None:
    driver = served.open("rpc", "--model", "claude-opus-4-5", "--name", "kettle", dialect="pi-1")
    assert driver.first["data"]["dialect"] == "pi-1"
    state = driver.done("get_state")
    assert (state["model"]["id"], state["sessionName"]) == ("claude-opus-4-5", "kettle")
    assert served.open("rpc", dialect=None).first["data"]["dialect"] == "zot"


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ({"type": "sing"}, "bad_input", "the first line must be"),
        ({"type": "attach"}, "bad_input", "agent"),
        ({"type": "attach", "agent": "0123456789abcdef"}, "no_such_agent", "there is no agent '0123456789abcdef'"),
        ({"type": "attach", "agent": "x", "role": "own"}, "bad_input", "role"),
        ({"type": "attach", "agent": "x", "form": 3}, "bad_input", "form"),
        ({"type": "open", "dialect": "klingon"}, "bad_input", "klingon"),
        ({"type": "open", "cwd": "relative"}, "bad_input", "absolute"),
        ({"type": "open", "cwd": "/nowhere/at/all"}, "config", "/nowhere/at/all"),
        ({"type": "open", "cwd": "/a\0b"}, "bad_input", "no folder has such a name"),
        ({"type": "open", "flags": ["--no-such-flag"]}, "usage", "--no-such-flag"),
        ({"type": "open", "flags": ["say hello"]}, "usage", "say hello"),
        ({"type": "open", "program": "pi"}, "bad_input", "linnet-pi"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words_and_the_connection_ends(
    served: Served, line: dict[str, Any], code: str, words: str
) -> None:
    client = served.connected()
    client.say({"id": "x", **line})
    [answer] = client.rest()
    assert answer["id"] == "x"
    assert not answer["success"]
    assert words in answer["error"], answer
    assert answer["code"] == code, answer
    assert served.agents() == {}


def test_a_line_that_is_no_json_is_refused(served: Served) -> None:
    client = served.connected()
    client.socket.sendall(b"hello\n")
    [answer] = client.rest()
    assert "the first line must be" in answer["error"]


def test_a_connection_that_has_listed_agents_may_go_on_with_another_first_line(served: Served) -> None:
    agent = served.open(dialect="pi").agent
    client = served.connected()
    client.say({"type": "agents", "id": 1}, {"type": "agents", "id": 2}, {"type": "attach", "agent": agent, "id": 3})
    assert [client.read()["id"] for _ in range(3)] == [1, 2, 3]
    assert client.seen[0]["data"]["agents"][0]["id"] == agent
    assert client.done("get_state")["isStreaming"] is False


def test_lines_that_come_with_the_first_one_wait_until_the_agent_is_open(served: Served) -> None:
    client = served.connected()
    client.say(
        {"type": "open", "dialect": "pi-1", "cwd": str(served.work)},
        {"type": "set_session_name", "name": "early", "id": "1"},
        {"type": "get_state", "id": "2"},
    )
    assert client.begun().until(lambda frame: frame.get("id") == "2")["data"]["sessionName"] == "early"


def test_there_may_be_so_many_agents(serve: Serve) -> None:
    served = serve("--max-agents", "2")
    served.open()
    served.open()
    client = served.connected()
    client.say({"type": "open", "cwd": str(served.work)})
    [answer] = client.rest()
    assert answer["code"] == "too_many_agents"
    assert "--max-agents" in answer["error"]


def test_there_may_be_so_many_connections(serve: Serve) -> None:
    served = serve("--max-connections", "2")
    driver = served.open()
    served.attach(driver.agent)
    assert served.connected().read()["code"] == "busy"
    assert driver.ask("get_state")["success"]


def test_connections_over_the_limit_that_are_gone_at_once_do_no_harm(serve: Serve) -> None:
    served = serve("--max-connections", "1")
    driver = served.open()
    served.stop()  # So that all of them are gone when they are accepted.
    for _ in range(200):
        Client(served.socket).socket.close()
    served.go_on()
    assert driver.ask("get_state")["success"]
    assert served.connected().read()["code"] == "busy"


def test_without_descriptors_whoever_comes_waits_and_nobody_spins(serve: Serve) -> None:
    served = serve()
    driver = served.open()
    used = len(os.listdir(f"/proc/{served.pid}/fd"))
    resource.prlimit(served.pid, resource.RLIMIT_NOFILE, (used + 4, used + 4))
    crowd = [served.connected() for _ in range(20)]
    assert driver.ask("get_state")["success"]
    before = processor_seconds(served.pid)
    assert not select.select([crowd[-1].socket], [], [], 1.5)[0]
    assert processor_seconds(served.pid) - before < 0.3
    for client in crowd[:-1]:
        client.socket.close()
    crowd[-1].say({"type": "agents"})
    assert crowd[-1].read()["success"]


def test_a_browser_that_shows_the_page_keeps_nobody_waiting(serve: Serve, tmp_path: Path) -> None:
    browser, closed = tmp_path / "browser", tmp_path / "closed"
    os.mkfifo(closed)
    browser.write_text(f'#!/bin/sh\nread line < "{closed}"\n')  # Some end when their last window is closed.
    browser.chmod(0o755)
    shown = tmp_path / "shown"
    shown.mkdir()
    served = serve("--http", "127.0.0.1:0", "--open", env={"BROWSER": str(browser), "TMPDIR": str(shown)})
    with closed.open("w"):  # It is there.
        assert served.open().done("get_state")["isStreaming"] is False
        assert len([*shown.iterdir()]) == 1  # A token is in it.
        served.signal(signal.SIGTERM)
        assert served.ended() == 0
        assert [*shown.iterdir()] == []


def test_the_socket_is_its_owners_alone(served: Served) -> None:
    assert stat.S_IMODE(served.socket.stat().st_mode) == 0o600
    assert stat.S_IMODE(served.state.stat().st_mode) == 0o700


def test_a_state_folder_that_others_may_write_in_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    state.chmod(0o777)
    with pytest.raises(ConfigError, match="others may write in it"):
        Host(HostOptions(state=str(state)), {})
    assert [*state.iterdir()] == []


def test_a_second_server_is_refused_and_the_first_one_goes_on(served: Served) -> None:
    agent = served.open().agent
    with Served("http://127.0.0.1:9") as other:
        other.kill()
        for place in ("socket", "state"):
            setattr(other, place, getattr(served, place))
            with pytest.raises(AssertionError, match=r"a server is already there|another server keeps its agents"):
                other.start()
            other.kill()
            setattr(other, place, other.folder / place)
    assert [*served.agents()] == [agent]
