"""The page in a real browser, in front of a server of the tests."""

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.serve.page.fake_server import FakeServer

FLAGS = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking"
FLAGS += " --disable-component-update --disable-sync"
# Whatever the policy had to forbid, and every notification, is written down before the page's own scripts run.
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  violations.push(`${event.violatedDirective} ${event.blockedURI}`);
});
window.notifications = [];
window.Notification = class {
  static permission = "default";
  static requestPermission() { this.permission = "granted"; return Promise.resolve("granted"); }
  constructor(title, options) { notifications.push(`${title} ${options.body}`); }
  close() { notifications.push("closed"); }
};
"""

Open = Callable[..., Page]


@pytest.fixture(scope="module")  # Two of them in one process are one too many for Playwright.
def page_browser() -> Iterator[Browser]:
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        reason = "there is no Chromium: `make .venv/.system` installs it, where that is possible"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS.split())
        yield browser
        browser.close()


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer().serving() as server:
        yield server


@pytest.fixture
def open_page(page_browser: Browser, server: FakeServer) -> Iterator[Open]:
    """Opens the page. Whatever it complains of, reaches out to or is forbidden by its policy fails the test."""
    complaints: list[str] = []
    pages: list[Page] = []

    def heard(text: str) -> None:
        # Chromium says so itself when a stream is lost or refused, or when a token is asked for.
        if not ("net::ERR" in text or "status of 401" in text or "status of 503" in text or "status of 400" in text):
            complaints.append(text)

    def start(at: str = "", token: str = "drive-token", **options: Any) -> Page:
        context = page_browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        context.set_default_timeout(10_000)
        context.add_init_script(WATCH)
        page = context.new_page()
        pages.append(page)
        page.on("console", lambda message: heard(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("popup", lambda popup: complaints.append(popup.url))
        page.on("request", lambda request: complaints.append(request.url) if not is_own(request.url, server) else None)
        page.goto(f"{server.url}/#" + "&".join(filter(None, [token and f"token={token}", at and f"agent={at}"])))
        if token:
            page.wait_for_selector(".page")
        return page

    yield start
    for page in pages:
        complaints += page.evaluate("violations")
        page.context.close()
    assert complaints == []


def is_own(url: str, server: FakeServer) -> bool:
    return url.startswith((f"{server.url}/", f"blob:{server.url}/"))
