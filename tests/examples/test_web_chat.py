"""The example of a web chat: as a program uses it, and in a real browser."""

import base64
import http.client
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Route, sync_playwright

APP = Path(__file__).parents[2] / "examples" / "web_chat" / "app.py"
SCRIPT = {"turns": [[{"text": "Hello from the agent."}]], "loop": True}


@contextmanager
def chat(folder: Path) -> Iterator[int]:
    """Run the example, and return its port."""
    (folder / "script.json").write_text(json.dumps(SCRIPT))
    env = {**os.environ, "LINNET_HOME": str(folder / "home")}
    command = [sys.executable, str(APP), "0", "--script", str(folder / "script.json")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, env=env, stdout=pipe, stderr=pipe, text=True) as server:
        assert server.stdout
        assert server.stderr
        try:
            yield int(server.stdout.readline().rpartition(":")[2])
        finally:
            server.terminate()
        assert server.stderr.read() == ""


def ask(port: int, path: str, user: str = "", body: Any = None, **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    named = {"authorization": f"Basic {base64.b64encode(user.encode()).decode()}"} if user else {}
    sent = None if body is None else json.dumps(body)
    connection.request("GET" if body is None else "POST", path, sent, {**named, **headers})
    response = connection.getresponse()
    try:
        return response.status, response.read()
    finally:
        connection.close()


def told(port: int, agent: str, user: str, after: int) -> list[dict[str, Any]]:
    """Return the events after a number, up to the end of what runs."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    named = {"authorization": f"Basic {base64.b64encode(user.encode()).decode()}"}
    connection.request("GET", f"/agents/v1/agents/{agent}/events?from={after}", None, named)
    response = connection.getresponse()
    seen: list[dict[str, Any]] = []
    while not seen or seen[-1]["type"] != "agent_settled":
        line = response.readline()
        assert line, seen
        if line.startswith(b"data: "):
            seen.append(json.loads(line.removeprefix(b"data: ")))
    connection.close()
    return seen


def test_a_user_drives_an_agent_of_their_own_and_knows_of_no_other(tmp_path: Path) -> None:
    ann, bob = "ann:sunshine", "bob:moonlight"
    with chat(tmp_path) as port:
        for path in ("/", "/me", "/agents/v1/agents"):
            assert ask(port, path)[0] == ask(port, path, "ann:wrong")[0] == 401
        assert ask(port, "/", ann)[0] == 200
        mine, theirs = (str(json.loads(ask(port, "/me", who)[1])["agent"]) for who in (ann, bob))
        assert mine != theirs
        command = {"type": "follow_up", "message": "hi"}
        for _ in range(2):  # A message that is sent again is not said twice.
            sent = ask(port, f"/agents/v1/agents/{mine}/commands", ann, command, **{"Idempotency-Key": "1"})
            assert sent[0] == 200
        events = told(port, mine, ann, 0)
        assert [each["type"] for each in events].count("agent_start") == 1
        assert "Hello from the agent." in json.dumps(events)
        assert ask(port, f"/agents/v1/agents/{mine}/snapshot", bob)[0] == 401
        assert ask(port, "/agents/v1/agents", ann)[0] == 401

    with chat(tmp_path) as port:  # After a restart it is there again, with all that was told.
        assert json.loads(ask(port, "/me", ann)[1]) == {"agent": mine}
        assert told(port, mine, ann, 0) == events


@pytest.mark.foreign
@pytest.mark.xdist_group("browser")
def test_the_page_shows_what_is_said_and_goes_on_after_a_reload(tmp_path: Path) -> None:
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None and not os.environ.get("CI"):
        pytest.skip("there is no Chromium: `make .venv/.system` installs it, where that is possible")
    with chat(tmp_path) as port, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--headless", "--no-sandbox", "--disable-gpu"])
        who = {"username": "ann", "password": "sunshine"}
        page = browser.new_context(http_credentials=who).new_page()  # type: ignore[arg-type]
        held: list[Route] = []
        page.route("**/me", lambda route: held.append(route), times=1)
        with page.expect_request("**/me"):
            page.goto(f"http://127.0.0.1:{port}/")
        page.fill("input", "<b>hi</b>")
        page.click("button")  # Before the page knows whom to send it to.
        held[0].continue_()
        page.wait_for_selector(".reply:has-text('Hello from the agent.')")
        page.reload()
        page.wait_for_selector(".reply:has-text('Hello from the agent.')")
        assert page.locator("p").all_text_contents() == ["<b>hi</b>", "Hello from the agent."]
        browser.close()
