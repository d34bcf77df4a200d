"""What a server that was killed had begun says, after the next start, how it ended; nothing acknowledged is lost."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from linnet.testing.model_server import ModelServer
from tests.serve.unix.serving import Client, Served

pytestmark = pytest.mark.timeout(60)


def test_a_run_that_was_cut_off_says_so_with_what_is_known_of_its_last_call(served: Served) -> None:
    driver = served.open(cursor=True)
    call = {"command": "echo began; sleep 60"}
    driver.done("prompt", message=f"!tool bash {json.dumps(call)}")
    driver.until("tool_execution_update")
    served.restart()
    watcher = served.attach(driver.agent, role="watch", after=driver.tape.seq, cursor=True)
    ended = watcher.until("tool_execution_end")
    assert ended["isError"]
    assert "ended while this call was open" in ended["result"]["content"][0]["text"]
    watcher.until(lambda frame: frame["type"] == "agent_end")
    watcher.until("agent_settled")
    [agent] = served.agents().values()
    assert "server ended while this ran" in agent["error"]
    roles = [message["role"] for message in watcher.done("get_messages")["messages"]]
    assert roles == ["system", "user", "assistant", "toolResult"]


def test_what_was_cut_off_ends_for_whoever_comes_even_if_its_record_did_not_know_that_it_began(served: Served) -> None:
    driver = _at_gate(served)
    served.kill()
    record = served.state / "agents" / driver.agent / "agent.json"
    record.write_text(record.read_text().replace('"working":true', '"working":false'))
    served.start()
    watcher = served.attach(driver.agent, role="watch", after=0)
    watcher.until("agent_end")
    watcher.until("agent_settled")


@pytest.mark.parametrize("written", [True, False])
def test_a_prompt_that_was_acknowledged_is_in_the_conversation_even_if_its_run_had_not_begun(
    served: Served, written: bool
) -> None:
    driver = _at_gate(served)
    session = Path(served.agents()[driver.agent]["session_file"])
    served.kill()
    [file] = (served.state / "agents" / driver.agent / "events").iterdir()
    header, job, *_ = file.read_bytes().splitlines(keepends=True)
    assert b'"job"' in job
    file.write_bytes(header + job)
    if not written:
        session.unlink()
    served.start()
    watcher = served.attach(driver.agent, role="watch", after=0)
    told = [watcher.read()["type"] for _ in range(6)]
    assert told == ["agent_start", "turn_start", "message_start", "message_end", "agent_end", "agent_settled"]
    said = [each for each in watcher.done("get_messages")["messages"] if each["role"] == "user"]
    assert [each["content"][0]["text"] for each in said] == ["!gate never"]
    assert Path(served.agents()[driver.agent]["session_file"]).read_text().count("!gate never") == 1
    [begun] = [line for line in file.read_bytes().splitlines() if b'["run",' in line]
    assert b'["user",' in begun  # In one write: whoever was killed between both would not know what was said.


def test_an_agent_that_went_with_its_connection_is_gone_after_a_restart_and_its_session_says_how_it_ended(
    served: Served,
) -> None:
    kept = served.open().agent
    for killed in (True, False):
        driver = served.open(keep=False)
        driver.done("prompt", message="!gate never")
        driver.until("message_update")
        session = Path(served.agents()[driver.agent]["session_file"])
        if not killed:
            driver.done("abort")  # It is answered when all is over.
            served.signal(signal.SIGTERM)
            assert served.ended() == 0
        served.restart()
        while [*served.agents()] != [kept]:
            pass
        assert session.read_text().count("!gate never") == 1
        assert ("server ended while this ran" in session.read_text()) is killed


def test_questions_are_withdrawn_when_their_server_was_killed(served: Served) -> None:
    driver = served.open("--permission", "ask", cursor=True)
    driver.done("prompt", message='!tool bash {"command":"echo hi"}')
    question = driver.until("extension_ui_request")
    served.restart()
    driver = served.attach(driver.agent, after=driver.tape.seq, cursor=True)
    driver.until("agent_settled")
    answer = driver.ask("extension_ui_response", id=question["id"], value="Allow once")
    assert not answer["success"]
    assert driver.done("get_state").get("waitingFor", []) == []


def test_an_agent_that_was_cut_off_can_be_asked_again(served: Served, server: ModelServer) -> None:
    driver = _at_gate(served)
    served.restart()
    driver = served.attach(driver.agent)
    assert driver.ask("prompt", message="hello")["success"]
    driver.until("agent_settled")
    assert driver.done("get_last_assistant_text")["text"] == "Hello from the scripted model."


def test_a_start_waits_for_what_a_killed_server_was_about_to_start(served: Served) -> None:
    """A process has its parent's files, and their locks, until it becomes another program."""
    served.kill()
    held = (
        "import fcntl, subprocess, sys; file = open(sys.argv[1]); fcntl.flock(file, fcntl.LOCK_EX); "
        "subprocess.Popen(['sleep', '0.3'], pass_fds=[file.fileno()])"
    )
    subprocess.run([sys.executable, "-c", held, str(served.state / "lock")], check=True)
    served.start()


def test_an_agent_without_a_session_is_gone_after_a_restart(served: Served) -> None:
    kept, gone = served.open().agent, served.open("--no-session").agent
    served.restart()
    assert [*served.agents()] == [kept]
    client = served.connected()
    client.say({"type": "attach", "agent": gone})
    assert client.read()["code"] == "no_such_agent"


def _at_gate(served: Served) -> Client:
    """Return the driver of an agent whose model has said half of its reply, and will not go on."""
    driver = served.open()
    driver.done("prompt", message="!gate never")
    driver.until("message_update")
    return driver
