"""Agents over HTTP: opened, driven and followed, by real requests to real agents."""

import json
import os
from collections import Counter
from http.client import HTTPConnection
from pathlib import Path

import pytest

from linnet.serve.agents.attachment import Attachment
from linnet.serve.http.guard import Limits
from linnet.testing.model_server import ModelServer
from tests.serve.http.conftest import Serve
from tests.serve.http.over_http import Client, Served


def test_an_agent_is_opened_prompted_followed_and_removed(served: Served, drive: Client) -> None:
    opened = drive.post("/v1/agents", {"cwd": str(served.work), "name": "first", "thinking": "off"})

    assert opened.status == 201
    agent = opened.json["agent"]["id"]
    assert opened.headers["location"] == f"/v1/agents/{agent}"
    assert opened.json["agent"]["cwd"] == str(served.work)
    with drive.stream(f"/v1/agents/{agent}/events") as stream:
        answer = drive.command(agent, "prompt", id="1", message="hello")
        told = stream.until("agent_settled")

    assert answer.status == 200
    assert answer.json == {
        "id": "1",
        "type": "response",
        "command": "prompt",
        "success": True,
        "data": {"disposition": "started"},
    }
    said = [event.data for event in told if event.data["type"] == "message_end"]
    assert said[-1]["message"]["content"] == [{"type": "text", "text": "Hello from the scripted model."}]
    numbers = [event.id for event in told if event.id is not None]
    assert numbers == sorted(set(numbers))
    shown = drive.get(f"/v1/agents/{agent}").json
    assert (shown["prompts"], shown["name"], shown["last"]) == (1, "first", "Hello from the scripted model.")
    assert [each["id"] for each in drive.get("/v1/agents").json["agents"]] == [agent]
    assert drive.ask("DELETE", f"/v1/agents/{agent}").status == 204
    assert drive.get(f"/v1/agents/{agent}").error == "no_such_agent"
    assert drive.get("/v1/agents").json == {"agents": []}
    assert Path(shown["session_file"]).exists()


def test_a_stream_goes_on_after_the_last_number_that_was_seen(served: Served, drive: Client) -> None:
    agent = drive.open(served.work)
    path = f"/v1/agents/{agent}/events"
    drive.command(agent, "prompt", message="!text 40")
    with drive.stream(f"{path}?from=0") as whole:
        everything = whole.until("agent_settled")
    numbered = [at for at, event in enumerate(everything) if event.id is not None]

    for cut in (numbered[0], numbered[len(numbered) // 2], numbered[-2]):
        seen = everything[cut].id
        with drive.stream(path, Last_Event_ID=str(seen)) as rest:
            assert rest.until("agent_settled") == everything[cut + 1 :]
        with drive.stream(f"{path}?from=0", Last_Event_ID=str(seen)) as rest:  # The header wins.
            assert rest.until("agent_settled") == everything[cut + 1 :]


def test_a_stream_begins_with_a_hint_and_says_nothing_of_the_past_unasked(served: Served, drive: Client) -> None:
    agent = drive.open(served.work)
    with drive.stream(f"/v1/agents/{agent}/events") as first:
        drive.command(agent, "prompt", message="one")
        first.until("agent_settled")
        assert first.raw.startswith(b"retry: 1000\n\n")
    with drive.stream(f"/v1/agents/{agent}/events") as second:
        drive.command(agent, "prompt", message="two")
        told = json.dumps([event.data for event in second.until("agent_settled")])
    assert "two" in told
    assert '"one"' not in told.partition("agent_end")[0]


def test_clients_of_one_agent_speak_different_dialects(served: Served, drive: Client) -> None:
    agent = drive.open(served.work)
    with (
        drive.stream(f"/v1/agents/{agent}/events?dialect=zot") as zot,
        drive.stream(f"/v1/agents/{agent}/events") as pi,
    ):
        path = f"/v1/agents/{agent}/commands?dialect=zot"
        answer = drive.post(path, {"id": 7, "type": "prompt", "message": "hello"})
        assert zot.until("done")
        assert pi.until("agent_settled")
    assert (answer.status, answer.json["id"], answer.json["success"]) == (200, 7, True)


def test_a_command_that_is_refused_is_a_bad_request_with_the_responses_words(served: Served, drive: Client) -> None:
    agent = drive.open(served.work)

    unknown = drive.command(agent, "no_such_command", id="x")
    no_json = drive.post(f"/v1/agents/{agent}/commands", b"{")
    refused = drive.command(agent, "set_model", provider="anthropic", modelId="no-such-model")

    assert [unknown.status, no_json.status, refused.status] == [400, 400, 400]
    assert (unknown.json["id"], unknown.json["success"]) == ("x", False)
    assert "no-such-model" in refused.json["error"]


def test_json_of_several_lines_is_one_command(served: Served, drive: Client) -> None:
    agent = drive.open(served.work)
    reply = drive.post(f"/v1/agents/{agent}/commands", b'{\r\n  "id": [1,\n 2],\n  "type": "get_state"\n}\n')
    assert (reply.status, reply.json["id"], reply.json["success"]) == (200, [1, 2], True)


def test_a_command_with_a_key_is_carried_out_once(served: Served, drive: Client) -> None:
    agent = drive.open(served.work)
    key = {"Idempotency-Key": "5f0c"}
    with drive.stream(f"/v1/agents/{agent}/events") as stream:
        first = drive.command(agent, "prompt", key, id="1", message="hello")
        stream.until("agent_settled")
    again = drive.command(agent, "prompt", key, id="1", message="hello")

    assert (first.status, again.status, again.body) == (200, 200, first.body)
    assert drive.get(f"/v1/agents/{agent}").json["prompts"] == 1
    other = drive.command(agent, "prompt", {"Idempotency-Key": "5f0d"}, id="1", message="hello")
    assert other.status == 200
    assert drive.command(agent, "prompt", {"Idempotency-Key": "k" * 300}, message="x").error == "bad_input"


def test_a_snapshot_has_messages_and_where_they_begin(served: Served, drive: Client) -> None:
    agent = drive.open(served.work)
    with drive.stream(f"/v1/agents/{agent}/events") as stream:
        drive.command(agent, "prompt", message="hello")
        last = stream.until("agent_settled")[-1]

    whole = drive.get(f"/v1/agents/{agent}/snapshot").json
    end = drive.get(f"/v1/agents/{agent}/snapshot?last=1").json
    before = drive.get(f"/v1/agents/{agent}/snapshot?last=1&before={whole['total'] - 1}").json

    assert whole["seq"] == last.id
    assert (whole["first"], whole["total"], whole["open"]) == (0, len(whole["messages"]), [])
    assert whole["messages"][-1]["role"] == "assistant"
    assert end["messages"] == whole["messages"][-1:]
    assert (end["first"], before["first"]) == (whole["total"] - 1, whole["total"] - 2)
    assert before["messages"] == whole["messages"][-2:-1]


def test_what_is_in_progress_is_in_the_snapshot(served: Served, drive: Client, server: ModelServer) -> None:
    agent = drive.open(served.work)
    with drive.stream(f"/v1/agents/{agent}/events") as stream:
        drive.command(agent, "prompt", message="!gate held")
        stream.until("message_update")
        snapshot = drive.get(f"/v1/agents/{agent}/snapshot").json
        server.release("held")
        stream.until("agent_settled")

    assert snapshot["open"][0]["type"] == "agent_start"
    assert "message_start" in [line["type"] for line in snapshot["open"]]


def test_summaries_of_all_agents_come_first_and_then_what_changes(served: Served, drive: Client) -> None:
    one = drive.open(served.work)
    with drive.stream("/v1/agents/events") as stream:
        told = iter(stream)
        first = next(told)
        two = drive.open(served.work, name="second")
        while (event := next(told)).data["id"] != two:
            pass
        drive.command(two, "prompt", message="hello")
        while event.data["id"] != two or event.data["last"] != "Hello from the scripted model.":
            event = next(told)
        drive.ask("DELETE", f"/v1/agents/{one}")
        while event.name != "gone":
            event = next(told)

    assert (first.name, first.data["id"], first.data["state"]) == ("agent", one, "idle")
    assert event.data == {"id": one}


def test_a_stream_ends_with_its_agent(served: Served, drive: Client) -> None:
    agent = drive.open(served.work)
    with drive.stream(f"/v1/agents/{agent}/events") as stream:
        assert drive.ask("DELETE", f"/v1/agents/{agent}").status == 204
        assert [*stream] == []


def test_streams_are_bounded(serve: Serve) -> None:
    from linnet.serve.http.guard import Limits

    drive = serve(limits=Limits(streams=1)).client("drive")
    with drive.stream("/v1/agents/events"):
        refused = drive.get("/v1/agents/events")
    assert (refused.status, refused.error) == (503, "too_many_streams")


def test_the_server_stops_while_streams_are_open_and_one_does_not_read(served: Served, drive: Client) -> None:
    agent = drive.open(served.work)
    with drive.stream("/v1/agents/events") as idle, drive.stream(f"/v1/agents/{agent}/events"):
        drive.command(agent, "prompt", message="!text 2000")
        served.server.stop()
        assert [event.data["id"] for event in idle] != []


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("dialect=klingon", "one of zot, pi, pi-legacy, pi-0.73, pi-0.87, pi-1."),
        ("dialect=klingon", "dialect"),
        ("from=-1", "from"),
        ("from=x", "from"),
        ("from=1&from=2", "from"),
        ("form=1", "form"),
    ],
)
def test_parameters_that_make_no_sense_are_refused_by_name(
    query: str, name: str, served: Served, drive: Client
) -> None:
    reply = drive.get(f"/v1/agents/{drive.open(served.work)}/events?{query}")
    assert (reply.status, reply.error) == (400, "bad_input")
    assert f" {name} " in reply.json["error"]["message"] + " "


def test_a_last_event_id_that_is_no_number_is_refused(served: Served, drive: Client) -> None:
    agent = drive.open(served.work)
    assert drive.ask("GET", f"/v1/agents/{agent}/events", None, {"Last-Event-ID": "x"}).error == "bad_input"


def test_an_agent_that_is_asked_for_twice_by_one_name_is_opened_once(served: Served, drive: Client) -> None:
    body, key = {"cwd": str(served.work)}, {"Idempotency-Key": "a1"}

    first, again = (drive.post("/v1/agents", body, key) for _ in range(2))
    other = drive.post("/v1/agents", {**body, "name": "x"}, key)
    failed = [drive.post("/v1/agents", {**body, "provider": "no-such"}, {"Idempotency-Key": "a2"}) for _ in range(2)]

    assert (again.status, again.json["agent"]["id"]) == (201, first.json["agent"]["id"])
    assert (other.status, other.error) == (409, "reused")
    assert [reply.error for reply in failed] == ["unknown_provider"] * 2
    assert len(drive.get("/v1/agents").json["agents"]) == 1


def test_an_agent_that_was_opened_by_a_name_is_found_by_it_after_a_restart(serve: Serve) -> None:
    served = serve()
    drive = served.client("drive")
    body, key = {"cwd": str(served.work)}, {"Idempotency-Key": "a1"}
    first = drive.post("/v1/agents", body, key).json
    served.server.stop()
    served.host.close()
    drive = serve().client("drive")
    again = drive.post("/v1/agents", body, key)
    assert (again.status, again.json["agent"]["id"]) == (201, first["agent"]["id"])
    assert again.json["remarks"] == first["remarks"]
    assert drive.post("/v1/agents", {**body, "name": "x"}, {"Idempotency-Key": "a1"}).error == "reused"
    assert len(drive.get("/v1/agents").json["agents"]) == 1


def test_a_key_that_named_another_command_is_refused(served: Served, drive: Client) -> None:
    agent, key = drive.open(served.work), {"Idempotency-Key": "k"}
    assert drive.command(agent, "set_session_name", key, name="one").status == 200
    reply = drive.command(agent, "set_session_name", key, name="two")
    assert (reply.status, reply.json["success"], reply.json["code"]) == (400, False, "reused")
    assert drive.get(f"/v1/agents/{agent}").json["name"] == "one"


def test_a_stream_on_which_nothing_comes_says_that_it_lives(serve: Serve) -> None:
    served = serve(heartbeat=0.01)
    drive = served.client("drive")
    with drive.stream(f"/v1/agents/{drive.open(served.work)}/events") as stream:
        lines = [stream.response.readline() for _ in range(6)]
    assert lines == [b"retry: 1000\n", b"\n", b":\n", b"\n", b":\n", b"\n"]


def test_a_client_that_does_not_read_is_not_read_for_and_misses_nothing(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serve(limits=Limits(unread_seconds=0.01))  # It is for answers that end.
    drive = served.client("drive")
    taken: Counter[Attachment] = Counter()
    take = Attachment.take

    def counting(attachment: Attachment) -> bytes | None:
        found = take(attachment)
        taken[attachment] += len(found or b"")
        return found

    monkeypatch.setattr(Attachment, "take", counting)
    agent = drive.open(served.work)
    path = f"/v1/agents/{agent}/events?dialect=pi&from=0"  # Each update has the whole message, twice.
    with drive.stream(path) as slow, drive.stream(path) as fast:
        drive.command(agent, "prompt", message="!text 2200")
        everything = fast.until("agent_end")
        assert max(taken.values()) > 24 * 1024 * 1024
        assert min(taken.values()) < 16 * 1024 * 1024  # What the kernel buffers.
        assert slow.until("agent_end") == everything
        assert slow.raw == fast.raw


def test_a_request_whose_client_is_gone_is_not_in_flight_any_more(served: Served, drive: Client) -> None:
    agent = drive.open(served.work)
    os.mkfifo(served.work / "pipe")
    connection = HTTPConnection("127.0.0.1", served.server.port, timeout=60)
    command = json.dumps({"type": "bash", "command": "echo begun > pipe; sleep 1000"})
    connection.request("POST", f"/v1/agents/{agent}/commands", command, dict(drive.headers))
    assert (served.work / "pipe").read_text() == "begun\n"
    assert b"linnet_http_requests 2\n" in drive.get("/metrics").body
    connection.close()
    while b"linnet_http_requests 1\n" not in drive.get("/metrics").body:
        pass
    drive.command(agent, "abort_bash")
