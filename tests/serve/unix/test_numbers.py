"""Numbers of events, over the end of a server: what a client was told to go on from holds."""

import pytest

from tests.serve.unix.conftest import Serve
from tests.serve.unix.serving import Served

pytestmark = pytest.mark.timeout(60)


def test_an_agent_that_nothing_has_happened_to_has_no_gap_after_a_kill(served: Served) -> None:
    busy = served.open()
    busy.done("prompt", message="hello")
    busy.until("agent_settled")
    quiet = served.open().agent
    served.restart()
    watcher = served.attach(quiet, after=0, cursor=True)
    driver = served.attach(quiet)
    driver.done("prompt", message="hello")
    driver.until("agent_settled")
    assert watcher.read() == {"type": "agent_start", "seq": 2}


def test_who_attached_after_something_that_nobody_is_told_of_misses_nothing_after_a_kill(served: Served) -> None:
    driver = served.open()
    driver.done("prompt", message="hello")
    driver.until("agent_settled")
    for enabled in (True, False):
        driver.done("set_auto_retry", enabled=enabled)
    seen = served.attach(driver.agent).first["data"]["seq"]
    served.restart()
    driver = served.attach(driver.agent, after=seen, cursor=True)
    driver.done("prompt", message="hello again")
    driver.until("agent_settled")
    assert [frame["type"] for frame in driver.seen if frame["type"] != "response"][:2] == ["agent_start", "turn_start"]


def test_the_list_of_agents_knows_the_last_number_after_a_kill(served: Served) -> None:
    driver = served.open(cursor=True)
    driver.done("prompt", message="hello")
    driver.until("agent_settled")
    driver.done("get_state")  # By then all is written.
    served.restart()
    assert served.agents()[driver.agent]["seq"] == driver.tape.seq


def test_numbers_go_on_when_an_agent_has_slept(serve: Serve) -> None:
    served = serve("--sleep-after", "0.05")
    driver = served.open(cursor=True)
    for _ in range(3):
        driver.done("prompt", message="hello")
        driver.until("agent_settled")
        with served.connected() as asking:
            asking.say({"type": "agents"})
            while asking.read()["data"]["agents"][0]["state"] != "asleep":
                asking.say({"type": "agents"})
    assert served.attach(driver.agent).first["data"]["seq"] == driver.tape.seq
