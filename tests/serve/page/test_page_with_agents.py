"""The page in front of the real server, with an agent that really works: nothing here is a fake but its model."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from linnet.serve.agents.host import Host, HostOptions
from linnet.serve.http.http_server import HttpOptions, HttpServer, http_server

pytestmark = [pytest.mark.foreign, pytest.mark.xdist_group("browser")]  # One browser for all.


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    (tmp_path / "work").mkdir()
    usual = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environ = {**usual, "LINNET_PROVIDER": "scripted", "LINNET_HOME": str(tmp_path / "home")}
    host = Host(HostOptions(state=str(tmp_path / "state")), environ)
    host.begin()
    yield host
    host.close()


def started(host: Host, tmp_path: Path, port: int = 0) -> HttpServer:
    options = HttpOptions(address=f"127.0.0.1:{port}", state=str(tmp_path / "state"), roots=(str(tmp_path / "work"),))
    server = http_server(host, options)
    server.begin()
    return server


def approve(page: Page, tool: str) -> None:
    question = page.get_by_role("region", name=f"Allow {tool}?")
    expect(question).to_be_visible()
    question.get_by_role("button", name="Approve").click()


def test_an_agent_is_begun_asked_answered_branched_and_closed(
    page_browser: Browser, host: Host, tmp_path: Path
) -> None:
    server = started(host, tmp_path)
    token = (tmp_path / "state" / "drive.token").read_text().strip()
    context = page_browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(20_000)
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("dialog", lambda dialog: dialog.accept())
    page.on("console", lambda told: problems.append(told.text) if "Content Security Policy" in told.text else None)
    try:
        page.goto(f"{server.url}/#token={token}")
        expect(page.get_by_text("There are no agents yet.")).to_be_visible()
        page.keyboard.press("n")
        page.get_by_label("Folder").fill(str(tmp_path / "work"))
        page.get_by_label("What should it do?").fill("Write a small program and run it.")
        page.get_by_label("Permission").select_option("ask")
        page.get_by_role("button", name="Begin").click()
        approve(page, "write")
        approve(page, "bash")
        expect(page.get_by_role("region", name="Allow edit?").locator(".l.del")).to_have_text("-name = sys.argv[1]")
        # The server's connections go while the agent asks, and the page finds the way back by itself.
        server.stop()
        expect(page.locator(".conversation .offline")).to_be_visible()
        server = started(host, tmp_path, server.port)
        expect(page.locator(".conversation .offline")).to_have_count(0, timeout=30_000)
        approve(page, "edit")
        approve(page, "bash")
        inner = page.locator(".inner")
        expect(inner).to_contain_text("Nothing is left to do.")
        expect(page).to_have_title("work – linnet")
        whole = inner.inner_text()
        page.reload()
        expect(inner).to_contain_text("Nothing is left to do.")
        # What was told bit by bit is what the snapshot tells at once, but for the seconds.
        assert re.sub(r"[\d.]+ s", "", inner.inner_text()) == re.sub(r"[\d.]+ s", "", whole)
        first = page.locator("article.user")
        first.hover()
        first.get_by_role("button", name="Branch").click()
        expect(page.get_by_label("What to say to the agent")).to_have_value("Write a small program and run it.")
        expect(page.locator("article.user")).to_have_count(0)
        page.keyboard.press("Escape")
        page.keyboard.press("i")
        page.get_by_role("button", name="Close the agent").click()
        expect(page.get_by_text("There are no agents yet.")).to_be_visible()
        assert problems == []
    finally:
        context.close()
        server.stop()
