"""What holds for the clients of an agent: who watches and who drives, from where they are told, and in which order."""

import socket
from threading import Thread

import pytest

from linnet.testing.model_server import ModelServer
from tests.serve.unix.conftest import Serve
from tests.serve.unix.serving import Client, Served
from tests.serve.unix.tape import frames

pytestmark = pytest.mark.timeout(100)

MEBIBYTE = 1024 * 1024


def prompt(driver: Client, message: str) -> None:
    """Have a prompt carried out, to its end."""
    driver.done("prompt", message=message)
    driver.until("agent_settled")


def test_clients_of_one_agent_may_speak_different_dialects(served: Served) -> None:
    driver = served.open()
    zot = served.attach(driver.agent, dialect="zot")
    pi = served.attach(driver.agent, dialect="pi", stream="deltas")
    zot.done("prompt", message="hello")
    driver.until("agent_settled")
    pi.until("agent_end")
    words = [frame["delta"] for frame in zot.seen if frame["type"] == "text_delta"]
    while zot.seen[-1]["type"] != "done":
        frame = zot.read()
        words += [frame["delta"]] if frame["type"] == "text_delta" else []
    assert "".join(words) == "Hello from the scripted model."
    assert all("message" not in frame for frame in pi.seen if frame["type"] == "message_update")


def test_a_watcher_may_ask_and_change_nothing(served: Served) -> None:
    driver = served.open()
    watcher = served.attach(driver.agent, role="watch")
    for command in (
        {"type": "prompt", "message": "hello"},
        {"type": "set_session_name", "name": "x"},
        {"type": "abort"},
    ):
        answer = watcher.ask(**command)
        assert not answer["success"]
        assert answer["code"] == "watching"
        assert "attach with the role drive" in answer["error"]
    assert watcher.done("get_state")["messageCount"] == 0
    summary = served.agents()[driver.agent]
    assert (summary["drivers"], summary["watchers"]) == (1, 1)


def test_from_says_where_to_go_on(served: Served) -> None:
    driver = served.open(cursor=True)
    prompt(driver, "one")
    middle = driver.tape.seq
    prompt(driver, "two")
    whole = bytes(driver.tape.record)
    parts = {after: served.attach(driver.agent, after=after, cursor=True, role="watch") for after in (0, middle, None)}
    for each in parts.values():
        each.done("get_state")
    assert bytes(parts[0].tape.record) == whole
    assert whole.endswith(bytes(parts[middle].tape.record))
    assert b"one" not in bytes(parts[middle].tape.record)
    assert bytes(parts[None].tape.record) == b""
    assert parts[None].first["data"]["seq"] == driver.tape.seq


def test_who_comes_from_before_what_is_kept_hears_of_a_gap_and_gets_a_snapshot(serve: Serve) -> None:
    served = serve("--keep-bytes", "200000")
    driver = served.open(cursor=True)
    for number in range(30):  # Each is far less than what is kept, or a slow driver would hear of a gap, too.
        prompt(driver, f"!text 500\n{number}")
    watcher = served.attach(driver.agent, after=0, cursor=True, role="watch")
    assert watcher.read() == {"type": "gap", "after": 0}
    snapshot = watcher.read()
    assert snapshot["type"] == "snapshot"
    assert snapshot["seq"] == driver.tape.seq
    assert snapshot["open"] == []
    assert snapshot["state"]["sessionId"] == driver.done("get_state")["sessionId"]
    assert snapshot["messages"] == driver.done("get_messages")["messages"]
    before = len(driver.tape.record)
    prompt(driver, "and on")
    watcher.until("agent_settled")
    assert frames(watcher.tape.record)[2:] == frames(driver.tape.record[before:])


def test_a_response_stands_after_the_events_up_to_when_it_was_decided_and_before_all_later_ones(served: Served) -> None:
    driver = served.open()
    asking = [{"type": "get_state", "id": f"state-{number}"} for number in range(20)]
    driver.say({"type": "prompt", "message": "!text 30 1", "id": "p"})
    over = False
    while not over:
        driver.say(*asking)
        driver.until(lambda frame: frame.get("id") == "state-19")
        over = any(frame["type"] == "agent_settled" for frame in driver.seen)
    settled = False
    for frame in driver.seen[1:]:
        settled = settled or frame["type"] == "agent_settled"
        if frame.get("command") == "get_state":
            assert frame["data"]["isStreaming"] is not settled
    assert settled


def test_a_response_goes_to_its_sender_alone_and_has_no_number(served: Served) -> None:
    asking = served.open(cursor=True)
    others = [served.attach(asking.agent, role=role, cursor=True) for role in ("drive", "watch")]
    prompt(asking, "hello")
    asking.done("get_state")
    for each in others:
        each.until("agent_settled")
        each.done("get_messages")
        assert [frame["command"] for frame in each.seen if frame["type"] == "response"][1:] == ["get_messages"]
    assert all("seq" not in frame for frame in asking.seen if frame["type"] == "response")


def test_watchers_that_never_read_cost_nothing(served: Served) -> None:
    driver = served.open()
    prompt(driver, "!text 2000")
    stuck = [
        served.attach(driver.agent, after=0, dialect=dialect) for dialect in ("pi", "pi-1", "zot") for _ in range(7)
    ]
    before = served.memory()
    watcher = served.attach(driver.agent, role="watch", dialect="zot")
    driver.close()  # It would be told every word again with each word.
    for _ in range(5):
        watcher2 = served.attach(watcher.agent, dialect="zot")
        watcher2.done("prompt", message="!text 5000")
        watcher2.until("done")
    assert served.memory() - before < 64 * MEBIBYTE
    assert served.agents()[watcher.agent]["drivers"] >= len(stuck)


def test_a_driver_that_does_not_read_its_answers_is_not_read_from_and_others_go_on(served: Served) -> None:
    driver = served.open()
    prompt(driver, "!text 20000")
    other = served.attach(driver.agent, dialect="zot")
    before = served.memory()
    asking = Thread(
        target=lambda: driver.say(
            *[{"type": "get_messages", "id": str(number), "pad": "x" * 4096} for number in range(800)]
        )
    )
    asking.start()
    other.done("prompt", message="hello")
    other.until("done")
    assert served.memory() - before < 64 * MEBIBYTE
    assert asking.is_alive()
    answers = [driver.until("response")["id"] for _ in range(800)]
    asking.join()
    assert answers == [str(number) for number in range(800)]


def test_short_commands_wait_too_when_their_answers_are_not_read(served: Served) -> None:
    driver = served.open()
    prompt(driver, "!text 20000")
    other = served.attach(driver.agent, dialect="zot")
    before = served.memory()
    driver.say(*[{"type": "get_messages", "id": str(number)} for number in range(1000)])  # One read has all of them.
    driver.socket.shutdown(socket.SHUT_WR)
    other.done("prompt", message="hello")
    other.until("done")
    assert served.memory() - before < 64 * MEBIBYTE
    assert [frame["id"] for frame in driver.rest() if frame["type"] == "response"] == [
        str(each) for each in range(1000)
    ]


def test_detaching_ends_nothing(served: Served, server: ModelServer) -> None:
    driver = served.open(cursor=True)
    driver.done("prompt", message="!gate later")
    driver.until("message_update")
    driver.close()
    watcher = served.attach(driver.agent, role="watch", after=driver.tape.seq, cursor=True)
    server.release("later")
    assert watcher.until("message_end")["message"]["content"] == [{"type": "text", "text": "before after"}]
    watcher.until("agent_settled")


def test_a_run_ends_with_its_last_driver_where_that_is_wanted(serve: Serve) -> None:
    served = serve("--on-detach", "abort")
    driver = served.open()
    second = served.attach(driver.agent)
    watcher = served.attach(driver.agent, role="watch")
    driver.done("prompt", message="!gate never")
    watcher.until("message_update")
    driver.close()
    assert second.done("get_state")["isStreaming"]
    second.close()
    assert watcher.until("agent_settled")["aborted"]


def test_an_agent_that_is_not_to_be_kept_ends_its_work_and_is_gone(served: Served) -> None:
    driver = served.open(keep=False)
    driver.say({"type": "prompt", "message": "!text 20 1", "id": "p"})
    driver.socket.shutdown(socket.SHUT_WR)
    told = driver.rest()
    assert [frame["type"] for frame in told][-1] == "agent_settled"
    assert served.agents() == {}


def test_an_agent_that_is_not_to_be_kept_is_gone_when_its_client_was_killed(served: Served) -> None:
    driver = served.open(keep=False)
    watcher = served.attach(driver.agent, role="watch")
    driver.done("prompt", message="!text 20 1")
    driver.close()
    assert [frame["type"] for frame in watcher.rest()][-1] == "agent_settled"
    assert served.agents() == {}


def test_an_agent_may_cost_so_much(serve: Serve) -> None:
    served = serve("--agent-budget", "0.001")
    driver = served.open()
    prompt(driver, "hello")
    answer = driver.ask("prompt", message="hello again")
    assert answer["code"] == "budget"
    assert "the budget of this agent is spent" in answer["error"]
    assert served.open().ask("prompt", message="hello")["success"]


def test_what_an_agent_has_cost_is_not_forgotten_with_its_session(serve: Serve) -> None:
    served = serve("--agent-budget", "0.001")
    driver = served.open()
    prompt(driver, "hello")
    file = driver.ask("get_state")["data"]["sessionFile"]
    assert driver.ask("new_session")["success"]
    assert driver.ask("prompt", message="hello again")["code"] == "budget"
    served.restart()
    assert served.attach(driver.agent).ask("prompt", message="hello again")["code"] == "budget"
    another = served.open("--session", file)
    assert another.ask("get_session_stats")["data"]["cost"] > 0.001
    assert another.ask("prompt", message="what others have spent before is not its own")["success"]


def test_to_go_on_with_a_session_costs_nothing(serve: Serve) -> None:
    served = serve("--budget", "0.02")  # A few prompts.
    driver = served.open()
    prompt(driver, "hello")
    first = driver.ask("get_state")["data"]["sessionFile"]
    assert 0.001 < served.agents()[driver.agent]["cost"] < 0.01
    for _ in range(20):
        driver.ask("new_session")
        assert driver.ask("switch_session", sessionPath=first)["success"]
        served.open("--fork", first)
    assert driver.ask("prompt", message="hello")["success"]


def test_all_agents_together_may_cost_so_much_and_a_restart_does_not_forget_it(serve: Serve) -> None:
    served = serve("--budget", "0.001")
    driver = served.open()
    prompt(driver, "hello")
    for _ in range(2):
        assert "the budget of all agents" in served.open().ask("prompt", message="hello")["error"]
        served.restart()
