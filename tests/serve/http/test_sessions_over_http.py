"""Sessions over HTTP: listed, read, exported, gone on with; by id, and only those of folders under a root."""

import json
import os
from pathlib import Path

from linnet.serve.agents.host import OpenRequest
from tests.serve.http.over_http import Client, Served


def talked(served: Served, drive: Client, agent: str, message: str = "hello") -> dict[str, str]:
    """Have an agent say something, and return its summary."""
    with drive.stream(f"/v1/agents/{agent}/events") as stream:
        assert drive.command(agent, "prompt", message=message).status == 200
        stream.until("agent_settled")
    found: dict[str, str] = drive.get(f"/v1/agents/{agent}").json
    return found


def opened_elsewhere(served: Served, folder: Path) -> str:
    """Open an agent as somebody on the unix socket does, who may work anywhere."""
    folder.mkdir()
    return served.host.open(OpenRequest(dialect="pi-1", cwd=str(folder))).agent.id


def test_a_session_is_listed_read_and_exported_also_when_its_agent_is_gone(served: Served, drive: Client) -> None:
    agent = drive.open(served.work, name="a talk")
    session = talked(served, drive, agent, "<script>alert(1)</script>")["session_id"]

    for _ in range(2):
        [listed] = drive.get("/v1/sessions").json["sessions"]
        assert (listed["id"], listed["name"], listed["cwd"]) == (session, "a talk", str(served.work))
        assert listed["first"] == "<script>alert(1)</script>"
        whole = drive.get(f"/v1/sessions/{session}").json
        assert whole["id"] == session
        assert [message["role"] for message in whole["messages"]][-2:] == ["user", "assistant"]
        page = drive.get(f"/v1/sessions/{session}/export")
        assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert b"Hello from the scripted model." in page.body
        assert b"<script>alert(1)" not in page.body
        assert page.headers["content-security-policy"].startswith("sandbox allow-scripts")
        assert "allow-same-origin" not in page.headers["content-security-policy"]
        saved = drive.get(f"/v1/sessions/{session}/export?download=")
        assert saved.headers["content-disposition"].startswith("attachment; filename=")
        drive.ask("DELETE", f"/v1/agents/{agent}")


def test_an_agents_session_is_exported_once_something_was_said(served: Served, drive: Client) -> None:
    agent = drive.open(served.work)
    assert drive.get(f"/v1/agents/{agent}/export").error == "no_such_session"
    talked(served, drive, agent)
    assert b"Hello from the scripted model." in drive.get(f"/v1/agents/{agent}/export").body


def test_a_session_is_saved_by_a_name_that_any_system_can_have(served: Served, drive: Client) -> None:
    file = served.work / 'a "b"\r\nx.jsonl'
    request = OpenRequest(cwd=str(served.work), dialect="pi-1", flags=("--session", str(file)))
    agent = served.host.open(request).agent.id
    talked(served, drive, agent)
    saved = drive.get(f"/v1/agents/{agent}/export?download=")
    assert saved.headers["content-disposition"] == 'attachment; filename="linnet-session-a--b---x.html"'


def test_sessions_of_one_folder_and_no_more_than_asked_for(served: Served, drive: Client) -> None:
    (served.work / "a").mkdir()
    (served.work / "b").mkdir()
    for name in ("a", "b", "b"):
        talked(served, drive, drive.open(served.work / name))
    queries = ("", f"?cwd={served.work}/a", f"?cwd={served.work}/b", "?limit=2")
    assert [len(drive.get(f"/v1/sessions{query}").json["sessions"]) for query in queries] == [3, 1, 2, 2]
    assert drive.get("/v1/sessions?limit=0").error == "bad_input"


def test_sessions_of_other_folders_are_not_there_once_no_agent_has_them(
    served: Served, drive: Client, tmp_path: Path
) -> None:
    agent = opened_elsewhere(served, tmp_path / "elsewhere")
    session = talked(served, drive, agent)["session_id"]
    assert drive.get(f"/v1/sessions/{session}").status == 200

    drive.ask("DELETE", f"/v1/agents/{agent}")

    assert drive.get("/v1/sessions").json == {"sessions": []}
    for path in (f"/v1/sessions/{session}", f"/v1/sessions/{session}/export"):
        assert drive.get(path).error == "no_such_session"
    other = drive.open(served.work)
    assert drive.command(other, "switch_session", sessionPath=session).error == "no_such_session"
    reply = drive.post("/v1/agents", {"cwd": str(served.work), "flags": ["--session", session]})
    assert reply.error == "no_such_session"


def test_a_session_is_gone_on_with_by_its_id(served: Served, drive: Client) -> None:
    first = drive.open(served.work)
    session = talked(served, drive, first, "the first words")["session_id"]
    drive.ask("DELETE", f"/v1/agents/{first}")

    again = drive.open(served.work, flags=["--session", session])
    assert drive.get(f"/v1/agents/{again}").json["session_id"] == session
    assert "the first words" in json.dumps(drive.get(f"/v1/agents/{again}/snapshot").json["messages"])
    drive.ask("DELETE", f"/v1/agents/{again}")
    third = drive.open(served.work)
    (served.work / session).write_text("{}")  # A word that looks like an id is never taken for a file.
    assert drive.command(third, "switch_session", sessionPath=session).status == 200
    assert drive.get(f"/v1/agents/{third}").json["session_id"] == session


def test_what_is_no_id_is_refused_before_anything_is_looked_up(drive: Client) -> None:
    for word in ("..%2Fx", "a.jsonl", "%2Fetc%2Fpasswd", "a%00b"):
        assert drive.get(f"/v1/sessions/{word}").status in (403, 404)


def test_models_are_those_that_there_is_a_key_for(drive: Client) -> None:
    models = drive.get("/v1/models").json["models"]
    assert {each["provider"] for each in models} == {"anthropic"}
    assert [each["id"] for each in models if each["default"]] == ["claude-sonnet-4-5"]
    assert "x" not in {str(value) for each in models for value in each.values()}


def test_what_is_allowed_is_said(served: Served, drive: Client) -> None:
    about = drive.get("/v1/about").json
    assert about["roots"] == [os.path.realpath(served.work)]
    assert {"--model", "--thinking", "--permission"} <= set(about["flags"])
    assert "--trust" not in about["flags"]
    assert about["limits"]["body"] == 8 * 1024 * 1024


def test_agents_list_no_sessions_of_folders_that_are_under_no_root(
    served: Served, drive: Client, tmp_path: Path
) -> None:
    inside = drive.open(served.work)
    outside = opened_elsewhere(served, tmp_path / "elsewhere")
    talked(served, drive, outside, "a secret")
    talked(served, drive, inside)

    listed = drive.command(inside, "list_sessions")
    assert [each["cwd"] for each in listed.json["data"]["sessions"]] == [str(served.work)]
    for agent, everywhere in ((inside, True), (outside, False), (outside, True)):
        reply = drive.command(agent, "list_sessions", all=everywhere)
        assert (reply.status, reply.error) == (403, "not_allowed")
        assert "list_sessions" in reply.json["error"]["message"]
        assert b"secret" not in reply.body
