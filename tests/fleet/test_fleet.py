"""A door, workers and a database as real processes: agents run anywhere, and go on when what they run on is gone."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.model_server import ModelServer
from tests.fleet.fleet import Fleet
from tests.postgres.cluster import Cluster
from tests.serve.unix.serving import LINNET, Client
from tests.suite.forked import Popen

Start = Callable[..., Fleet]
CLIENT = "1e3c2d2a-9b1c-4c0e-8d4e-6f2f3c1a0b77"


@pytest.fixture
def start(server: ModelServer, postgres: Cluster) -> Iterator[Start]:
    with ExitStack() as stack:

        def started(*flags: str, workers: int = 1, **options: Any) -> Fleet:
            fleet = stack.enter_context(Fleet(server.url, postgres, *flags, **options))
            for _ in range(workers):
                fleet.add_worker()
            return fleet

        yield started


def types(client: Client) -> list[str]:
    return [frame["type"] for frame in client.seen]


def bash(command: str) -> str:
    return f"!tool bash {json.dumps({'command': command})}"


def whole(fleet: Fleet, agent: str, **said: Any) -> bytes:
    """Return what a client is told that begins at the beginning, up to now."""
    client = fleet.attach(agent, after=0, cursor=True, **said)
    client.done("get_state")
    return bytes(client.tape.record)


def test_agents_run_on_workers_and_are_driven_and_watched_at_the_door(start: Start) -> None:
    fleet = start("--permission", "auto", workers=2)
    clients = [fleet.open(cursor=True) for _ in range(4)]
    watchers = [fleet.attach(each.agent, role="watch", cursor=True, dialect="pi") for each in clients]
    for number, client in enumerate(clients):
        client.done("prompt", message=bash(f"echo {number} >> out"))
    for client in clients:
        client.until("agent_settled")
    assert sorted((fleet.work / "out").read_text().split()) == ["0", "1", "2", "3"]
    for client, watcher in zip(clients, watchers, strict=True):
        assert bytes(client.tape.record) == whole(fleet, client.agent, dialect="pi-1")
        watcher.until("agent_end")
        assert watcher.ask("prompt", message="no")["success"] is False
    assert {each["state"] for each in fleet.agents().values()} <= {"idle", "asleep"}
    assert all(each["last"] for each in fleet.agents().values())


def test_what_is_asked_before_there_is_a_worker_waits_for_one(start: Start) -> None:
    fleet = start(workers=0)
    client = fleet.open()
    client.say({"id": "1", "type": "prompt", "message": "hello"})
    fleet.add_worker()
    client.until("agent_settled")


def test_a_run_whose_worker_is_killed_goes_on_and_ends_once(start: Start) -> None:
    fleet = start("--permission", "auto", workers=0)
    first = fleet.add_worker()
    client = fleet.open(cursor=True)
    watcher = fleet.attach(client.agent, role="watch", cursor=True, dialect="pi-1")
    client.done("prompt", message=bash("echo once >> out; exec sleep 600"))
    client.until("tool_execution_start")
    while not (fleet.work / "out").exists():
        pass
    fleet.kill_worker(first)
    fleet.add_worker()
    client.until("agent_settled")
    watcher.until("agent_settled")
    assert (fleet.work / "out").read_text() == "once\n"
    assert types(client).count("agent_settled") == types(client).count("agent_end") == 1
    assert bytes(client.tape.record) == bytes(watcher.tape.record) == whole(fleet, client.agent, dialect="pi-1")


def test_a_worker_that_stood_still_writes_nothing_when_it_goes_on(start: Start) -> None:
    fleet = start("--permission", "auto", workers=0)
    first = fleet.add_worker()
    client = fleet.open(cursor=True)
    client.done("prompt", message='!loop 3 bash {"command":"echo x >> out; sleep 0.2"}')
    client.until("tool_execution_end")
    fleet.stop_worker(first)
    fleet.add_worker()
    client.until("agent_settled")
    fleet.go_on_worker(first)
    client.done("prompt", message="hello")
    client.until("agent_settled")
    assert fleet.end_worker(first) == 0
    assert types(client).count("agent_settled") == 2
    assert bytes(client.tape.record) == whole(fleet, client.agent, dialect="pi-1")


def test_a_worker_that_is_told_to_end_hands_over(start: Start) -> None:
    fleet = start("--permission", "auto", workers=0)
    first = fleet.add_worker()
    client = fleet.open()
    client.done("prompt", message='!loop 6 bash {"command":"echo x >> out; sleep 0.1"}')
    client.until("tool_execution_end")
    assert fleet.end_worker(first) == 0
    fleet.add_worker()
    client.until("agent_settled")
    assert (fleet.work / "out").read_text().split() == ["x"] * 6
    assert "may have" not in json.dumps(client.seen)


def test_a_door_that_is_killed_is_replaced_by_another_and_nothing_is_missed_or_done_twice(start: Start) -> None:
    fleet = start("--permission", "auto", "--on-detach", "keep")
    client = fleet.open(cursor=True, client=CLIENT)
    said = {"id": "once", "type": "prompt", "message": bash("echo once >> out; sleep 1; echo end")}
    client.say(said)
    client.until("tool_execution_start")
    fleet.restart()
    again = fleet.attach(client.agent, after=client.tape.seq, cursor=True, client=CLIENT, role="drive", dialect="pi-1")
    again.say(said)
    assert again.until("response")["success"] is True
    again.until("agent_settled")
    client.tape.cut()
    assert bytes(client.tape.record + again.tape.record) == whole(fleet, client.agent, dialect="pi-1")
    assert (fleet.work / "out").read_text() == "once\n"


def test_a_database_that_is_killed_and_started_again_loses_nothing(start: Start, postgres: Cluster) -> None:
    fleet = start("--permission", "auto", lease=20)
    client = fleet.open(cursor=True)
    client.done("prompt", message="!text 400 10")
    client.until("message_update")
    postgres.kill()
    postgres.start()
    client.until("agent_settled")
    assert bytes(client.tape.record) == whole(fleet, client.agent, dialect="pi-1")
    client.done("prompt", message="hello")
    client.until("agent_settled")


def test_an_agent_that_is_removed_ends_wherever_it_runs(start: Start) -> None:
    fleet = start("--permission", "auto")
    client = fleet.open(keep=False)
    client.done("prompt", message=bash("echo $$ > pid; exec sleep 600"))
    while not (fleet.work / "pid").exists() or not (fleet.work / "pid").read_text().strip():
        pass
    pid = int((fleet.work / "pid").read_text())
    other = fleet.attach(client.agent, dialect="pi-1")
    with fleet.connected() as remover:
        remover.say({"type": "agents"})
        remover.read()
    other.done("abort")
    client.close()
    while fleet.agents():
        pass
    while Path(f"/proc/{pid}").exists():
        pass


def test_a_program_that_spawns_pi_uses_the_fleet_instead(start: Start) -> None:
    fleet = start()
    command = [
        str(LINNET),
        "attach",
        "--socket",
        str(fleet.socket),
        "--open",
        "--",
        "--mode",
        "rpc",
        "--dialect",
        "pi-1",
    ]
    with Popen(command, stdin=-1, stdout=-1, cwd=fleet.work, env=fleet._env) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write(b'{"id":"1","type":"prompt","message":"hello"}\n')
        program.stdin.close()
        told = [json.loads(line)["type"] for line in program.stdout]
        assert program.wait(60) == 0
    assert told[0] == "response"
    assert told[-1] == "agent_settled"


def refused(*words: str, env: dict[str, str] | None = None) -> str:
    with Popen([str(LINNET), *words], stderr=-1, stdin=-3, stdout=-3, env={**os.environ, **(env or {})}) as program:
        assert program.stderr is not None
        said: bytes = program.stderr.read()
        assert program.wait(60) != 0
    return said.decode()


@pytest.mark.parametrize("command", ["work", "serve"])
def test_a_password_on_a_command_line_is_refused(command: str) -> None:
    said = refused(command, "--store", "postgresql://ann:secret@localhost/linnet")
    assert "seen by everybody" in said
    assert "secret" not in said


def test_a_file_with_an_address_is_its_owner_s_alone(tmp_path: Path) -> None:
    file = tmp_path / "store"
    file.write_text("postgresql://ann:secret@127.0.0.1:1/linnet\n")
    file.chmod(0o644)
    assert "chmod 600" in refused("work", "--store", str(file))
    file.chmod(0o600)
    said = refused("work", "--store", str(file))
    assert "cannot be reached" in said
    assert "secret" not in said
    assert "say where agents are kept" in refused("work", env={"LINNET_STORE": ""})


def test_a_database_that_is_not_there_is_said_at_once(postgres: Cluster) -> None:
    said = refused("work", "--store", postgres.url("nowhere"))
    assert '"nowhere" does not exist' in said


def test_the_address_is_not_handed_on_to_commands(start: Start) -> None:
    fleet = start("--permission", "auto")
    client = fleet.open()
    client.done("prompt", message=bash("env; cat /proc/$PPID/environ | tr '\\\\0' '\\\\n'"))
    client.until("agent_settled")
    assert "LINNET_STORE" not in json.dumps(client.seen)


def test_signals_end_a_worker_that_has_nothing_to_do(start: Start) -> None:
    fleet = start(workers=0)
    number = fleet.add_worker()
    fleet.open().done("get_state")
    os.kill(fleet.workers[number].pid, signal.SIGINT)
    assert fleet.workers.pop(number).wait(60) == 0
