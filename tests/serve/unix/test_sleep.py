"""An agent with nothing to do sleeps; the next command wakes it, and nothing is forgotten."""

import pytest

from linnet.testing.model_server import ModelServer
from tests.serve.unix.conftest import Serve
from tests.serve.unix.serving import Served

pytestmark = pytest.mark.timeout(60)


def fall_asleep(served: Served, *agents: str) -> None:
    """Return when these are asleep."""
    with served.connected() as asking:
        while True:
            asking.say({"type": "agents"})
            states = {each["id"]: each["state"] for each in asking.read()["data"]["agents"]}
            if all(states[agent] == "asleep" for agent in agents):
                return


def test_what_was_set_and_said_holds_when_an_agent_has_slept_and_after_a_kill(serve: Serve) -> None:
    served = serve("--sleep-after", "0.2")
    driver = served.open()
    driver.done("set_model", provider="anthropic", modelId="claude-opus-4-5")
    driver.done("set_thinking_level", level="high")
    driver.done("set_steering_mode", mode="all")
    driver.done("set_follow_up_mode", mode="all")
    driver.done("set_auto_compaction", enabled=False)
    driver.done("set_session_name", name="kettle")
    kept = (
        "model",
        "thinkingLevel",
        "steeringMode",
        "followUpMode",
        "autoCompactionEnabled",
        "sessionName",
        "sessionId",
    )
    for said in (False, True):  # Before anything was said there is no session file to remember it.
        if said:
            driver.done("prompt", message="hello")
            driver.until("agent_settled")
        state, messages = driver.done("get_state"), driver.done("get_messages")["messages"]
        for killed in (False, True):
            fall_asleep(served, driver.agent)
            if killed:
                served.restart()
            driver = served.attach(driver.agent)
            assert {name: driver.done("get_state")[name] for name in kept} == {name: state[name] for name in kept}
            assert driver.done("get_messages")["messages"] == messages


def test_whoever_is_attached_stays_so_while_an_agent_sleeps(serve: Serve) -> None:
    served = serve("--sleep-after", "0.05")
    driver = served.open(cursor=True)
    watcher = served.attach(driver.agent, after=0, cursor=True, role="watch")
    for _ in range(3):
        fall_asleep(served, driver.agent)
        driver.done("prompt", message="hello")
        driver.until("agent_settled")
        watcher.until("agent_settled")
    assert watcher.tape.record == driver.tape.record


def test_what_runs_or_waits_keeps_an_agent_awake(serve: Serve, server: ModelServer) -> None:
    served = serve("--sleep-after", "0.05")
    idle = served.open().agent
    working, waiting = served.open(), served.open("--permission", "ask")
    working.done("prompt", message="!gate later")
    working.until("message_update")
    waiting.done("prompt", message='!tool bash {"command":"echo hi"}')
    waiting.until("extension_ui_request")
    fall_asleep(served, idle)
    agents = served.agents()
    assert agents[working.agent]["state"] == "working"
    assert agents[waiting.agent]["state"] == "waiting"
    server.release("later")
    working.until("agent_settled")


def test_so_many_may_be_awake_and_those_that_were_idle_longest_sleep_first(serve: Serve) -> None:
    served = serve("--awake", "2", "--sleep-after", "3600")
    agents = [served.open().agent for _ in range(5)]
    fall_asleep(served, *agents[:3])
    states = served.agents()
    assert [states[agent]["state"] for agent in agents[3:]] == ["idle", "idle"]


def test_what_a_command_left_running_keeps_an_agent_awake(serve: Serve) -> None:
    served = serve("--sleep-after", "0.05")
    leaves, idle = served.open(), served.open().agent
    (served.work / "go").touch()
    leaves.done("bash", command="(while [ -e go ]; do sleep 0.05; done) > left 2>&1 &")
    fall_asleep(served, idle)
    assert served.agents()[leaves.agent]["state"] == "idle"
    (served.work / "go").unlink()
    fall_asleep(served, leaves.agent)


def test_an_agent_without_a_session_never_sleeps(serve: Serve) -> None:
    served = serve("--sleep-after", "0.05")
    driver, idle = served.open("--no-session"), served.open().agent
    driver.done("prompt", message="hello")
    driver.until("agent_settled")
    fall_asleep(served, idle)
    assert served.agents()[driver.agent]["state"] == "idle"
    assert len(driver.done("get_messages")["messages"]) == 3
