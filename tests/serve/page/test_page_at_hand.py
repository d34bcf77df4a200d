"""What hands and eyes need of the page: that it stays where they are, and that nothing covers what is to be read."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.export.test_escape import HIDING
from tests.export.test_markdown import NO_LINKS
from tests.serve.page.conversations import (
    BEGINS,
    call,
    permission,
    reply,
    result,
    said,
    update,
    user,
    workplace,
)
from tests.serve.page.fake_server import NOW, FakeServer

PHONE = {"width": 390, "height": 844}
FOCUSED = "document.activeElement.closest('[data-agent]')?.dataset.agent ?? document.activeElement.className"

Open = Callable[..., Page]

pytestmark = [pytest.mark.foreign, pytest.mark.xdist_group("browser")]  # One browser for all.


def told(server: FakeServer, count: int) -> None:
    """A conversation that ends with a command that printed a lot."""
    agent = server.add("one")
    for n in range(count):
        agent.messages += [user(f"Turn {n}"), reply("All is well.")]
    agent.messages += [user("Count."), reply(call("c", "bash", command="seq 1 60"))]
    agent.messages.append(result("c", "bash", "".join(f"{n}\n" for n in range(1, 61))))


def below(page: Page) -> int:
    left: int = page.evaluate(
        "(talk => Math.round(talk.scrollHeight - talk.scrollTop - talk.clientHeight))(document.querySelector('.talk'))"
    )
    return left


def test_what_grows_at_the_end_is_followed_whatever_the_browser_does_first(open_page: Open, server: FakeServer) -> None:
    told(server, 10)
    page = open_page("one")
    expect(page.locator(".call")).to_be_visible()
    # A frame runs what waits for it before it tells who has grown: the page sees the end far below itself.
    page.evaluate(
        """async () => {
            document.querySelector(".talk").dispatchEvent(new Event("scroll"));
            document.querySelector(".inner").append(document.createElement("div"));
            document.querySelector(".inner > div").style.height = "500px";
            for (let n = 0; n < 4; n++) await new Promise(requestAnimationFrame);
        }"""
    )
    assert below(page) == 0
    expect(page.get_by_role("button", name="Newest")).to_have_count(0)
    page.locator(".talk").hover()
    page.mouse.wheel(0, -400)
    expect(page.get_by_role("button", name="Newest")).to_be_visible()
    server.say("one", said(reply("And on.")))
    expect(page.locator(".inner")).to_contain_text("And on.")
    assert below(page) > 300
    page.get_by_role("button", name="Newest").click()
    expect(page.get_by_role("button", name="Newest")).to_have_count(0)
    assert below(page) == 0


def test_a_reply_that_is_read_from_its_beginning_stays_when_it_has_been_said(
    open_page: Open, server: FakeServer
) -> None:
    told(server, 10)
    page = open_page("one")
    expect(page.locator(".call")).to_be_visible()
    words = "".join(f"Line {n}.\n\n" for n in range(60))
    server.say("one", BEGINS, update("text_delta", delta=words))
    expect(page.locator(".inner").get_by_text("Line 59.", exact=True)).to_be_visible()
    page.locator(".talk").hover()
    page.mouse.wheel(0, -1200)
    expect(page.get_by_role("button", name="Newest")).to_be_visible()
    line = page.locator(".inner").get_by_text("Line 30.", exact=True)
    before = line.bounding_box()
    server.say("one", said(reply(words)), {"type": "agent_end", "messages": []})
    expect(page.locator(".live")).to_have_count(0)
    after = line.bounding_box()
    assert before is not None
    assert after is not None
    assert abs(before["y"] - after["y"]) < 2


def test_what_is_opened_at_the_end_stays_under_the_pointer(open_page: Open, server: FakeServer) -> None:
    told(server, 10)
    page = open_page("one")
    summary = page.locator(".call summary")
    before = summary.bounding_box()
    summary.click()
    expect(page.locator(".call .out")).to_contain_text("20")
    page.get_by_role("button", name="40 more lines").evaluate("button => button.click()")
    expect(page.locator(".call .out")).to_contain_text("60")
    expect(page.get_by_role("button", name="Newest")).to_be_visible()
    after = summary.bounding_box()
    assert before is not None
    assert after is not None
    assert abs(before["y"] - after["y"]) < 2
    summary.click()
    expect(page.get_by_role("button", name="Newest")).to_have_count(0)


def test_the_focus_is_not_lost_with_what_goes(open_page: Open, server: FakeServer) -> None:
    workplace(server)
    page = open_page()
    page.locator("[data-agent=docs]").get_by_role("button", name="Approve").focus()
    page.keyboard.press("Enter")
    expect(page.locator("[data-agent=docs] .question")).to_have_count(0)
    assert page.evaluate(FOCUSED) == "docs"
    # The card goes before the server has heard of it, and the server's word for what follows is to come first.
    expect(page.get_by_role("region", name="At work 3").locator("[data-agent=docs]")).to_have_count(1)
    assert page.evaluate(FOCUSED) == "docs"
    server.change("docs", state="idle")
    expect(page.get_by_role("region", name="Idle 3").locator("[data-agent=docs]")).to_have_count(1)
    assert page.evaluate(FOCUSED) == "docs"
    server.remove("docs")
    expect(page.locator(".row")).to_have_count(6)
    assert page.evaluate(FOCUSED) == "kettle"
    question = page.locator("[data-agent=kettle] .question")
    question.get_by_role("button", name="Deny with a reason").click()
    expect(question.get_by_label("Why not?")).to_be_focused()
    page.keyboard.press("Escape")
    expect(question.get_by_role("button", name="Deny with a reason")).to_be_focused()
    page.locator("[data-agent=site] .head").click()
    page.get_by_role("button", name="Stop").focus()
    server.change("site", state="idle", tool=None)
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    expect(page.locator(".talk")).to_be_focused()


def test_on_a_phone_a_conversation_says_how_many_others_wait(open_page: Open, server: FakeServer) -> None:
    workplace(server)
    page = open_page("kettle", viewport=PHONE, has_touch=True, is_mobile=True)
    back = page.get_by_role("link", name="All agents, 1 of them waiting for you")
    expect(back).to_have_text("1")
    server.change("docs", waiting=[], state="idle")
    expect(page.get_by_role("link", name="All agents", exact=True)).to_have_text("")


def test_nothing_covers_a_command_that_is_to_be_approved(open_page: Open, server: FakeServer) -> None:
    command = " ".join(["rm", *(f"file{n}" for n in range(40))])
    server.add("one", state="waiting", waiting=[permission("q", "bash", {"command": command}, command)])
    page = open_page(viewport=PHONE, has_touch=True, is_mobile=True)
    copy = page.get_by_role("button", name="Copy")
    expect(copy).to_have_css("opacity", "0")
    expect(copy).to_have_css("pointer-events", "none")
    page.locator(".cmd pre").tap()
    expect(copy).to_have_css("opacity", "1")
    covered = page.evaluate(
        """() => {
            const box = document.querySelector(".copy").getBoundingClientRect(), range = document.createRange();
            range.selectNodeContents(document.querySelector(".cmd pre"));
            const meets = (one) => one.right > box.left && one.top < box.bottom && one.bottom > box.top;
            return [...range.getClientRects()].some(meets);
        }"""
    )
    assert not covered


def test_a_reply_that_was_stopped_did_not_fail(open_page: Open, server: FakeServer) -> None:
    agent = server.add("one")
    agent.messages = [user("go"), reply("So", stopReason="aborted", errorMessage="Request was aborted")]
    page = open_page("one")
    expect(page.locator("article").last.locator(".remark")).to_have_text("Stopped.")
    expect(page.locator(".fault")).to_have_count(0)


def test_where_nobody_is_the_page_says_how_to_begin(open_page: Open, server: FakeServer) -> None:
    server.models = [{"id": "m", "provider": one, "name": "The same"} for one in ("anthropic", "openrouter")]
    page = open_page()
    page.get_by_role("main").get_by_role("button", name="New agent n").click()
    model = page.get_by_role("dialog", name="A new agent").get_by_label("Model")
    expect(model.locator("option")).to_have_count(3)
    assert model.locator("optgroup").evaluate_all("all => all.map(one => one.label)") == ["anthropic", "openrouter"]
    model.select_option("1")
    page.get_by_role("button", name="Begin").click()
    expect(page).to_have_url(f"{server.url}/#/agent/made1")
    assert server.made == [{"cwd": "/src", "model": "m", "provider": "openrouter"}]


def test_times_of_another_day_say_which(open_page: Open, server: FakeServer) -> None:
    agent = server.add("one")
    agent.messages = [user("go"), reply("a", time=NOW), reply("b", time=NOW + 2 * 86_400_000)]
    page = open_page("one", locale="en-GB", timezone_id="UTC")
    page.get_by_role("button", name="Details").click()
    expect(page.locator("figcaption")).to_contain_text("16 Nov, 10:00")
    expect(page.locator("article time").first).to_have_attribute("title", "16 Nov, 10:00")


def test_what_is_no_link_in_an_exported_page_is_none_here(open_page: Open, server: FakeServer) -> None:
    agent = server.add("one")
    agent.messages = [user("go"), *(reply(words) for words in NO_LINKS)]
    page = open_page("one")
    expect(page.locator(".inner article")).to_have_count(len(NO_LINKS) + 1)
    expect(page.locator(".inner a, .inner b")).to_have_count(0)


def test_what_hides_is_spelled_out_as_in_an_exported_page(open_page: Open, server: FakeServer) -> None:
    agent = server.add("one")
    agent.messages = [user(words) for words, _ in HIDING]
    page = open_page("one")
    expect(page.locator(".inner .typed")).to_have_count(len(HIDING))
    assert page.locator(".inner .typed").all_text_contents() == [shown for _, shown in HIDING]
    printed = "\x1b]8;;https://evil.example\x1b\\not a link\x1b]8;;\x1b\\ and \x1b[7mno\x1b[0m more"
    server.say("one", said({"role": "bashExecution", "command": "ls", "output": printed}))
    expect(page.locator(".inner .out")).to_contain_text("not a link and no more")
    expect(page.locator(".inner a")).to_have_count(0)
    assert "evil.example" not in page.content()
