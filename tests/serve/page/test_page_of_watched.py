"""The page of `linnet watch` in a real browser: agents of each protocol, live and recorded, as they are."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from linnet.capture.record import Capture
from linnet.testing.model_server import ModelServer
from tests.capture.recorded import captures
from tests.serve.watching.watching import LINNET, Watching, printed, replay
from tests.suite.real_pi import prepared_home, program

__all__ = ["captures"]
pytestmark = [pytest.mark.foreign, pytest.mark.xdist_group("browser")]  # One browser for all.
SCRIPT: Any = {
    "turns": [
        [
            {"think": "They want to know what is here."},
            {"text": "I will **look**."},
            {"call": "bash", "args": {"command": "echo from the tool"}},
        ],
        [{"text": "That is all there is."}, {"usage": {"input": 120, "output": 8}}],
    ]
}
COMMANDS = {
    "zot": (LINNET, "rpc", "--show-thinking"),
    "pi-1": (LINNET, "--mode", "rpc", "--dialect", "pi-1", "--no-session"),
    "pi": (LINNET, "--mode", "rpc", "--dialect", "pi", "--no-session"),
}
ANSWERS = {"zot": ("question", "answer", "request_id"), "pi": ("extension_ui_request", "extension_ui_response", "id")}


@pytest.fixture
def page(page_browser: Browser) -> Iterator[Page]:
    """Whatever the page complains of, or its policy forbids, fails the test."""
    context = page_browser.new_context(viewport={"width": 1100, "height": 800})
    context.set_default_timeout(20_000)
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda told: problems.append(told.text) if "Content Security Policy" in told.text else None)
    yield page
    context.close()
    assert problems == []


@pytest.mark.parametrize("name", COMMANDS)
def test_a_conversation_is_seen_as_it_happens(page: Page, tmp_path: Path, name: str) -> None:
    """The page is opened before the agent has said anything that shows which protocol it speaks."""
    (tmp_path / "script.json").write_text(json.dumps(SCRIPT))
    watching = Watching((*COMMANDS[name], "--script", "script.json", "--permission", "ask"), cwd=tmp_path)
    try:
        page.goto(watching.url)
        inner = page.locator(".inner")
        expect(inner).to_contain_text("Nothing was said yet.")
        assert watching.token not in page.url
        watching.send(b'{"id":"1","type":"prompt","message":"What is here?"}\n')
        expect(inner.locator("article.user")).to_contain_text("What is here?")
        expect(inner.locator("strong")).to_have_text("look")
        question = page.get_by_role("region", name="Allow bash?")
        expect(question).to_contain_text("echo from the tool")
        expect(question.get_by_role("button", name="Approve")).to_have_count(0)
        expect(page).to_have_title(f"(1) {tmp_path.name} – linnet")
        watching.send(answer(watching, name))
        expect(inner).to_contain_text("That is all there is.")
        expect(question).to_have_count(0)
        expect(page).to_have_title(f"{tmp_path.name} – linnet")
        expect(page.locator(".doing")).to_have_text("idle")
        expect(page.locator("textarea, .side")).to_have_count(0)
        inner.locator(".call summary").first.click()
        expect(inner.locator(".call .out")).to_contain_text("from the tool")
        said = page.locator("article").count()
        page.reload()
        expect(inner).to_contain_text("That is all there is.")
        expect(page.locator("article")).to_have_count(said)
        code, _ = watching.finish()
        assert code == 0
        expect(page.locator(".doing")).to_have_text("gone")
        expect(page.locator(".offline")).to_have_count(0)
    finally:
        watching.end()


def answer(watching: Watching, name: str) -> bytes:
    """Read up to the question, as the agent's client does, and return what allows it."""
    asks, answers, key = ANSWERS[name.split("-")[0]]
    assert watching.process.stdout
    for line in watching.process.stdout:
        told = json.loads(line)
        if told["type"] == asks:
            return json.dumps({"type": answers, key: told[key], "value": "Allow once"}).encode() + b"\n"
    raise AssertionError("nothing was asked")


@pytest.mark.parametrize("name", ["zot/compact_orphan", "pi-1.5/ext_tour", "pi-0.73/ext_tour", "pi-0.37/ext"])
def test_a_recorded_conversation_is_shown(page: Page, captures: dict[str, Capture], tmp_path: Path, name: str) -> None:
    watching = Watching(replay(tmp_path, printed(captures[name])))
    try:
        said = [
            json.loads(each.line) for each in captures[name].records if each.kind == "out" and each.line[:1] == b"{"
        ]
        users = [
            one.get("content") or one["message"]["content"]
            for one in said
            if one["type"] == "user_message" or (one["type"] == "message_end" and one["message"].get("role") == "user")
        ]
        page.goto(watching.url)
        expect(page.locator("article.user")).to_have_count(len(users))
        expect(page.locator("article.user").last).to_contain_text(first_words(users[-1]))
        expect(page.locator("article:not(.user)").last).to_be_visible()
    finally:
        watching.end()


def first_words(content: Any) -> str:
    text = content if isinstance(content, str) else next(part["text"] for part in content if part["type"] == "text")
    return str(text).strip().split("\n")[0][:40]


def test_what_is_not_kept_is_said(page: Page, tmp_path: Path) -> None:
    lines = [
        json.dumps({"type": "user_message", "content": [{"type": "text", "text": f"word {n}"}]}) for n in range(9999)
    ]
    watching = Watching(replay(tmp_path, "\n".join([*lines, ""]).encode()), ("--keep-bytes", "100000"))
    try:
        page.goto(watching.url)
        expect(page.locator("article.user").last).to_contain_text("word 9998")
        page.keyboard.press("g")
        expect(page.locator("article").first).to_contain_text("Some of what was said here is not kept any more.")
    finally:
        watching.end()


def test_todays_pi_itself_is_watched(page: Page, tmp_path: Path) -> None:
    with ModelServer() as model:
        env = {**os.environ, **prepared_home(tmp_path / "home", model.url)}
        flags = ("--mode", "rpc", "--no-session", "--provider", "ours", "--model", "scripted")
        watching = Watching((*program("pi15"), *flags), cwd=tmp_path, env=env)
        try:
            page.goto(watching.url)
            prompt = {"id": "1", "type": "prompt", "message": '!tool bash {"command":"echo from the tool"}'}
            watching.send(json.dumps(prompt).encode() + b"\n")
            inner = page.locator(".inner")
            expect(inner.locator("article.user")).to_contain_text("!tool bash", timeout=60_000)
            call = inner.locator(".call").first
            expect(call.locator(".verdict.done")).to_be_visible()
            call.locator("summary").click()
            expect(call.locator(".out")).to_contain_text("from the tool")
            expect(page.locator(".doing")).to_have_text("idle")
            expect(inner.locator(".live")).to_have_count(0)
        finally:
            watching.end()
