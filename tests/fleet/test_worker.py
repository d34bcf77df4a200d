"""Workers of agents on a depot: they carry out commands, are lost, and others go on."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from linnet.core.fleet.records import Kind
from linnet.depot.memory import MemoryDepot
from linnet.testing.model_server import ModelServer
from tests.fleet.bench import Bench


@pytest.fixture
def bench(tmp_path: Path, server: ModelServer) -> Iterator[Bench]:
    made = Bench(MemoryDepot(), tmp_path, server)
    yield made
    made.close()


def tool(name: str, **args: str) -> str:
    return f"!tool {name} {json.dumps(args)}"


def results(bench: Bench) -> list[str]:
    said = [message for message in bench.messages() if message["role"] == "toolResult"]
    return ["".join(part["text"] for part in message["content"]) for message in said]


def roles(bench: Bench) -> list[str]:
    return [message["role"] for message in bench.messages()]


def test_a_prompt_is_answered_told_and_kept(bench: Bench) -> None:
    bench.add()
    bench.worker("one")
    assert bench.answer(bench.ask(type="prompt", message="hello"))["success"] is True
    bench.settled()
    assert roles(bench) == ["system", "user", "assistant"]
    assert bench.types().count("agent_end") == 1
    assert bench.answer(bench.ask(type="get_state"))["data"]["messageCount"] == 3
    assert bench.record().summary.last == "Hello from the scripted model."
    assert (bench.shown().owner, bench.shown().working) == ("one", False)


def test_what_waits_is_carried_out_in_its_order_by_whoever_comes(bench: Bench) -> None:
    bench.add()
    names = [bench.ask(type="set_session_name", message="", name=str(number)) for number in range(20)]
    state = bench.ask(type="get_state")
    bench.worker()
    bench.answer(state)
    told = [each.name for row in bench.depot.told("a", 0, 1000) for each in row.answers]
    assert told == [*names, state]


def test_a_call_that_a_lost_worker_had_begun_is_unknown_and_not_run_again(bench: Bench) -> None:
    bench.add()
    one = bench.worker("one")
    bench.ask(type="prompt", message=tool("bash", command="echo once >> out; exec sleep 600"))
    bench.until((bench.folder / "out").exists)
    bench.lose(one)
    bench.worker("two")
    bench.settled()
    assert (bench.folder / "out").read_text() == "once\n"
    (result,) = results(bench)
    assert "may have" in result
    assert bench.types().count("agent_settled") == 1
    assert roles(bench) == ["system", "user", "assistant", "toolResult", "assistant"]


def test_a_reply_that_was_being_said_is_asked_for_again(bench: Bench) -> None:
    bench.add()
    one = bench.worker("one")
    bench.ask(type="prompt", message="!gate late")
    bench.until_told("message_update")
    bench.lose(one)
    bench.server.release("late")
    bench.worker("two")
    bench.settled()
    assert len(bench.server.requests) == 2
    assert roles(bench) == ["system", "user", "assistant"]
    assert bench.types().count("agent_settled") == 1


def test_a_worker_that_is_told_to_end_hands_over_after_the_step(bench: Bench) -> None:
    bench.add()
    one = bench.worker("one")
    bench.ask(type="prompt", message='!loop 6 bash {"command":"echo x >> out"}')
    bench.until((bench.folder / "out").exists)
    assert one.drain(60)
    assert bench.shown().owner == ""
    bench.worker("two")
    bench.settled()
    assert (bench.folder / "out").read_text().split() == ["x"] * 6
    assert not any("may have" in result for result in results(bench))
    assert bench.types().count("agent_settled") == 1


def test_an_approval_that_was_asked_for_by_one_worker_is_answered_to_another(bench: Bench) -> None:
    bench.add(permission="ask")
    one = bench.worker("one")
    bench.ask(type="prompt", message=tool("bash", command="echo ran >> out"))
    (asked,) = bench.until_told("extension_ui_request")
    bench.lose(one)
    bench.worker("two")
    bench.ask(type="extension_ui_response", name=asked["id"], value="Allow once", confirmed=True)
    bench.settled()
    assert (bench.folder / "out").read_text() == "ran\n"
    assert bench.types().count("agent_settled") == 1


def test_a_folder_that_is_not_there_is_said_to_whoever_asks(bench: Bench) -> None:
    bench.add(cwd=str(bench.folder / "not"))
    bench.worker()
    answer = bench.answer(bench.ask(type="get_state"))
    assert answer["success"] is False
    assert "not" in answer["error"]


def test_a_worker_lets_agents_work_in_its_folders_only(bench: Bench) -> None:
    bench.add()
    (bench.folder / "other").mkdir()
    bench.worker(roots=(str(bench.folder / "other"),))
    answer = bench.answer(bench.ask(type="get_state"))
    assert answer["success"] is False
    assert "--root" in answer["error"]


def test_a_snapshot_says_how_an_agent_is_where_its_answer_stands(bench: Bench) -> None:
    bench.add()
    bench.worker()
    bench.ask(type="prompt", message="hello")
    bench.settled()
    whole = bench.aside("snapshot", b'{"last":1,"whole":true}')["said"]
    assert (len(whole["messages"]), whole["total"], whole["open"]) == (1, 3, [])
    assert bench.aside("snapshot", b"{}")["said"]["type"] == "snapshot"
    assert bench.aside("snapshot", b"not JSON")["error"]


def test_what_an_agent_may_not_run_is_known_without_asking_it(bench: Bench) -> None:
    bench.add(permission="read-only")
    bench.worker()
    call = b'{"id":"","name":"%s","args":{"command":"ls","path":"a"}}'
    assert bench.aside("denies", call % b"bash")["said"] is True
    assert "said" not in bench.aside("denies", call % b"read") or not bench.aside("denies", call % b"read")["said"]


@pytest.mark.parametrize("kind", ["abort", "end_input"])
def test_what_runs_is_ended_for_a_client_that_is_gone(bench: Bench, kind: Kind) -> None:
    bench.add()
    bench.worker()
    bench.ask(type="prompt", message="!hang")
    bench.until_told("message_start", times=3)
    bench.aside(kind)
    bench.settled()


def test_tools_of_a_connection_go_when_it_goes(bench: Bench) -> None:
    bench.add()
    bench.worker()
    tool = {"name": "lookup", "description": "Look up.", "inputSchema": {"type": "object"}}
    bench.answer(bench.ask(type="set_tools", tools=[tool]))
    bench.ask(type="prompt", message="hello")
    bench.settled()
    bench.aside("forget", client="")
    bench.ask(type="prompt", message="hello again")
    bench.settled(times=2)
    offered = [[each["name"] for each in request.body["tools"]] for request in bench.server.requests]
    assert ["lookup" in names for names in offered] == [True, False]
