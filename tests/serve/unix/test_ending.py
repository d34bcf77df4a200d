"""SIGTERM: no new runs, the steps under way end, sessions are written; a second one ends at once."""

import fcntl
import json
import signal
from pathlib import Path

import pytest

from linnet.testing.model_server import ModelServer
from tests.serve.unix.conftest import Serve
from tests.serve.unix.serving import Served

pytestmark = pytest.mark.timeout(60)


def test_the_first_signal_lets_the_step_under_way_end(served: Served, server: ModelServer) -> None:
    driver = served.open(cursor=True)
    driver.done("prompt", message="!gate later")
    driver.until("message_update")
    served.signal(signal.SIGTERM)
    other = served.attach(driver.agent)
    while (refused := other.ask("bash", command="echo hi"))["success"]:
        pass  # The signal has not come yet.
    assert refused["code"] == "draining"
    assert "shutting down" in refused["error"]
    server.release("later")
    assert driver.until("message_end")["message"]["content"] == [{"type": "text", "text": "before after"}]
    driver.until("agent_settled")
    driver.rest()
    assert served.ended() == 0
    assert not served.socket.exists()
    served.start()
    assert served.attach(driver.agent).done("get_last_assistant_text")["text"] == "before after"


def test_a_second_signal_ends_at_once_and_the_run_says_that_it_was_aborted(served: Served) -> None:
    driver = served.open(cursor=True)
    driver.done("prompt", message="!gate never")
    driver.until("message_update")
    session = Path(served.agents()[driver.agent]["session_file"])
    served.signal(signal.SIGTERM)
    while served.attach(driver.agent).ask("bash", command="true")["success"]:
        pass
    served.signal(signal.SIGTERM)
    assert served.ended() == 0
    assert "before" in session.read_text()
    served.start()
    watcher = served.attach(driver.agent, after=driver.tape.seq, cursor=True)
    watcher.until("agent_settled")
    assert "before" in str(watcher.done("get_messages"))


def test_who_is_still_reading_gets_all_there_is_before_the_connection_ends(served: Served) -> None:
    driver = served.open(cursor=True)
    driver.done("prompt", message="!text 20000")
    driver.until("agent_settled")
    late = served.attach(driver.agent, after=0, cursor=True)  # More than fits into the socket.
    served.signal(signal.SIGTERM)
    late.until("agent_settled")
    late.rest()
    assert late.tape.record == driver.tape.record
    assert served.ended() == 0


def test_who_does_not_read_keeps_no_server_from_ending(served: Served) -> None:
    driver = served.open(cursor=True)
    driver.done("prompt", message="!text 20000")
    driver.until("agent_settled")
    served.attach(driver.agent, after=0)
    served.signal(signal.SIGTERM)
    assert served.ended() == 0


def test_no_agent_is_opened_while_a_server_ends(served: Served) -> None:
    driver = served.open()
    driver.done("prompt", message="!gate never")
    driver.until("message_update")
    served.signal(signal.SIGTERM)
    while driver.ask("bash", command="true")["success"]:
        pass  # The signal has not come yet.
    opening = served.connected()
    opening.say({"type": "open", "cwd": str(served.work)})
    [refused] = opening.rest()
    assert (refused["success"], refused["code"]) == (False, "draining")
    served.signal(signal.SIGTERM)
    assert served.ended() == 0


def test_a_question_that_comes_while_steps_are_waited_for_ends_its_run(serve: Serve) -> None:
    served = serve("--permission", "ask", "--drain", "1000")
    driver = served.open()
    call = ["tool", "bash", '{"command":"true"}']
    driver.done("prompt", message=f"!seq {json.dumps([['text', 'a'], ['sleep', 500], call, ['stop', 'tool']])}")
    driver.done("follow_up", message="never said")
    driver.until("message_update")
    served.signal(signal.SIGTERM)
    told = driver.rest()
    assert served.ended() == 0
    assert "agent_settled" in [frame["type"] for frame in told]
    assert "never said" not in [frame.get("message") for frame in told]


def test_who_reads_at_last_is_told_the_end_of_every_run(serve: Serve) -> None:
    served = serve("--drain", "0.1")
    driver = served.open()
    driver.done("prompt", message="!gate never\n" + "x" * 1_000_000)
    driver.until("message_update")
    driver.say(*[{"type": "get_messages"}] * 4)  # More than the system keeps for a reader.
    served.signal(signal.SIGTERM)
    with (served.state / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # All agents are closed.
    assert "agent_settled" in [frame["type"] for frame in driver.rest()]
    assert served.ended() == 0


def test_a_server_with_nothing_to_do_ends_and_starts_with_the_same_agents(served: Served) -> None:
    agents = [served.open().agent for _ in range(3)]
    served.signal(signal.SIGTERM)
    assert served.ended() == 0
    served.start()
    assert sorted(served.agents()) == sorted(agents)
