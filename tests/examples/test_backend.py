"""The example of a backend, as a browser would use it."""

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

APP = Path(__file__).parents[2] / "examples" / "backend" / "app.py"
Connect = Callable[[], http.client.HTTPConnection]

SLEEPING = {"turns": [[{"text": "wait"}, {"call": "bash", "args": {"command": "sleep 62.1"}}], [{"text": "again"}]]}

pytestmark = pytest.mark.foreign


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[Connect]:
    (tmp_path / "script.json").write_text(json.dumps(SLEEPING))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with subprocess.Popen(
        [sys.executable, str(APP), "0", "--script", str(tmp_path / "script.json")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PATH": path, "TMPDIR": str(tmp_path)},
    ) as server:
        assert server.stdout
        assert server.stderr
        port = int(server.stdout.readline().rpartition(":")[2])
        yield lambda: http.client.HTTPConnection("127.0.0.1", port)
        server.terminate()
        assert server.stderr.read() == ""


def call(connect: Connect, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    connection = connect()
    headers = {"content-type": "application/json"}
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    response = connection.getresponse()
    text = response.read()
    connection.close()
    return response.status, json.loads(text) if text else None


def events(response: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    for line in response:
        if line.startswith(b"data: "):
            yield json.loads(line.removeprefix(b"data: "))


def prompted(connection: http.client.HTTPConnection, chat: str, message: str) -> http.client.HTTPResponse:
    headers = {"content-type": "application/json"}
    connection.request("POST", f"/chats/{chat}/prompt", json.dumps({"message": message}), headers)
    response = connection.getresponse()
    assert response.headers["content-type"].startswith("text/event-stream")
    return response


def test_a_prompt_is_streamed_aborted_and_followed_by_another(backend: Connect) -> None:
    status, created = call(backend, "POST", "/chats")
    assert status == 200
    chat = created["id"]
    connection = backend()
    kinds = []
    for event in events(prompted(connection, chat, "go")):
        kinds.append(event["type"])
        if event["type"] == "tool_execution_start":
            assert call(backend, "POST", f"/chats/{chat}/abort") == (204, None)
    connection.close()
    assert kinds[0] == "agent_start"
    assert kinds[-2:] == ["agent_end", "agent_settled"]
    assert "message_update" in kinds

    connection = backend()
    *_, last, settled = events(prompted(connection, chat, "again"))
    connection.close()
    assert settled == {"type": "agent_settled", "aborted": False}
    assert last["messages"][-1]["content"] == [{"type": "text", "text": "again"}]
    assert call(backend, "DELETE", f"/chats/{chat}") == (204, None)
    assert call(backend, "POST", f"/chats/{chat}/abort") == (404, {"detail": f"There is no chat {chat}."})


def test_a_browser_that_goes_away_aborts_the_run(backend: Connect) -> None:
    chat = call(backend, "POST", "/chats")[1]["id"]
    connection = backend()
    for event in events(prompted(connection, chat, "go")):
        if event["type"] == "tool_execution_start":
            break
    connection.close()
    connection = backend()
    *_, last, settled = events(prompted(connection, chat, "again"))
    connection.close()
    assert settled == {"type": "agent_settled", "aborted": False}
    assert last["messages"][-1]["content"] == [{"type": "text", "text": "again"}]
