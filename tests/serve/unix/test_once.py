"""Commands of clients that name themselves, over connections and the end of the server: carried out once."""

import os

import pytest

from tests.serve.unix.serving import Client, Served

pytestmark = pytest.mark.timeout(60)

EFFECT = {"id": "1", "type": "bash", "command": "echo hi >> done"}


def effects(served: Served) -> int:
    file = served.work / "done"
    return file.read_text().count("hi") if file.exists() else 0


def answered(client: Client, frame: dict[str, str]) -> dict[str, object]:
    client.say(frame)
    return client.until(lambda told: told["type"] == "response" and told.get("id") == frame["id"])


def test_a_repetition_gets_the_first_ones_answer_over_connections_and_a_kill(served: Served) -> None:
    driver = served.open(client="me")
    first = answered(driver, EFFECT)
    assert answered(driver, EFFECT) == first
    assert answered(served.attach(driver.agent, client="me"), EFFECT) == first
    served.restart()
    assert answered(served.attach(driver.agent, client="me"), EFFECT) == first
    assert effects(served) == 1


def test_another_client_and_one_without_a_name_are_others(served: Served) -> None:
    driver = served.open(client="me")
    answered(driver, EFFECT)
    answered(served.attach(driver.agent, client="you"), EFFECT)
    plain = served.attach(driver.agent)
    answered(plain, EFFECT)
    answered(plain, EFFECT)
    assert effects(served) == 4


def test_another_command_with_the_same_id_is_refused(served: Served) -> None:
    driver = served.open(client="me")
    answered(driver, EFFECT)
    assert answered(driver, {**EFFECT, "command": "echo hi >> done # again"})["code"] == "reused"
    assert effects(served) == 1


def test_a_watcher_takes_no_name_from_a_driver_and_is_told_no_answer_of_its(served: Served) -> None:
    driver = served.open(client="me")
    watcher = served.attach(driver.agent, client="me", role="watch")
    assert answered(watcher, {"id": "1", "type": "get_state"})["success"]
    assert answered(driver, EFFECT)["success"]
    assert answered(watcher, {"id": "1", "type": "get_state"})["command"] == "get_state"
    assert answered(watcher, EFFECT)["code"] == "watching"
    assert effects(served) == 1


def test_a_command_that_had_begun_when_the_server_was_killed_is_unknown_and_not_carried_out_again(
    served: Served,
) -> None:
    driver = served.open(client="me")
    slow = {"id": "1", "type": "bash", "command": "echo hi >> done; echo begun; sleep 60"}
    driver.say(slow)
    driver.until("bash_execution_update")
    for _ in range(2):
        served.restart()
        answer = answered(served.attach(driver.agent, client="me"), slow)
        assert answer["success"] is False
        assert answer["code"] == "unknown"
    assert effects(served) == 1


def test_a_repetition_that_comes_while_the_first_one_works_waits_for_its_answer(served: Served) -> None:
    driver = served.open(client="me")
    slow = {"id": "1", "type": "bash", "command": "echo hi >> done; echo begun; read -t 60 line < fifo"}
    os.mkfifo(served.work / "fifo")
    driver.say(slow)
    driver.until("bash_execution_update")
    again = served.attach(driver.agent, client="me")
    again.say(slow)
    again.done("get_state")
    (served.work / "fifo").write_text("go on\n")
    assert answered(again, slow) == driver.until("response")
    assert effects(served) == 1


def test_a_command_is_refused_in_words_where_nobody_can_read_what_was_carried_out_before(served: Served) -> None:
    driver = served.open(client="me")
    answered(driver, EFFECT)
    served.kill()
    [file] = served.state.rglob("commands.jsonl")
    file.rename(file.with_name("before"))
    file.mkdir()
    served.start()
    driver = served.attach(driver.agent, client="me")
    for frame in (EFFECT, {"id": "2", "type": "get_state"}):
        answer = answered(driver, frame)
        assert (answer["success"], answer["code"]) == (False, "internal")
        assert "cannot be read" in str(answer["error"])
    file.rmdir()
    file.with_name("before").rename(file)
    assert answered(driver, EFFECT)["success"]
    assert effects(served) == 1
