"""The page in a real browser: what it shows, what it sends, and that nothing is lost when the connection is."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.export.conftest import HOSTILE
from tests.serve.page.conversations import (
    BEGINS,
    call,
    long,
    permission,
    png,
    reply,
    result,
    said,
    text,
    update,
    user,
    workplace,
)
from tests.serve.page.fake_server import NOW, FakeServer

PHONE = {"width": 375, "height": 740}
ALLOW = {"type": "extension_ui_response", "value": "Allow once"}
DENY = {"type": "extension_ui_response", "value": "Deny"}

Open = Callable[..., Page]

pytestmark = [pytest.mark.foreign, pytest.mark.xdist_group("browser")]  # One browser for all.


def names(page: Page) -> list[str]:
    found: list[str] = page.eval_on_selector_all(".row", "all => all.map(row => row.dataset.agent)")
    return found


def ready(page: Page, question: str) -> None:
    page.wait_for_selector(f"[data-question='{question}'][data-ready=yes]")


def overflow(page: Page) -> int:
    wide: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return wide


def said_to(server: FakeServer) -> list[tuple[str, dict[str, Any]]]:
    return [(id, told) for id, told in server.commands if not told["type"].startswith("get_")]


def wait_for(page: Page, check: Callable[[], bool]) -> None:
    """Wait for something that only the server sees."""
    for _ in range(200):
        if check():
            return
        page.wait_for_timeout(25)
    raise AssertionError("it never happened")


def test_a_token_in_the_address_becomes_a_cookie_and_leaves_the_address(open_page: Open, server: FakeServer) -> None:
    workplace(server)
    page = open_page("kettle")
    expect(page.get_by_role("main")).to_contain_text("The limiter is fixed")
    assert page.url == f"{server.url}/#/agent/kettle"
    page.reload()
    expect(page.get_by_role("main")).to_contain_text("The limiter is fixed")
    assert not [request for request in server.requests if "drive-token" in request]


def test_without_a_token_the_page_asks_for_one(open_page: Open, server: FakeServer) -> None:
    server.add("one")
    page = open_page(token="")
    page.get_by_label("Token").fill("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("That token is not known here.")
    page.get_by_label("Token").fill("watch-token")
    page.keyboard.press("Enter")
    expect(page.locator(".row")).to_have_count(1)


def test_those_that_need_me_come_first_with_all_there_is_to_know(open_page: Open, server: FakeServer) -> None:
    workplace(server)
    page = open_page()
    expect(page.locator(".row")).to_have_count(7)
    assert names(page) == ["kettle", "docs", "parser", "site", "broken", "tools", "old"]
    expect(page.get_by_text("2 agents wait for you.").first).to_be_visible()
    kettle = page.locator("[data-agent=kettle]")
    for words in ("The limiter and the clock", "waiting for you", "/src/kettle", "922k tokens · $1.42", "here is the"):
        expect(kettle).to_contain_text(words)
    expect(kettle.locator(".diff .add")).to_contain_text("clock=time.monotonic")
    expect(page.locator("[data-agent=docs] .cmd pre")).to_have_text("npm publish --access public\n")
    expect(page.locator("[data-agent=site] .doing")).to_have_text(re.compile(r"bash\s+npm test -- --watch=false"))
    expect(page.locator("[data-agent=broken]")).to_contain_text("the key is not valid")
    server.change("tools", waiting=[permission("q3", "bash", {"command": "ls"}, "ls")], state="waiting", since=NOW + 9)
    expect(page.locator(".row").nth(2)).to_have_attribute("data-agent", "tools")
    server.remove("old")
    expect(page.locator(".row")).to_have_count(6)


def test_the_number_that_waits_is_in_the_title_and_the_icon(open_page: Open, server: FakeServer) -> None:
    workplace(server)
    page = open_page()
    expect(page).to_have_title("(2) linnet")
    icon = page.locator("link[rel=icon]")
    expect(icon).to_have_attribute("data-number", "2")
    expect(icon).to_have_attribute("href", re.compile("^blob:"))
    server.change("kettle", waiting=[], state="working")
    server.change("docs", waiting=[], state="working")
    expect(page).to_have_title("linnet")
    expect(icon).to_have_attribute("data-number", "0")
    expect(page.locator("#voice")).to_have_text("No agent waits for you.")


def test_there_are_notifications_when_they_were_asked_for_and_more_agents_wait(
    open_page: Open, server: FakeServer
) -> None:
    server.add("one")
    page = open_page()
    page.evaluate("document.hasFocus = () => false")
    waits: Any = [permission("q1", "bash", {"command": "ls"}, "ls")]
    server.change("one", waiting=waits, state="waiting")
    expect(page).to_have_title("(1) linnet")
    assert page.evaluate("notifications") == []
    server.change("one", waiting=[], state="idle")
    expect(page).to_have_title("linnet")
    page.get_by_role("button", name="Notifications").click()
    expect(page.get_by_role("button", name="Notifications")).to_have_attribute("aria-pressed", "true")
    server.change("one", waiting=waits, state="waiting")
    expect(page).to_have_title("(1) linnet")
    for number in range(3):
        server.change("one", last=f"word {number}")
    expect(page.locator("[data-agent=one]")).to_contain_text("word 2")
    assert page.evaluate("notifications") == ["1 agent waits for you. one: Allow bash?"]
    server.change("one", waiting=[], state="idle")
    expect(page).to_have_title("linnet")
    assert page.evaluate("notifications")[1:] == ["closed"]


def test_approve_and_deny_send_what_the_question_wants(open_page: Open, server: FakeServer) -> None:
    workplace(server)
    page = open_page()
    page.locator("[data-agent=kettle]").get_by_role("button", name="Approve").click()
    expect(page.locator("[data-agent=kettle] .question")).to_have_count(0)
    docs = page.locator("[data-agent=docs]")
    docs.get_by_role("button", name="Deny with a reason").click()
    docs.get_by_label("Why not?").fill("not before Monday")
    page.keyboard.press("Enter")
    expect(page).to_have_title("linnet")
    wait_for(page, lambda: len(server.commands) == 2)  # The cards go before the server has heard.
    assert said_to(server) == [
        ("kettle", {**ALLOW, "id": "q1"}),
        ("docs", {**DENY, "id": "q2", "reason": "not before Monday"}),
    ]
    assert len(set(server.keys)) == 2
    assert all(re.fullmatch(r"[0-9a-f]{32}", key) for key in server.keys)


def test_an_answer_that_is_refused_leaves_the_question(open_page: Open, server: FakeServer) -> None:
    workplace(server)
    server.answers["extension_ui_response"] = {"error": "the question q1 is not open"}
    page = open_page()
    page.locator("[data-agent=kettle]").get_by_role("button", name="Approve").click()
    expect(page.locator("#told")).to_have_text("the question q1 is not open")
    expect(page.locator("[data-agent=kettle] .question")).to_have_count(1)


def test_questions_of_every_kind_can_be_answered(open_page: Open, server: FakeServer) -> None:
    asked = [
        {"id": "s", "kind": "question", "method": "select", "title": "Which one?", "options": ["left", "right"]},
        {"id": "c", "kind": "question", "method": "confirm", "title": "Sure?", "message": "It is a lot."},
        {"id": "i", "kind": "question", "method": "input", "title": "Name?", "placeholder": "a word"},
        {"id": "e", "kind": "question", "method": "editor", "title": "Edit", "prefill": "one"},
        {"id": "t", "kind": "tool", "title": "lookup", "toolName": "lookup", "args": {"name": "Ada"}},
    ]
    server.add("one", state="waiting", waiting=asked)
    page = open_page()
    page.get_by_role("button", name="right").click()
    page.get_by_role("button", name="Yes").click()
    page.get_by_role("textbox", name="Name?").fill("Ada")
    page.keyboard.press("Enter")
    page.get_by_role("textbox", name="Edit").fill("one\ntwo")
    page.locator("[data-question=e]").get_by_role("button", name="Answer").click()
    expect(page.locator(".question")).to_have_count(1)
    expect(page.locator(".question button")).to_have_count(1)  # It only copies.
    assert [told for _, told in said_to(server)] == [
        {"type": "extension_ui_response", "id": "s", "value": "right"},
        {"type": "extension_ui_response", "id": "c", "confirmed": True},
        {"type": "extension_ui_response", "id": "i", "value": "Ada"},
        {"type": "extension_ui_response", "id": "e", "value": "one\ntwo"},
    ]


def test_the_keyboard_is_enough(open_page: Open, server: FakeServer) -> None:
    workplace(server)
    page = open_page()
    ready(page, "q1")
    page.keyboard.press("a")  # Nobody was chosen: this only chooses.
    expect(page.locator("[data-agent=kettle] .head")).to_be_focused()
    assert said_to(server) == []
    page.keyboard.press("j")
    expect(page.locator("[data-agent=docs] .head")).to_be_focused()
    page.keyboard.press("d")
    expect(page).to_have_title("(1) linnet")
    page.keyboard.press("k")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="The limiter and the clock")).to_be_visible()
    ready(page, "q1")
    page.keyboard.press("a")
    expect(page.locator(".question")).to_have_count(0)
    page.keyboard.press("/")
    expect(page.get_by_label("What to say to the agent")).to_be_focused()
    page.keyboard.type("and? j k a d")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("]")
    expect(page).to_have_url(re.compile("#/agent/(?!kettle)"))
    page.keyboard.press("Escape")
    expect(page).to_have_url(f"{server.url}/#/")
    wait_for(page, lambda: len(server.commands) == 2)
    assert said_to(server) == [("docs", {**DENY, "id": "q2"}), ("kettle", {**ALLOW, "id": "q1"})]


def test_a_key_does_not_answer_what_has_just_appeared(open_page: Open, server: FakeServer) -> None:
    server.add("one", state="working")
    page = open_page("one")
    expect(page.get_by_role("main")).to_be_visible()
    page.evaluate(
        """new MutationObserver((_, watcher) => {
            if (!document.querySelector(".question")) return;
            watcher.disconnect();
            dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true }));
            document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true }));
        }).observe(document.body, { childList: true, subtree: true })"""
    )
    server.change("one", waiting=[permission("q", "bash", {"command": "rm -r ."}, "rm -r .")], state="waiting")
    ready(page, "q")
    assert said_to(server) == []


def test_a_watcher_sees_everything_and_has_no_buttons_that_drive(open_page: Open, server: FakeServer) -> None:
    workplace(server)
    page = open_page(token="watch-token")
    expect(page.locator(".question")).to_have_count(2)
    for name in ("Approve", "Deny", "New"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    ready(page, "q1")
    for key in "aaddnx":
        page.keyboard.press(key)
    page.locator("[data-agent=kettle] .head").click()
    expect(page.locator(".inner")).to_contain_text("The limiter is fixed")
    page.keyboard.press("i")
    expect(page.get_by_role("link", name="Export")).to_be_visible()
    expect(page.locator("textarea, .answers, .tools button, .link")).to_have_count(0)
    assert server.commands == []


def test_a_conversation_shows_all_that_was_said(open_page: Open, server: FakeServer) -> None:
    workplace(server)
    page = open_page("kettle")
    inner = page.locator(".inner")
    expect(inner).to_contain_text("The limiter is fixed")
    expect(inner.locator("article")).to_have_count(12)
    expect(inner).not_to_contain_text("for the model alone")
    expect(inner.get_by_role("link", name="the manual")).to_have_attribute("href", "https://docs.example/time")
    expect(inner.get_by_role("link", name="the manual")).to_have_attribute("rel", re.compile("noreferrer"))
    assert inner.locator(".prose ol li").all_inner_texts()[0].startswith("After a jump back")
    expect(inner.locator("td.center").first).to_have_text("yes")
    expect(inner.locator("strong")).to_have_text("jumps")
    expect(inner.locator("del")).to_have_text("guess")
    expect(inner.locator(".prose .block pre")).to_contain_text("def allows(self, now")
    bash, read, edit = (inner.locator("details.call").nth(n) for n in range(3))
    expect(bash.locator("summary")).to_have_text(re.compile("bashpytest -q tests/test_limiter.py.*failed"))
    bash.locator("summary").click()
    expect(bash.locator(".f2").first).to_have_text("tests/test_limiter.py::test_case_0 PASSED")
    bash.get_by_role("button", name="7 more lines").click()
    expect(bash.locator(".f1")).to_have_text("tests/test_limiter.py::test_the_clock_jumps FAILED")
    read.locator("summary").click()
    expect(read).to_contain_text("class Limiter")
    edit.locator("summary").click()
    expect(edit.locator(".l.del")).to_contain_text("clock=time.time)")
    inner.locator("details.thinking summary").click()
    expect(inner.locator("details.thinking strong")).to_have_text("time zones")
    picture = inner.get_by_role("button", name="Enlarge PNG image")
    assert picture.locator("img").evaluate("image => image.decode().then(() => image.naturalWidth)") == 320
    expect(inner.locator(".fault")).to_contain_text("overloaded_error: later")


def test_a_reply_is_shown_as_it_is_said(open_page: Open, server: FakeServer) -> None:
    server.add("one", state="working")
    page = open_page("one")
    expect(page.get_by_text("Nothing was said yet.")).to_be_visible()
    inner = page.locator(".inner")
    server.say("one", {"type": "agent_start"}, {"type": "turn_start"}, said(user("go")))
    server.say("one", BEGINS, update("thinking_start"))
    server.say("one", update("thinking_delta", delta="The tests first, "))
    server.say("one", update("text_start", 1))
    for word in ("Let ", "me **run** ", "them."):
        server.say("one", update("text_delta", 1, delta=word))
    expect(inner.locator(".live .prose")).to_have_text("Let me run them.")
    expect(inner.locator(".live strong")).to_have_text("run")
    expect(inner.locator(".live .thinking small")).to_have_text("The tests first,")
    server.say("one", update("toolcall_start", 2, id="c1", toolName="bash"))
    server.say("one", update("toolcall_delta", 2, delta='{"command":"make te'))
    expect(inner.locator(".live .call summary")).to_contain_text("make te")
    server.say("one", said(reply("Let me **run** them.", call("c1", "bash", command="make test"))))
    server.say("one", {"type": "tool_execution_start", "toolCallId": "c1", "toolName": "bash", "args": {}})
    inner.locator(".call summary").click()
    partial = {"content": [text("ok 1\nok 2\n")]}
    server.say(
        "one", {"type": "tool_execution_update", "toolCallId": "c1", "toolName": "bash", "partialResult": partial}
    )
    expect(inner.locator(".call .out")).to_contain_text("ok 2")
    server.say("one", {"type": "tool_execution_end", "toolCallId": "c1", "toolName": "bash", "result": partial})
    server.say("one", said(result("c1", "bash", "ok 1\nok 2\nok 3\n")))
    expect(inner.locator(".call .out")).to_contain_text("ok 3")
    expect(inner.locator(".call .verdict.done")).to_be_visible()
    server.say("one", said(reply("All is well.")), {"type": "agent_end", "messages": []})
    server.say("one", {"type": "agent_settled", "aborted": False})
    expect(inner.locator(".live")).to_have_count(0)
    expect(page.locator("#voice")).to_have_text("All is well.")
    expect(inner.locator("article")).to_have_count(3)


def test_what_goes_on_is_there_when_the_page_comes_later(open_page: Open, server: FakeServer) -> None:
    agent = server.add("one", state="tool")
    agent.messages = [user("go"), reply("Running.", call("c1", "bash", command="make"))]
    agent.state["isStreaming"] = True
    agent.open = [
        {"type": "agent_start"},
        {"type": "tool_execution_start", "toolCallId": "c1", "toolName": "bash", "args": {"command": "make"}},
        {"type": "tool_execution_update", "toolCallId": "c1", "toolName": "bash", "partialResult": {"content": "cc"}},
    ]
    page = open_page("one")
    expect(page.locator(".verdict.busy")).to_have_text(re.compile(r"\d s"))
    page.locator(".call summary").click()
    expect(page.locator(".call .out")).to_contain_text("cc")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()


def test_after_a_lost_connection_nothing_is_missing_and_nothing_is_twice(open_page: Open, server: FakeServer) -> None:
    server.add("one", state="working")
    page = open_page("one")
    expect(page.get_by_text("Nothing was said yet.")).to_be_visible()
    server.say("one", said(user("count")), BEGINS)
    server.say("one", update("text_start"))
    server.say("one", update("text_delta", delta="0 "))
    prose = page.locator(".live .prose")
    for number in range(1, 13):
        if number % 3 == 0:
            # Half an event, and the connection is gone: what came of it comes again.
            server.say("one", update("text_delta", delta=f"{number}"), whole=False)
            expect(prose).to_contain_text(str(number))
            server.refusing = 1 if number % 2 else 0
            server.drop()
            server.say("one", update("text_delta", delta=" "))
        else:
            server.say("one", update("text_delta", delta=f"{number} "))
    expect(prose).to_have_text("0 1 2 3 4 5 6 7 8 9 10 11 12")
    expect(page.locator(".conversation .offline")).to_have_count(0)


def test_what_is_not_kept_any_more_leads_to_a_new_snapshot(open_page: Open, server: FakeServer) -> None:
    server.add("one")
    page = open_page("one")
    server.say("one", said(user("first")))
    expect(page.locator(".inner")).to_contain_text("first")
    server.refusing = 2
    server.drop()
    for number in range(5):
        server.say("one", said(reply(f"missed {number}")))
    server.forget("one")
    expect(page.locator(".inner")).to_contain_text("missed 4")
    assert page.locator(".inner article").count() == 6
    server.say("one", said(user("and on")))
    expect(page.locator(".inner article")).to_have_count(7)


def test_another_session_is_another_conversation(open_page: Open, server: FakeServer) -> None:
    agent = server.add("one")
    agent.messages = [user("first"), reply("yes")]
    page = open_page("one")
    expect(page.locator("article")).to_have_count(2)
    agent.messages = [user("elsewhere")]
    server.change("one", session_id="another")
    expect(page.locator("article")).to_have_count(1)
    expect(page.locator("article")).to_contain_text("elsewhere")


def test_what_was_summarized_is_read_anew(open_page: Open, server: FakeServer) -> None:
    agent = server.add("one")
    agent.messages = [user("first"), reply("yes")]
    page = open_page("one")
    expect(page.locator("article")).to_have_count(2)
    server.say("one", {"type": "compaction_start", "reason": "manual"})
    expect(page.get_by_text("What was said is being summarized")).to_be_visible()
    agent.messages = [{"role": "compactionSummary", "summary": "All was **said**.", "tokensBefore": 12_000}]
    server.say("one", {"type": "compaction_end", "reason": "manual", "result": {"summary": "All"}, "aborted": False})
    expect(page.locator("article")).to_have_count(1)
    page.locator("article summary").click()
    expect(page.locator("article strong")).to_have_text("said")


def test_pictures_can_be_sent(open_page: Open, server: FakeServer) -> None:
    from base64 import b64decode

    server.add("one")
    page = open_page("one")
    shot = png(8, 8, (1, 2, 3))
    files: Any = [
        {"name": "shot.png", "mimeType": "image/png", "buffer": b64decode(shot["data"])},
        {"name": "evil.svg", "mimeType": "image/svg+xml", "buffer": b"<svg/>"},
    ]
    page.locator("input[type=file]").set_input_files(files)
    expect(page.get_by_label("Images to send")).to_contain_text("shot.png")
    expect(page.locator("#told")).to_contain_text("Only PNG, JPEG, GIF and WebP")
    page.get_by_label("What to say to the agent").fill("look")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_label("Images to send")).to_have_count(0)
    assert server.commands == [("one", {"type": "prompt", "message": "look", "images": [shot]})]


def test_agents_that_went_while_nobody_listened_are_gone(open_page: Open, server: FakeServer) -> None:
    workplace(server)
    page = open_page()
    expect(page.locator(".row")).to_have_count(7)
    server.refusing = 1
    server.drop()
    server.remove("old")
    expect(page.locator(".row")).to_have_count(6)


def test_something_can_be_said_at_any_time(open_page: Open, server: FakeServer) -> None:
    server.add("one")
    page = open_page("one")
    field = page.get_by_label("What to say to the agent")
    field.fill("first line")
    field.press("Shift+Enter")
    field.press_sequentially("second")
    field.press("Enter")
    expect(field).to_have_value("")
    server.change("one", state="working")
    server.say("one", {"type": "agent_start"})
    field.fill("stop that")
    page.get_by_role("button", name="Steer").click()
    expect(field).to_have_value("")
    field.fill("then this")
    page.get_by_role("button", name="Follow up").click()
    expect(field).to_have_value("")
    server.say("one", {"type": "queue_update", "steering": ["stop that"], "followUp": ["then this"]})
    expect(page.get_by_label("Messages that wait")).to_contain_text("then this")
    page.get_by_role("button", name="Take back").click()
    page.get_by_role("button", name="Stop").click()
    wait_for(page, lambda: len(server.commands) == 5)
    assert [told for _, told in server.commands] == [
        {"type": "prompt", "message": "first line\nsecond"},
        {"type": "steer", "message": "stop that"},
        {"type": "follow_up", "message": "then this"},
        {"type": "clear_queue"},
        {"type": "abort"},
    ]


def test_a_message_is_where_a_branch_begins(open_page: Open, server: FakeServer) -> None:
    agent = server.add("one")
    agent.messages = [user("again"), reply("yes"), user("again"), reply("no")]
    server.answers["get_fork_messages"] = {
        "messages": [{"entryId": "e1", "text": "again"}, {"entryId": "e2", "text": "again"}]
    }
    server.answers["fork"] = {"text": "again", "cancelled": False}
    page = open_page("one")
    page.on("dialog", lambda dialog: dialog.accept())
    first = page.locator("article.user").first
    first.hover()
    agent.messages = []
    first.get_by_role("button", name="Branch").click()
    expect(page.get_by_label("What to say to the agent")).to_have_value("again")
    expect(page.locator("article")).to_have_count(0)
    assert said_to(server) == [("one", {"type": "fork", "entryId": "e1"})]


def test_a_new_agent_begins_in_a_folder_with_a_model(open_page: Open, server: FakeServer) -> None:
    page = open_page()
    expect(page.get_by_text("There are no agents yet.")).to_be_visible()
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="A new agent")
    expect(dialog.get_by_label("Folder")).to_have_value("/src")
    dialog.get_by_label("Folder").fill("/src/kettle")
    dialog.get_by_label("What should it do?").fill("Look around.")
    server.add("other", cwd="/elsewhere")  # What changes meanwhile leaves alone what was written.
    expect(page.locator("[data-agent=other]")).to_have_count(1)
    expect(dialog.get_by_label("Folder")).to_have_value("/src/kettle")
    dialog.get_by_label("Model").select_option("Sonnet")
    dialog.get_by_label("Permission").select_option("ask")
    dialog.get_by_role("button", name="Begin").click()
    expect(page).to_have_url(f"{server.url}/#/agent/made1")
    told = {"cwd": "/src/kettle", "model": "claude-sonnet-4-5", "provider": "anthropic", "permission": "ask"}
    assert server.made == [told]
    assert server.commands == [("made1", {"type": "prompt", "message": "Look around."})]


def test_details_have_a_plot_an_export_and_the_end_of_the_agent(open_page: Open, server: FakeServer) -> None:
    workplace(server)
    page = open_page("kettle")
    page.get_by_role("button", name="Details").click()
    expect(page.get_by_role("img", name=re.compile(r"922k tokens, \$1\.42"))).to_be_visible()
    assert page.locator(".plot path.cost").get_attribute("d", timeout=5000)
    expect(page.get_by_role("link", name="Export")).to_have_attribute(
        "href", f"{server.url}/v1/agents/kettle/export?download"
    )
    page.get_by_label("Thinking").select_option("high")
    wait_for(page, lambda: said_to(server) == [("kettle", {"type": "set_thinking_level", "level": "high"})])
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Close the agent").click()
    expect(page).to_have_url(f"{server.url}/#/")
    assert server.closed == ["kettle"]


@pytest.mark.parametrize("width", [375, 1280])
def test_whatever_agents_say_is_only_words(open_page: Open, server: FakeServer, width: int) -> None:
    hostile = HOSTILE
    args = {"command": hostile, "path": hostile, "content": hostile, "oldText": hostile, "newText": hostile}
    args[hostile] = hostile
    asked = [
        permission(f"p{n}", name, args, hostile, title=hostile, options=[hostile])
        for n, name in enumerate(("bash", "write", "edit", hostile))
    ]
    asked += [{"id": hostile, "kind": "question", "method": "select", "title": hostile, "options": [hostile]}]
    asked += [
        {"id": "i", "kind": hostile, "method": "input", "title": hostile, "placeholder": hostile, "prefill": hostile}
    ]
    told = {"cwd": hostile, "name": hostile, "model": hostile, "last": hostile, "session_id": hostile}
    agent = server.add(
        "one", state="waiting", waiting=asked, tool={"name": hostile, "title": hostile, "since": 0}, **told
    )
    server.add("two", state=hostile, error=hostile, **told)
    server.add("__proto__", state="constructor", **told)
    picture = {"type": "image", "mimeType": 'image/png" onerror="window.pwned=1', "data": 'iVBOR" onerror="x'}
    svg = {"type": "image", "mimeType": "image/svg+xml", "data": "PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+"}
    agent.messages = [
        user(hostile, picture, svg),
        *(
            message
            for n, name in enumerate(("bash", "read", "write", "edit", hostile))
            for message in (
                reply({"type": "thinking", "thinking": hostile}, hostile, call(f"c{n}", name, **args), model=hostile),
                result(f"c{n}", name, hostile, svg, details={"diff": f"@@ -1 +1 @@\n-{hostile}\n+{hostile}"}),
            )
        ),
        reply(call("__proto__", "bash"), stopReason="error", errorMessage=hostile),
        result("nobody", hostile, hostile, isError=True),
        reply(
            f"# {hostile}\n\n| {hostile} | b |\n|---|--:|\n| 1 | {hostile} |\n\n```{hostile}\n{hostile}\n```\n\n"
            f"- {hostile}\n\n    {hostile}\n\n> {hostile}\n\n**{hostile}** [x](java\nscript:window.pwned=1) "
            "[y](data:text/html,<script>window.pwned=1</script>) <javascript:window.pwned=1>"
        ),
        {"role": "bashExecution", "command": hostile, "output": hostile},
        {"role": "compactionSummary", "summary": hostile},
        {"role": "branchSummary", "summary": hostile},
        {"role": "custom", "customType": hostile, "content": [text(hostile)]},
        {"role": hostile, "content": {"__html": hostile}, "dangerouslySetInnerHTML": {"__html": hostile}},
        {"role": "constructor", "content": hostile},
        {"role": "user", "content": [{"type": "text", "text": {"type": "script", "props": {}}}, None, 7]},
        {"role": "assistant", "content": [{"type": "text", "text": {"type": "img"}}, None, "x", 7], "usage": None},
    ]
    agent.state = {"model": {"id": hostile}, "sessionName": hostile, "thinkingLevel": hostile}
    server.models = [{"id": hostile, "provider": hostile, "name": hostile}]
    page = open_page(viewport={"width": width, "height": 800})
    expect(page.locator(".row")).to_have_count(3)
    expect(page.locator(".question")).to_have_count(6)
    assert overflow(page) == 0
    page.locator("[data-agent=one] .head").click()
    expect(page.locator(".inner article")).to_have_count(17)
    page.keyboard.press("i")
    page.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true })")
    server.say("one", {"type": "extension_ui_request", "method": "notify", "message": hostile})
    server.say(
        "one", {"type": "extension_ui_request", "method": "setWidget", "widgetKey": "w", "widgetLines": [hostile]}
    )
    server.say("one", BEGINS, update("text_delta", delta=hostile))
    server.say("one", {"type": "queue_update", "steering": [hostile], "followUp": [hostile]})
    expect(page.locator(".widgets")).to_contain_text("window.pwned=1")
    expect(page.locator(".queue")).to_contain_text("window.pwned=1")
    expect(page.locator(".call .block").first).to_be_visible()
    assert page.evaluate("[window.pwned, document.scripts.length, document.querySelectorAll('img').length]") == [
        None,
        2,
        0,
    ]
    assert page.evaluate("document.querySelectorAll('iframe, object, embed, base, style, svg[onload]').length") == 0
    links: list[str] = page.eval_on_selector_all("main a", "all => all.map(one => one.href)")
    assert {link.split(":")[0] for link in links} <= {"http", "https"}
    assert "evil.example" not in " ".join(links)
    assert "\u202e" not in page.inner_text("body")
    expect(page.locator(".inner")).to_contain_text("[U+202E]gnp.exe")
    assert overflow(page) == 0


def test_fifty_thousand_messages_are_a_page_to_work_with(open_page: Open, server: FakeServer) -> None:
    agent = server.add("one")
    agent.messages = long(50_000)
    page = open_page("one")
    inner = page.locator(".inner")
    expect(inner).to_contain_text("limiter 12500")
    expect(page.locator(".place")).to_contain_text("of 50,000")
    frames = page.evaluate(
        """async () => {
            const talk = document.querySelector(".talk"), frames = [];
            let last = performance.now(), most = 0;
            for (let n = 0; n < 300; n++) {
                talk.scrollTop -= 240;
                await new Promise(requestAnimationFrame);
                const now = performance.now();
                frames.push(now - last);
                last = now;
                most = Math.max(most, document.querySelectorAll("*").length);
            }
            return { frames: frames.sort((a, b) => a - b), most };
        }"""
    )
    median, late = frames["frames"][150], frames["frames"][285]
    print(f"frames: median {median:.1f} ms, 95 % {late:.1f} ms, most elements {frames['most']}")
    assert frames["most"] < 8_000
    assert median < 40  # A machine that does other things besides; a quiet one has 17.
    shown = int(page.locator(".inner > [data-at]").first.get_attribute("data-at") or 0)
    assert 0 < shown < 49_900
    page.keyboard.press("g")
    expect(inner).to_contain_text("Turn 1:")
    page.keyboard.press("j")
    expect(inner.locator("[aria-current=true]")).to_have_attribute("data-at", "1")
    page.get_by_label("Place in the conversation").evaluate(
        "slider => { slider.value = 25000; slider.dispatchEvent(new Event('change', { bubbles: true })) }"
    )
    expect(inner.locator("[data-at='25000']")).to_be_in_viewport()
    before = inner.locator("[data-at='25000']").bounding_box()
    server.say("one", said(reply("And one more.")))
    expect(page.locator(".place")).to_contain_text("of 50,001")
    after = inner.locator("[data-at='25000']").bounding_box()
    assert before is not None
    assert after is not None
    assert abs(before["y"] - after["y"]) < 2
    page.get_by_role("button", name="Newest").click()
    expect(inner).to_contain_text("And one more.")
    assert page.evaluate("document.querySelectorAll('*').length") < 8_000


def test_who_goes_to_a_place_gets_there_also_if_what_is_around_it_comes_first(
    open_page: Open, server: FakeServer
) -> None:
    agent = server.add("one")
    agent.messages = long(3_000)
    page = open_page("one")
    inner = page.locator(".inner")
    expect(page.locator(".place")).to_contain_text("of 3,000")
    held: list[Route] = []
    page.route(re.compile(r"/snapshot\?.*before=1100"), lambda route: held.append(route), times=1)
    page.get_by_label("Place in the conversation").evaluate(
        "slider => { slider.value = 1000; slider.dispatchEvent(new Event('change', { bubbles: true })) }"
    )
    expect(inner.locator("[data-at='999']")).to_have_count(1)
    expect(inner.locator("[data-at='1000']")).to_have_count(0)
    held[0].continue_()
    expect(inner.locator("[data-at='1000']")).to_be_in_viewport()


def test_the_slider_stays_where_it_is_dragged_while_something_is_said(open_page: Open, server: FakeServer) -> None:
    agent = server.add("one")
    agent.messages = long(3_000)
    page = open_page("one")
    expect(page.locator(".place")).to_contain_text("of 3,000")
    slider = page.get_by_label("Place in the conversation")
    slider.evaluate("it => { it.value = 1000; it.dispatchEvent(new Event('input', { bubbles: true })) }")
    server.say("one", said(reply("And one more.")))
    expect(page.locator(".place")).to_contain_text("of 3,001")
    expect(slider).to_have_value("1000")
    slider.evaluate("it => it.dispatchEvent(new Event('change', { bubbles: true }))")
    expect(page.locator(".inner [data-at='1000']")).to_be_in_viewport()


def test_what_is_looked_at_stays_when_older_messages_come(open_page: Open, server: FakeServer) -> None:
    agent = server.add("one")
    agent.messages = long(1_000)
    page = open_page("one")
    expect(page.locator(".inner")).to_contain_text("limiter 250")
    jumps = page.evaluate(
        """async () => {
            const talk = document.querySelector(".talk"), jumps = [];
            const seen = () => [...document.querySelectorAll(".inner > [data-at]")]
                .map((node) => [node.dataset.at, node.getBoundingClientRect().top])
                .filter(([, top]) => top > 0 && top < 600);
            for (let n = 0; n < 120; n++) {
                const before = new Map(seen());
                talk.scrollTop -= 100;
                await new Promise(requestAnimationFrame);
                await new Promise(requestAnimationFrame);
                for (const [at, top] of seen()) if (before.has(at)) jumps.push(Math.round(top - before.get(at)));
            }
            return [...new Set(jumps)];
        }"""
    )
    assert set(jumps) - {0} == {100}  # Where older messages are on their way, there is nothing to scroll to yet.


def test_ten_thousand_agents_are_a_list_to_work_with(open_page: Open, server: FakeServer) -> None:
    for number in range(10_000):
        server.add(f"a{number}", state="asleep", changed=NOW + number)
    server.add("late", state="waiting", waiting=[permission("q", "bash", {"command": "ls"}, "ls")])
    page = open_page()
    expect(page.locator(".row").first).to_have_attribute("data-agent", "late")
    expect(page.get_by_text("Asleep 10,000")).to_be_visible()
    assert page.locator(".row").count() == 61
    page.get_by_role("button", name="60 more of 9,940").click()
    expect(page.locator(".row")).to_have_count(121)


def test_light_and_dark_follow_the_system_until_someone_chooses(open_page: Open, server: FakeServer) -> None:
    workplace(server)
    page = open_page(color_scheme="dark")
    background = "getComputedStyle(document.documentElement).backgroundColor"
    dark = page.evaluate(background)
    page.keyboard.press("t")
    light = page.evaluate(background)
    assert dark != light
    page.reload()
    expect(page.locator(".row")).to_have_count(7)
    assert page.evaluate(background) == light
    page.get_by_role("button", name="Light or dark").click()
    assert page.evaluate(background) == dark


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_can_be_read_in_the_light_and_in_the_dark(open_page: Open, server: FakeServer, scheme: str) -> None:
    workplace(server)
    page = open_page(color_scheme=scheme)
    expect(page.locator(".row")).to_have_count(7)
    found = contrasts(page)
    page.locator("[data-agent=kettle] .head").click()
    expect(page.locator(".inner")).to_contain_text("The limiter is fixed")
    page.keyboard.press("i")
    page.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true })")
    expect(page.locator(".call .diff")).to_be_visible()
    found |= contrasts(page)
    assert len(found) > 80
    assert {words: seen for words, seen in found.items() if seen < 4.5} == {}


def test_whoever_listens_finds_names_for_everything(open_page: Open, server: FakeServer) -> None:
    workplace(server)
    page = open_page()
    expect(page.get_by_role("main", name="Agents")).to_be_visible()
    expect(page.get_by_role("region", name="Needs you 2").get_by_role("listitem")).to_have_count(2)
    expect(page.get_by_role("region", name="Allow bash?")).to_be_visible()
    page.locator("[data-agent=kettle] .head").click()
    expect(page.get_by_role("main", name="Conversation")).to_be_visible()
    expect(page.get_by_role("navigation", name="Agents")).to_be_visible()
    expect(page.get_by_role("log", name="Messages")).to_be_visible()
    expect(page.locator("#voice")).to_have_attribute("aria-live", "polite")
    expect(page.locator("nav [aria-current=page]")).to_have_count(1)
    page.keyboard.press("i")
    nameless = page.eval_on_selector_all(
        "button, a, input, textarea, select",
        """all => all.filter(one => !(one.innerText.trim() || one.ariaLabel || one.labels?.length
            || one.getAttribute("aria-labelledby"))).map(one => one.outerHTML)""",
    )
    assert nameless == []
    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.eval_on_selector_all("h1", "all => all.length") == 2


def test_on_a_phone_one_thumb_is_enough(open_page: Open, server: FakeServer) -> None:
    workplace(server)
    page = open_page(viewport=PHONE, has_touch=True, is_mobile=True)
    expect(page.locator(".row")).to_have_count(7)
    assert overflow(page) == 0
    approve = page.locator("[data-agent=docs]").get_by_role("button", name="Approve")
    box = approve.bounding_box()
    assert box is not None
    assert box["height"] >= 44
    assert box["width"] >= 120
    approve.tap()
    expect(page).to_have_title("(1) linnet")
    page.locator("[data-agent=kettle] .head").tap()
    expect(page.locator(".side")).to_be_hidden()
    expect(page.locator(".conversation .question")).to_be_visible()
    assert overflow(page) == 0
    page.get_by_role("link", name="All agents").tap()
    expect(page.locator(".side")).to_be_visible()
    wait_for(page, lambda: said_to(server) == [("docs", {**ALLOW, "id": "q2"})])


def test_a_program_of_another_kind_is_only_watched(open_page: Open, server: FakeServer) -> None:
    server.about |= {"single": True, "protocol": "zot", "role": "watch"}
    server.add("zot")
    server.say("zot", {"type": "user_message", "content": [text("go")], "time": "2026-11-15T22:39:48.267Z"})
    server.say("zot", {"type": "turn_start", "step": 1})
    server.say("zot", {"type": "assistant_start"})
    server.say("zot", {"type": "text_delta", "delta": "I **run** it."})
    page = open_page(token="watch-token")
    inner = page.locator(".inner")
    expect(inner.locator(".live strong")).to_have_text("run")
    server.say("zot", {"type": "tool_use_start", "id": "c", "name": "bash"})
    server.say("zot", {"type": "tool_use_args", "id": "c", "delta": '{"command":"make'})
    expect(inner.locator(".live .arg")).to_have_text("make")
    args = {"command": "make"}
    content = [text("I **run** it."), {"type": "tool_call", "id": "c", "name": "bash", "args": args}]
    server.say("zot", {"type": "assistant_message", "content": content, "time": "2026-11-15T22:39:48.267Z"})
    server.say("zot", {"type": "tool_call", "id": "c", "name": "bash", "args": args})
    server.say("zot", {"type": "turn_end", "stop": "tool_use"})
    server.say("zot", {"type": "tool_progress", "id": "c", "text": "cc "})
    server.say("zot", {"type": "tool_progress", "id": "c", "text": "-o"})
    inner.locator(".call summary").click()
    expect(inner.locator(".call .out")).to_contain_text("cc -o")
    asked = {
        "id": "q",
        "kind": "permission",
        "method": "select",
        "title": "Allow bash?",
        "options": ["Allow once", "Deny"],
    }
    server.change("zot", state="waiting", waiting=[asked])  # Its lines do not tell when a question was answered.
    expect(page.locator(".question")).to_contain_text("Allow bash?")
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    server.change("zot", state="tool", waiting=[])
    server.say("zot", {"type": "tool_result", "id": "c", "is_error": False, "content": [text("$ make\n\nall done")]})
    expect(inner.locator(".call .out")).to_have_text(re.compile("^all done"))
    server.say("zot", {"type": "done"})
    expect(page.locator(".question, textarea, .side")).to_have_count(0)


def contrasts(page: Page) -> dict[str, float]:
    """By what they say, how far the ink is from the ground, of all texts that can be seen."""
    found = page.evaluate(
        """() => {
            const out = [];
            const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
            const walker = document.createTreeWalker(document.getElementById("app"), NodeFilter.SHOW_TEXT);
            while (walker.nextNode()) {
                const element = walker.currentNode.parentElement;
                if (!walker.currentNode.data.trim() || !element.checkVisibility({ opacityProperty: true })) continue;
                if (element.closest("button:disabled, .hidden, option, .link, .copy, .mark")) continue;
                let ground = element;
                while (/, 0\\)$/.test(getComputedStyle(ground).backgroundColor)) ground = ground.parentElement;
                const words = walker.currentNode.data.trim().slice(0, 40);
                const colours = [getComputedStyle(element).color, getComputedStyle(ground).backgroundColor];
                out.push([`${element.className || element.tagName}: ${words}`, ...colours.map(parts)]);
            }
            return out;
        }"""
    )
    return {words: contrast(ink[:3], paper[:3]) for words, ink, paper in found}


def contrast(*colours: list[float]) -> float:
    """As WCAG counts it."""
    shares = ([part / 3294.6 if part <= 10 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in c] for c in colours)
    dim, bright = sorted(0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue in shares)
    return (bright + 0.05) / (dim + 0.05)


def test_the_vendored_module_is_the_one_that_the_readme_names() -> None:
    from hashlib import sha256

    from tests.serve.page.fake_server import FILES

    found = sha256((FILES / "vendor" / "standalone.module.js").read_bytes()).hexdigest()
    assert f"`{found}`" in (FILES / "vendor" / "README.md").read_text("utf-8")
    own = [file.read_text("utf-8") for file in FILES.rglob("*.js") if file.parent.name != "vendor"]
    assert not [
        words for words in ("innerHTML", "dangerously", "eval(", "document.write") for file in own if words in file
    ]
