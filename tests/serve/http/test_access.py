"""Who may do what over HTTP. Without a token, with the wrong one, from elsewhere: nothing, and no hint."""

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from linnet.serve.agents.host import OpenRequest
from linnet.serve.http.guard import Limits
from tests.serve.http.conftest import Serve
from tests.serve.http.over_http import Client, Served

SECRET_PATHS = (
    "/v1",
    "/v1/",
    "/v1/agents",
    "/v1/agents/0123456789abcdef",
    "/v1/nothing",
    "/v1/openapi.json",
    "/metrics",
    "/metrics%0a",
    "/metrics%0A?x",
    "/%6detrics",
    "//metrics",
    "/v1%2fagents",
    "/V1/agents",
    "/nothing",
)


def wrong(served: Served) -> list[dict[str, str]]:
    drive = served.token("drive")
    return [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Bearer "},
        {"Authorization": f"Basic {drive}"},
        {"Authorization": f"Bearer {drive}x"},
        {"Authorization": drive},
        {"Cookie": f"linnet={drive}"},
        {"Cookie": "linnet="},
        {"X-Token": drive},
    ]


def test_without_a_token_every_path_says_the_same_and_nothing_else(served: Served, drive: Client) -> None:
    agent = drive.open(served.work)
    nobody = served.client("nobody")
    replies = [
        nobody.ask(method, path, None, headers)
        for headers in wrong(served)
        for path in (*SECRET_PATHS, f"/v1/agents/{agent}", f"/v1/agents/{agent}/events")
        for method in ("GET", "POST", "DELETE", "PATCH")
    ]
    assert {reply.status for reply in replies} == {401}
    assert {reply.body for reply in replies} == {b'{"error":{"code":"unauthorized","message":"A token is needed."}}'}
    assert {"date", "content-length"}.issuperset(
        set().union(*(reply.headers for reply in replies)) - set(replies[0].headers)
    )
    assert len({tuple(sorted({**reply.headers, "date": ""}.items())) for reply in replies}) == 1
    assert served.host.find(agent)


def test_a_token_in_the_query_is_no_token(served: Served) -> None:
    reply = served.client("nobody").get(f"/v1/agents?token={served.token('drive')}")
    assert reply.status == 401


def test_who_watches_may_read_and_ask_and_change_nothing(served: Served, drive: Client) -> None:
    agent = drive.open(served.work)
    watch = served.client("watch")

    for path in ("", f"/{agent}", f"/{agent}/snapshot"):
        assert watch.get(f"/v1/agents{path}").status == 200
    assert watch.get("/v1/about").json["role"] == "watch"
    for command in ("get_state", "get_messages", "get_session_stats", "get_available_models", "get_commands"):
        assert watch.command(agent, command).status == 200, command
    changing: dict[str, dict[str, Any]] = {
        "prompt": {"message": "x"},
        "abort": {},
        "set_model": {"provider": "anthropic", "modelId": "claude-sonnet-4-5"},
        "set_session_name": {"name": "x"},
        "new_session": {},
        "bash": {"command": "touch x"},
        "extension_ui_response": {"id": "x", "confirmed": True},
        "export_html": {},
    }
    for command, fields in changing.items():
        reply = watch.command(agent, command, **fields)
        assert (reply.status, reply.error) == (403, "not_allowed"), command
        assert command in reply.json["error"]["message"]
    assert watch.post("/v1/agents", {"cwd": str(served.work)}).error == "not_allowed"
    assert watch.ask("DELETE", f"/v1/agents/{agent}").error == "not_allowed"
    assert drive.get(f"/v1/agents/{agent}").json["prompts"] == 0
    assert not (served.work / "x").exists()


def test_who_watches_takes_no_key_from_who_drives(served: Served, drive: Client) -> None:
    agent = drive.open(served.work)
    watch, key = served.client("watch"), {"Idempotency-Key": "5f0c"}
    assert watch.command(agent, "get_state", key).status == 200
    first = drive.command(agent, "set_session_name", key, name="mine")
    assert (first.status, first.json["command"]) == (200, "set_session_name")
    assert watch.command(agent, "get_messages", key).json["command"] == "get_messages"
    assert watch.command(agent, "set_session_name", key, name="mine").error == "not_allowed"
    assert drive.command(agent, "set_session_name", key, name="mine").body == first.body


def test_a_token_becomes_a_cookie_that_scripts_cannot_read_and_that_is_not_the_token(served: Served) -> None:
    for role in ("drive", "watch"):
        client = served.client("drive" if role == "drive" else "watch")

        given = client.post("/v1/cookie")

        value, *attributes = given.headers["set-cookie"].split("; ")
        assert given.status == 204
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(attributes)
        assert "Secure" not in attributes  # It is not sent over http otherwise.
        assert served.token(role) not in value
        with_cookie = Client(served.server.port, {"Cookie": value})
        assert with_cookie.get("/v1/about").json["role"] == role
        gone = with_cookie.ask("DELETE", "/v1/cookie")
        assert (gone.status, "Max-Age=0" in gone.headers["set-cookie"]) == (204, True)
        bearer_wins = Client(served.server.port, {"Cookie": value, "Authorization": "Bearer wrong"})
        assert bearer_wins.get("/v1/about").status == 401


def test_a_page_of_another_site_gets_nothing_even_with_the_cookie(served: Served, drive: Client) -> None:
    value = drive.post("/v1/cookie").headers["set-cookie"].partition(";")[0]
    browser = Client(served.server.port, {"Cookie": value})
    body = {"cwd": str(served.work)}
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": f"http://localhost:{served.server.port + 1}"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        assert browser.ask("POST", "/v1/agents", body, headers).error == "wrong_origin"
        assert browser.ask("GET", "/v1/agents", None, headers).error == "wrong_origin"
    own = {"Origin": f"http://127.0.0.1:{served.server.port}", "Sec-Fetch-Site": "same-origin"}
    assert browser.ask("POST", "/v1/agents", body, own).status == 201


def test_another_name_that_leads_here_gets_nothing(served: Served, drive: Client) -> None:
    for name in ("evil.example", f"evil.example:{served.server.port}", "127.0.0.1:1", "localhost"):
        for path in ("/", "/healthz", "/v1/agents"):
            reply = drive.ask("GET", path, None, {"Host": name})
            assert (reply.status, reply.error) == (421, "wrong_host")
    assert drive.ask("GET", "/v1/agents", None, {"Host": f"localhost:{served.server.port}"}).status == 200


def test_a_name_that_was_given_is_served(serve: Serve) -> None:
    drive = serve(host_names=("agents.example",)).client("drive")
    assert drive.ask("GET", "/v1/about", None, {"Host": "agents.example"}).status == 200


def test_health_and_the_page_need_no_token(served: Served) -> None:
    nobody = served.client("nobody")
    assert [nobody.get(path).body for path in ("/healthz", "/readyz")] == [b"ok", b"ok"]
    page = nobody.get("/")
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'self'" in page.headers["content-security-policy"]
    again = nobody.ask("GET", "/", None, {"If-None-Match": page.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    script = nobody.get("/page/vendor/standalone.module.js")
    assert (script.status, script.headers["content-type"]) == (200, "text/javascript; charset=utf-8")


@pytest.mark.parametrize(
    "name", ["../__init__.py", "__init__.py", "%2e%2e/__init__.py", "..%2f__init__.py", "/etc/passwd", "", "vendor"]
)
def test_nothing_but_files_of_the_page_is_sent(name: str, served: Served) -> None:
    assert served.client("nobody").get(f"/page/{name}").error == "not_found"


def test_a_server_that_closes_is_not_ready(served: Served) -> None:
    served.host.drain()
    assert served.client("nobody").get("/readyz").error == "not_ready"


def test_folders_outside_of_the_roots_are_refused_by_name(served: Served, drive: Client, tmp_path: Path) -> None:
    (served.work / "link").symlink_to(tmp_path)
    for cwd in (str(tmp_path), str(served.work / "link"), str(served.work / ".."), "/", "/no/such", "work"):
        reply = drive.post("/v1/agents", {"cwd": cwd})
        assert (reply.status, reply.error) == (403, "not_allowed")
        assert cwd in reply.json["error"]["message"]
    assert drive.get("/v1/agents").json == {"agents": []}


def test_a_folder_whose_name_is_not_utf_8_is_refused_also_behind_a_link(served: Served, drive: Client) -> None:
    os.mkdir(os.fsencode(served.work) + b"/\xff")
    (served.work / "link").symlink_to(os.fsdecode(b"\xff"))
    reply = drive.post("/v1/agents", {"cwd": str(served.work / "link")})
    assert (reply.status, reply.error) == (400, "bad_input")
    assert "not UTF-8" in reply.json["error"]["message"]


def test_one_agent_with_broken_text_hides_no_other(served: Served, drive: Client) -> None:
    agents = {drive.open(served.work), drive.open(served.work)}
    served.host.find(min(agents)).record.summary.last = "half a pair: \ud83d"
    assert {each["id"] for each in drive.get("/v1/agents").json["agents"]} == agents
    with drive.stream("/v1/agents/events") as stream:
        assert {event.data["id"] for event, _ in zip(stream, agents, strict=False)} == agents


def test_without_a_root_no_agent_can_be_opened(serve: Serve) -> None:
    served = serve(roots=())
    assert served.client("drive").post("/v1/agents", {"cwd": str(served.work)}).error == "not_allowed"


@pytest.mark.parametrize(
    "flags",
    [["--api-key", "x"], ["--base-url=http://evil.example"], ["--trust"], ["-e", "x.py"], ["--session", "/etc/passwd"]],
)
def test_flags_that_are_not_listed_are_refused_by_name(flags: list[str], served: Served, drive: Client) -> None:
    reply = drive.post("/v1/agents", {"cwd": str(served.work), "flags": flags})
    assert (reply.status, reply.error) == (403, "not_allowed")
    assert flags[0].partition("=")[0] in reply.json["error"]["message"]


def test_a_permission_less_strict_than_the_servers_is_refused(environ: dict[str, str], serve: Serve) -> None:
    environ["LINNET_PERMISSION"] = "ask"
    served = serve()
    drive = served.client("drive")
    body = {"cwd": str(served.work)}
    assert drive.post("/v1/agents", {**body, "permission": "auto"}).error == "not_allowed"
    assert drive.post("/v1/agents", {**body, "flags": ["--permission=auto"]}).error == "not_allowed"
    assert drive.post("/v1/agents", {**body, "permission": "deny"}).status == 201


@pytest.mark.parametrize(
    ("command", "fields"),
    [
        ("switch_session", {"sessionPath": "/etc/passwd"}),
        ("switch_session", {"sessionPath": "other.jsonl"}),
        ("new_session", {"parentSession": "../other.jsonl"}),
        ("export_html", {"outputPath": "page.html"}),
        ("trust", {"answer": "always"}),
        ("set_thinking_level", {"level": "low", "save": True}),
    ],
)
def test_commands_with_paths_are_refused(command: str, fields: dict[str, Any], served: Served, drive: Client) -> None:
    reply = drive.command(drive.open(served.work), command, **fields)
    assert (reply.status, reply.error) == (403, "not_allowed")


@pytest.mark.parametrize("flags", [["--permission", "deny"], ["--permission", "read-only"], ["--deny", "bash:touch"]])
def test_a_shell_command_is_no_way_around_what_the_agent_itself_may_not_run(
    flags: list[str], served: Served, drive: Client
) -> None:
    request = OpenRequest(cwd=str(served.work), flags=("--mode", "rpc", *flags))
    agent = served.host.open(request).agent.id
    for private in (False, True):
        refused = drive.command(agent, "bash", command="true && touch x", excludeFromContext=private)
        assert (refused.status, refused.error) == (403, "not_allowed")
    assert not (served.work / "x").exists()
    if flags[0] == "--deny":
        assert drive.command(agent, "bash", command="true").status == 200


def test_a_body_that_is_too_large_is_refused_also_in_chunks(serve: Serve) -> None:
    served = serve(limits=Limits(body=1000))
    drive = served.client("drive")
    assert drive.post("/v1/agents", b"x" * 1001).error == "too_large"

    with socket.create_connection(("127.0.0.1", served.server.port), 60) as raw:
        head = f"POST /v1/agents HTTP/1.1\r\nHost: 127.0.0.1:{served.server.port}\r\nTransfer-Encoding: chunked\r\n"
        raw.sendall(f"{head}Authorization: Bearer {served.token('drive')}\r\n\r\n".encode())
        raw.sendall(b"1f4\r\n" + b"x" * 500 + b"\r\n" + b"1f5\r\n" + b"x" * 501 + b"\r\n")
        assert raw.recv(100).startswith(b"HTTP/1.1 413 ")


def test_headers_without_end_are_refused(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.server.port), 60) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * 70_000)
        assert raw.recv(100).startswith(b"HTTP/1.1 400 ")


def test_what_is_not_there_and_what_cannot_be_done_is_said_in_json(served: Served, drive: Client) -> None:
    nothing = drive.get("/v1/nothing")
    method = drive.ask("PATCH", "/v1/agents")
    page = drive.get("/nothing")
    assert [nothing.error, method.error, page.error] == ["not_found", "wrong_method", "not_found"]
    assert [nothing.status, method.status, page.status] == [404, 405, 404]
    assert {word.strip() for word in method.headers["allow"].split(",")} == {"GET", "HEAD", "POST"}


def test_what_breaks_is_logged_and_not_told(
    served: Served, drive: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> None:
        raise RuntimeError("a secret of the server")

    monkeypatch.setattr(served.host, "summaries", broken)
    reply = drive.get("/v1/agents")

    assert (reply.status, reply.error) == (500, "internal")
    assert b"secret" not in reply.body
    assert "a secret of the server" in caplog.text
