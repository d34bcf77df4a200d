"""The application in somebody else's backend, and by itself, without a server of ours."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import HTTPConnection
from starlette.routing import Mount
from starlette.types import Message

from linnet.errors import ConfigError
from linnet.serve.agents.host import HostOptions
from linnet.serve.http.app import App
from linnet.serve.http.http_server import listen
from linnet.serve.http.tokens import Role
from tests.serve.http.over_http import Client


@contextmanager
def running(app: Any) -> Iterator[int]:
    """Run an application with uvicorn on a free port, and return the port."""
    listening = listen("127.0.0.1", 0)
    ready = threading.Event()

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            ready.set()

    server = Server(uvicorn.Config(app, log_config=None, lifespan="on", ws="none"))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])))
    thread.start()
    try:
        assert ready.wait(60)
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def by_header(connection: HTTPConnection) -> Role | None:
    """Somebody's own way to know who asks."""
    roles: dict[str, Role] = {"alice": "drive", "bob": "watch"}
    return roles.get(connection.headers.get("x-user", ""))


async def by_header_later(connection: HTTPConnection) -> Role | None:
    await asyncio.sleep(0)
    return by_header(connection)


@pytest.mark.parametrize("authenticate", [by_header, by_header_later])
@pytest.mark.parametrize("own_lifespan", [True, False], ids=["in its lifespan", "at the first request"])
def test_it_is_mounted_with_somebodys_own_authentication(
    authenticate: Any, own_lifespan: bool, tmp_path: Path, environ: dict[str, str]
) -> None:
    app = App(HostOptions(state=str(tmp_path / "state")), authenticate=authenticate, roots=[tmp_path], environ=environ)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        if own_lifespan:
            async with app.lifespan():
                yield
        else:
            yield
            await app.close()

    with running(Starlette(routes=[Mount("/agents", app)], lifespan=lifespan)) as port:
        alice, bob, eve = (Client(port, {"X-User": name}) for name in ("alice", "bob", "eve"))
        opened = alice.post("/agents/v1/agents", {"cwd": str(tmp_path)})
        assert opened.status == 201
        agent = opened.json["agent"]["id"]
        assert bob.get(opened.headers["location"]).json["id"] == agent
        events = f"/agents/v1/agents/{agent}/events"
        with bob.stream(events) as stream:
            alice.post(f"/agents/v1/agents/{agent}/commands", {"type": "prompt", "message": "hello"})
            assert stream.until("agent_settled")
        assert bob.ask("DELETE", f"/agents/v1/agents/{agent}").error == "not_allowed"
        assert [eve.get(path).status for path in (events, "/agents/v1/nothing", "/agents/metrics")] == [401, 401, 401]
        assert eve.get("/agents/healthz").body == b"ok"
        assert (eve.get("/agents/nothing").error, alice.ask("PUT", "/agents/v1/about").error) == (
            *("unauthorized", "wrong_method"),
        )
        cookie = alice.post("/agents/v1/cookie")
        assert (cookie.status, "set-cookie" in cookie.headers) == (204, False)
    assert not (tmp_path / "state" / "drive.token").exists()


def test_by_itself_it_begins_and_closes_with_its_lifespan(tmp_path: Path, environ: dict[str, str]) -> None:
    state = tmp_path / "state"
    for _ in range(2):  # The second one finds the folder free.
        with running(App(HostOptions(state=str(state)), environ=environ)) as port:
            token = (state / "watch.token").read_text().strip()
            assert Client(port).get("/v1/agents").status == 401
            assert Client(port, {"Authorization": f"Bearer {token}"}).get("/v1/agents").json == {"agents": []}


def asked(app: App, path: str) -> tuple[int, Any]:
    """Ask an application without any server."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    async def ask() -> None:
        scope = {"type": "http", "method": "GET", "path": path, "scheme": "http", "query_string": b"", "root_path": ""}
        await app({**scope, "headers": [(b"host", b"localhost")]}, receive, send)
        await app.close()

    asyncio.run(ask())
    return sent[0]["status"], json.loads(b"".join(message.get("body", b"") for message in sent[1:]))


def test_with_tokens_that_others_know_it_answers_nothing(tmp_path: Path, environ: dict[str, str]) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    (state / "drive.token").write_text("x" * 43)
    (state / "drive.token").chmod(0o644)

    status, body = asked(App(HostOptions(state=str(state)), environ=environ), "/v1/agents")

    assert (status, body["error"]["code"]) == (503, "not_ready")


def test_a_root_that_is_none_is_refused_at_once_and_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a folder"):
        App(HostOptions(state=str(tmp_path / "state")), roots=[tmp_path / "absent"])
    assert [*tmp_path.iterdir()] == []


def test_importing_the_layer_imports_no_server_and_touches_no_file(tmp_path: Path) -> None:
    code = (
        "import sys, linnet.serve; assert not {'starlette', 'uvicorn', 'anyio'} & set(sys.modules)\n"
        "from linnet.serve import App, app; assert isinstance(app, App)\n"
        "import linnet.serve; assert linnet.serve.app is app\n"
        "try: linnet.serve.nothing\nexcept AttributeError: print('ok')"
    )
    home = tmp_path / "home"
    told = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "LINNET_HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == "ok\n"
    assert not home.exists()
