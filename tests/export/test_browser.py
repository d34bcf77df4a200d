"""The page in a real browser: it can be read, searched and walked through, and it does nothing else."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

FLAGS = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking"
FLAGS += " --disable-component-update --disable-sync"
PHONE = {"width": 375, "height": 740}

Open = Callable[..., Page]

pytestmark = [pytest.mark.foreign, pytest.mark.xdist_group("browser")]  # One browser for all.


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
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
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens a session's page. Whatever it complains of, asks for or reaches out to fails the test."""
    complaints: list[str] = []
    contexts = []

    def start(session: Any, fragment: str = "", **options: Any) -> Page:
        file = tmp_path / "page.html"
        file.write_text(session.html(), "utf-8")
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        context.set_default_timeout(10_000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("popup", lambda popup: complaints.append(popup.url))
        page.on("request", lambda request: complaints.append(request.url) if not is_own(request.url, file) else None)
        page.goto(f"{file.as_uri()}{fragment}")
        return page

    yield start
    for context in contexts:
        context.close()
    assert complaints == []


def is_own(url: str, file: Path) -> bool:
    return url.startswith("data:") or url.split("#")[0] == file.as_uri()


def shown(page: Page) -> list[str]:
    """The ids of what can be seen of the conversation, results aside."""
    found: list[str] = page.eval_on_selector_all(
        "#conversation > .e:not([hidden])", "all => all.map(e => e.id.slice(2))"
    )
    return found


def lines(page: Page) -> list[str]:
    found: list[str] = page.eval_on_selector_all(
        "#outline > li", "all => all.filter(li => li.getClientRects().length).map(li => li.textContent)"
    )
    return found


def chosen(page: Page) -> str:
    return page.locator(".at").get_attribute("id") or ""


def in_view(page: Page, selector: str) -> bool:
    seen: bool = page.eval_on_selector(
        selector,
        "e => { const r = e.getBoundingClientRect(); return r.bottom > 44 && r.top < innerHeight && r.height > 0 }",
    )
    return seen


def clipboard(page: Page) -> str:
    copied: str = page.evaluate("navigator.clipboard.readText()")
    return copied


def starts(page: Page, selector: str) -> str:
    """The side on which its words start."""
    side: str = page.eval_on_selector(
        selector,
        """element => {
            const [words, box] = [new Range(), element.getBoundingClientRect()];
            words.selectNodeContents(element);
            const { left, right } = words.getBoundingClientRect();
            return left - box.left < box.right - right ? "left" : "right";
        }""",
    )
    return side


def contrasts(page: Page, selector: str) -> dict[str, float]:
    """By what they say, how far the ink is from the ground."""
    found = page.eval_on_selector_all(
        selector,
        """all => all.map(element => {
            let ground = element;
            while (getComputedStyle(ground).backgroundColor === "rgba(0, 0, 0, 0)") ground = ground.parentElement;
            const parts = (colour) => colour.match(/\\d+/g).map(Number);
            const { color, opacity } = getComputedStyle(element);
            const [ink, paper] = [parts(color), parts(getComputedStyle(ground).backgroundColor)];
            return [element.textContent, ink.map((part, at) => part * opacity + paper[at] * (1 - opacity)), paper];
        })""",
    )
    return {told: contrast(ink, paper) for told, ink, paper in found}


def contrast(*colours: list[float]) -> float:
    """As WCAG counts it."""
    shares = ([part / 3294.6 if part <= 10 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in c] for c in colours)
    dim, bright = sorted(0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue in shares)
    return (bright + 0.05) / (dim + 0.05)


def overflow(page: Page) -> int:
    wide: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return wide


MAIN = ["model", "thinking", "named", "ask", "look"]
OLD_END = [
    *MAIN,
    "read-call",
    "answer",
    "fails-call",
    "edit-call",
    "both",
    "done",
    "changelog",
    "write-call",
    "old-end",
]


def test_the_branch_we_are_on_is_shown_and_no_other(open_page: Open, rich_session: Any) -> None:
    page = open_page(rich_session)
    expect(page).to_have_title("The limiter and the clock")
    expect(page.locator("h1")).to_have_text("The limiter and the clock")
    expect(page.locator("#e-end")).to_be_visible()
    expect(page.locator("#e-wrong")).to_be_hidden()
    expect(page.locator("#e-answer table td").first).to_have_text("time.time")
    expect(page.locator("#e-cannot .fault")).to_have_text("Failed: overloaded_error: try again later")
    assert {"ask", "look", "answer", "done", "left", "shot", "log", "note", "compacted", "end"} <= set(shown(page))
    assert not {"which", "wrong", "lost", "changelog", "old-end"} & set(shown(page))


def test_calls_thoughts_and_long_outputs_open_and_close(open_page: Open, rich_session: Any) -> None:
    page = open_page(rich_session)
    result = page.locator("#e-fails")
    expect(result).to_be_hidden()
    page.locator(".call", has=result).locator("> summary").click()
    expect(result).to_be_visible()
    expect(result.get_by_text("test_the_clock_jumps")).to_be_hidden()
    result.get_by_text("Show all 33 lines").click()
    expect(result.get_by_text("test_the_clock_jumps")).to_be_visible()
    expect(result.get_by_text("Show less")).to_be_visible()
    thinking = page.locator("#e-look .thinking > .prose")
    expect(thinking).to_be_hidden()
    page.locator("#e-look .thinking > summary").click()
    expect(thinking).to_be_visible()


def test_two_keys_open_and_close_all_of_them(open_page: Open, rich_session: Any) -> None:
    page = open_page(rich_session)
    for key, selector in (("t", ".call"), ("h", ".thinking")):
        every = page.locator(selector).count()
        assert page.locator(f"{selector}[open]").count() == 0
        page.keyboard.press(key)
        assert page.locator(f"{selector}[open]").count() == every > 0
        page.keyboard.press(key)
        assert page.locator(f"{selector}[open]").count() == 0


def test_the_search_looks_into_everything_and_counts(open_page: Open, rich_session: Any) -> None:
    page = open_page(rich_session)
    everything = len(lines(page))
    page.keyboard.press("/")
    page.keyboard.type("TIME.MONOTONIC")
    expect(page.locator("#count")).to_have_text("3 matches")
    assert [line.split()[0] for line in lines(page)] == ["The", "edit", "Compacted"]
    page.keyboard.press("Enter")
    expect(page.locator("#count")).to_have_text("1 of 3")
    assert (chosen(page), in_view(page, "#e-answer")) == ("e-answer", True)
    page.keyboard.press("Enter")
    expect(page.locator("#e-edit")).to_be_visible()
    page.keyboard.press("Shift+Enter")
    assert chosen(page) == "e-answer"
    assert page.evaluate("CSS.highlights.get('found').size") == 1
    page.keyboard.press("Escape")
    assert len(lines(page)) == everything
    expect(page.locator("#count")).to_have_text("")


def test_the_search_finds_what_is_on_other_branches_and_goes_there(open_page: Open, rich_session: Any) -> None:
    page = open_page(rich_session)
    page.fill("#query", "no longer cares")
    assert lines(page) == ["write CHANGELOG.md"]
    page.locator("#query").blur()
    page.keyboard.press("n")
    expect(page.locator("#e-old-end")).to_be_visible()
    expect(page.get_by_text("no longer cares")).to_be_visible()
    assert page.url.endswith("#e-write-call")
    page.keyboard.press("N")
    assert shown(page) == OLD_END
    page.fill("#query", "no such words")
    expect(page.locator("#count")).to_have_text("0 matches")
    page.keyboard.press("Enter")
    assert shown(page) == OLD_END


def test_the_search_finds_what_was_said_and_not_what_the_page_says(open_page: Open, rich_session: Any) -> None:
    page = open_page(rich_session)
    page.locator("#e-answer .block pre").hover()
    expect(page.locator(".copy")).to_be_visible()
    for own in ("11 words", "show less", "copy", "(nothing)"):
        page.fill("#query", own)
        assert lines(page) == []
    page.fill("#query", "done")
    assert lines(page) == ["Done."]
    page.keyboard.press("Enter")
    assert chosen(page) == "e-old-end"
    assert page.evaluate("[...CSS.highlights.get('found')].map(String)") == ["Done"]


def test_filters_leave_out_lines_by_button_and_by_key(open_page: Open, rich_session: Any) -> None:
    page = open_page(rich_session)
    everything = lines(page)
    page.get_by_role("button", name="User").click()
    assert len(lines(page)) == 5
    page.keyboard.press("3")
    assert not [line for line in lines(page) if line.startswith(("bash", "read", "$", "Model"))]
    page.keyboard.press("4")
    assert [line.split(" ")[0] for line in lines(page)] == ["the", "greenAll"]
    expect(page.get_by_role("button", name="Labelled")).to_have_attribute("aria-pressed", "true")
    page.fill("#query", "limiter")
    page.keyboard.press("Enter")
    expect(page.locator("#count")).to_have_text("1 of 2")
    page.fill("#query", "")
    page.get_by_role("button", name="All").click()
    assert lines(page) == everything


def test_a_line_of_the_outline_leads_to_its_branch_and_back_leads_back(open_page: Open, rich_session: Any) -> None:
    page = open_page(rich_session)
    before = shown(page)
    page.locator("#outline").get_by_text("Write it down in the changelog").click()
    assert shown(page) == OLD_END
    assert (chosen(page), in_view(page, "#e-changelog")) == ("e-changelog", True)
    assert page.url.endswith("#e-changelog")
    assert page.locator("#outline li.on").count() == page.locator("#outline li.on:visible").count()
    page.locator("#outline").get_by_text("Never mind").click()
    assert shown(page) == ["model", "thinking", "named", "ask", "which", "wrong"]
    page.go_back()
    assert shown(page) == OLD_END
    page.go_back()
    assert shown(page) == before
    page.go_forward()
    assert shown(page) == OLD_END


def test_the_switch_in_the_conversation_shows_the_other_branch_in_place(open_page: Open, rich_session: Any) -> None:
    page = open_page(rich_session)
    switch = page.locator("#e-left > .fork")
    expect(switch).to_have_text("‹2 / 2›")
    switch.scroll_into_view_if_needed()
    before = switch.bounding_box()
    switch.get_by_label("Previous branch").click()
    assert shown(page) == OLD_END
    other = page.locator("#e-changelog > .fork")
    expect(other).to_have_text("‹1 / 2›")
    after = other.bounding_box()
    assert before is not None
    assert after is not None
    assert abs(before["y"] - after["y"]) < 2
    expect(other.get_by_label("Next branch")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#e-end")).to_be_attached()
    assert "left" in shown(page)


def test_brackets_go_from_branch_to_branch(open_page: Open, rich_session: Any) -> None:
    page = open_page(rich_session, "#e-look")
    page.keyboard.press("]")
    assert "look" in shown(page)
    page.keyboard.press("[")
    assert shown(page) == ["model", "thinking", "named", "ask", "which", "wrong"]
    page.keyboard.press("]")
    assert "look" in shown(page)


def test_a_link_opens_the_page_at_an_entry_on_its_branch(open_page: Open, rich_session: Any) -> None:
    page = open_page(rich_session, "#e-write")
    assert shown(page) == OLD_END
    expect(page.locator("#e-write")).to_be_visible()
    assert (chosen(page), in_view(page, "#e-write")) == ("e-write", True)
    page.evaluate("location.hash = '#e-wrong'")
    page.wait_for_function("!document.getElementById('e-wrong').hidden")
    assert chosen(page) == "e-wrong"
    page.evaluate("location.hash = '#e-nowhere'")
    assert chosen(page) == "e-wrong"
    page.evaluate("location.hash = '#e-answer'")
    top = "document.getElementById('e-answer').getBoundingClientRect().top"
    page.wait_for_function(f"44 < {top} && {top} < 70")  # Right below the bar.


@pytest.mark.parametrize("id", ["a b/c#d%20?", "é", "__proto__", "x'y(z)"])
def test_a_link_may_be_to_an_odd_id(open_page: Open, session: Any, id: str) -> None:
    from urllib.parse import quote

    session.user("one", id=id)
    session.leaf = None
    session.user("two", id="two")
    page = open_page(session, f"#e-{quote(id, safe='/')}")
    expect(page.locator("#conversation > .e:not([hidden]) > .said")).to_have_text("one")


def test_every_message_has_a_link_to_copy(open_page: Open, rich_session: Any) -> None:
    page = open_page(rich_session, permissions=["clipboard-read", "clipboard-write"])
    page.locator("#e-answer > .meta .link").click()
    expect(page.locator("#told")).to_have_text("Link copied")
    assert clipboard(page) == page.url
    assert page.url.endswith("#e-answer")
    page.locator("#e-answer .block pre").hover()
    page.locator(".copy").click()
    expect(page.locator("#told")).to_have_text("Text copied")
    assert clipboard(page).startswith("def allows(self")


def test_short_code_can_be_copied_without_a_mouse(open_page: Open, rich_session: Any) -> None:
    page = open_page(rich_session, "#e-answer", permissions=["clipboard-read", "clipboard-write"])
    for _ in ("the thinking", "the code"):
        page.keyboard.press("Tab")
    expect(page.locator("#e-answer .code pre")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#told")).to_have_text("Text copied")
    assert clipboard(page).startswith("def allows(self")


def test_a_diff_is_copied_with_its_signs_and_without_its_numbers(open_page: Open, rich_session: Any) -> None:
    page = open_page(rich_session, "#e-edit", permissions=["clipboard-read", "clipboard-write"])
    diff = page.locator("#e-edit .diff")
    diff.hover()
    diff.get_by_role("button", name="Copy").click()
    expect(page.locator("#told")).to_have_text("Text copied")
    whole = clipboard(page).split("\n")
    assert [line[:5] for line in whole] == ["@@ -9", "     ", " ", "-    ", "+    ", "     ", "     ", "     "]
    gone, come = diff.locator(".del").element_handle(), diff.locator(".add").element_handle()
    page.evaluate("([gone, come]) => getSelection().setBaseAndExtent(gone, 0, come, 2)", [gone, come])
    page.keyboard.press("ControlOrMeta+c")
    assert clipboard(page).split("\n") == whole[3:5]


def test_u_goes_from_prompt_to_prompt_and_back(open_page: Open, rich_session: Any) -> None:
    page = open_page(rich_session)
    prompts = page.locator("article.user:visible").count()
    assert prompts > 1
    seen = []
    for _ in range(prompts):
        page.keyboard.press("u")
        assert page.locator(".at.user").count() == 1
        seen.append(chosen(page))
    assert len(set(seen)) == prompts
    page.keyboard.press("U")
    assert chosen(page) == seen[-2]


def test_j_and_k_go_from_message_to_message(open_page: Open, rich_session: Any) -> None:
    page = open_page(rich_session)
    seen = []
    for key in "jjjk":
        page.keyboard.press(key)
        seen.append(chosen(page))
        assert in_view(page, ".at")
    assert seen == ["e-ask", "e-look", "e-read-call", "e-look"]
    expect(page.locator("#e-look")).to_be_focused()
    assert page.locator("#outline [aria-current]").count() == 1


def test_arrows_walk_along_the_outline(open_page: Open, rich_session: Any) -> None:
    page = open_page(rich_session)
    page.keyboard.press("2")
    page.focus("#query")
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    assert chosen(page) == "e-wrong"


def test_tab_leads_to_the_outline_whatever_is_left_of_it(open_page: Open, rich_session: Any) -> None:
    page = open_page(rich_session, "#e-read")
    stop = page.locator("#outline a[tabindex='0']")
    for key in "2341":
        page.keyboard.press(key)
        expect(stop).to_be_visible()
    page.fill("#query", "no such words")
    expect(page.get_by_text("Nothing to show.")).to_be_visible()
    page.fill("#query", "changelog")
    expect(page.get_by_text("Nothing to show.")).to_be_hidden()
    page.get_by_role("button", name="Labelled").focus()
    page.keyboard.press("Tab")
    expect(stop).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(stop).to_be_focused()
    expect(stop).to_have_accessible_name("write CHANGELOG.md")


def test_light_and_dark_follow_the_system_until_someone_chooses(open_page: Open, rich_session: Any) -> None:
    page = open_page(rich_session, color_scheme="dark")
    background = "getComputedStyle(document.documentElement).backgroundColor"
    dark = page.evaluate(background)
    page.keyboard.press("d")
    light = page.evaluate(background)
    assert dark != light
    assert page.evaluate("Object.entries(localStorage)") == [["linnet-theme", "light"]]
    # A busy browser may lose what was written a moment before the reload; the page is not to blame, and finds it here.
    page.add_init_script("localStorage.setItem('linnet-theme', 'light')")
    page.reload()
    assert page.evaluate(background) == light
    page.locator("#theme").click()
    assert page.evaluate(background) == dark


def test_whatever_a_command_printed_can_be_read_in_the_light_and_in_the_dark(open_page: Open, session: Any) -> None:
    inks = ["", "2", "7", *map(str, (*range(30, 38), *range(90, 98)))]
    grounds = ["", "48;5;18", "48;5;244", "48;2;255;255;0", *map(str, (*range(40, 48), *range(100, 108)))]
    codes = [f"{ink};{ground}".strip(";") for ink in inks for ground in grounds]
    session.tool("bash", {"command": "colours"}, " ".join(f"\x1b[{code}m{code}\x1b[0m" for code in codes if code))
    page = open_page(session)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found = contrasts(page, ".out span")
        assert {"97;40", "97;48;5;18", "37;41", "30;42", "2"} <= set(found)
        assert {code: seen for code, seen in found.items() if seen < 4.5} == {}


def test_what_is_written_from_right_to_left_starts_at_the_right(open_page: Open, session: Any) -> None:
    session.user("שלום!\n\nhello", id="ask")
    session.reply("שלום עולם.\n\n- ראשון\n\n  ```\n  code\n  ```\n\n> ציטוט\n\n| עברית |\n|---|\n| כן |", id="rtl")
    session.reply("Hello.\n\n- first", id="ltr")
    page = open_page(session)
    sides = {"#e-rtl .prose > p": "right", "#e-rtl li": "right", "#e-rtl li pre": "left", "#e-ltr .prose > p": "left"}
    assert {selector: starts(page, selector) for selector in sides} == sides
    assert page.eval_on_selector("#e-rtl blockquote", "e => getComputedStyle(e).borderRightWidth") == "3px"
    assert page.eval_on_selector("#e-ltr ul", "e => getComputedStyle(e).paddingRight") == "0px"


def test_help_opens_and_escape_closes_it(open_page: Open, rich_session: Any) -> None:
    page = open_page(rich_session)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    page.keyboard.press("j")
    assert page.locator(".at").count() == 0
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_a_picture_grows_when_it_is_clicked(open_page: Open, rich_session: Any) -> None:
    page = open_page(rich_session)
    page.locator("#e-shot .shot").click()
    large = page.locator("#large img")
    expect(large).to_be_visible()
    assert page.evaluate("document.querySelector('#large img').naturalWidth") == 320
    large.click()
    expect(large).to_be_hidden()


def test_on_a_phone_nothing_is_too_wide_and_the_outline_is_a_drawer(open_page: Open, rich_session: Any) -> None:
    page = open_page(rich_session, viewport=PHONE)
    page.keyboard.press("t")
    page.keyboard.press("h")
    assert overflow(page) == 0
    expect(page.locator("#side")).to_be_hidden()
    page.get_by_role("button", name="Outline").click()
    expect(page.locator("#side")).to_be_visible()
    layers = page.eval_on_selector_all("#side, #veil, #bar", "all => all.map(e => getComputedStyle(e).zIndex)")
    assert layers == sorted(layers, reverse=True)
    assert len(set(layers)) == 3
    page.keyboard.press("Escape")
    expect(page.locator("#side")).to_be_hidden()
    page.get_by_role("button", name="Outline").click()
    page.locator("#outline").get_by_text("Write it down in the changelog").click()
    expect(page.locator("#side")).to_be_hidden()
    assert in_view(page, "#e-changelog")
    assert overflow(page) == 0


@pytest.mark.parametrize("width", [375, 1280])
def test_a_hostile_session_is_only_words(open_page: Open, hostile_session: Any, width: int) -> None:
    page = open_page(hostile_session, viewport={"width": width, "height": 800})
    page.keyboard.press("t")
    page.keyboard.press("h")
    page.keyboard.press("/")
    page.keyboard.type("pwned")
    expect(page.locator("#count")).to_have_text(re.compile(r"^[2-9]\d matches$"))
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    page.keyboard.press("[")
    assert page.evaluate("[window.pwned, document.scripts.length, document.images.length]") == [None, 2, 1]
    assert page.evaluate("document.querySelectorAll('iframe, object, embed, base, form, link, svg').length") == 0
    assert overflow(page) == 0
    expect(page.locator("h1")).to_be_visible()


def test_without_its_script_the_branch_can_be_read(open_page: Open, rich_session: Any) -> None:
    page = open_page(rich_session, java_script_enabled=False)
    expect(page.locator("#e-end")).to_be_visible()
    expect(page.locator("#e-wrong")).to_be_hidden()
    expect(page.locator("#query")).to_be_hidden()
    expect(page.locator("noscript p")).to_be_visible()
    page.locator("#e-look .thinking > summary").click()
    expect(page.locator("#e-look .thinking > .prose")).to_be_visible()


def test_paper_gets_the_words_and_no_buttons(open_page: Open, rich_session: Any) -> None:
    page = open_page(rich_session, viewport={"width": 720, "height": 1000})
    page.emulate_media(media="print")
    for hidden in ("#side", "#bar", ".fork >> nth=0", ".link >> nth=0"):
        expect(page.locator(hidden)).to_be_hidden()
    expect(page.locator("#e-end")).to_be_visible()
    assert overflow(page) == 0


def test_paper_cuts_nothing_off(open_page: Open, session: Any) -> None:
    diff = f"@@ -1 +1 @@\n-{'old ' * 80}\n+{'new ' * 80}\n"
    session.tool("edit", {"path": "x", "edits": []}, diff, details={"diff": diff})
    session.reply(f"|{' a head |' * 12}\n|{'---|' * 12}\n|{' something |' * 12}")
    page = open_page(session, viewport={"width": 700, "height": 1000})
    page.keyboard.press("t")
    page.emulate_media(media="print")
    is_cut = "all => all.filter(e => e.scrollWidth > e.clientWidth).map(e => e.className || e.parentElement.className)"
    assert page.eval_on_selector_all("pre, .table", is_cut) == []
    assert overflow(page) == 0


def test_five_thousand_entries_are_still_a_page_to_work_with(open_page: Open, long_session: Any) -> None:
    page = open_page(long_session)
    is_drawn = "all => all.filter(e => e.checkVisibility({ contentVisibilityAuto: true })).length"
    assert 0 < page.eval_on_selector_all("#conversation > .e > .said", is_drawn) < 100
    page.keyboard.press("/")
    page.keyboard.type("limiter77")
    expect(page.locator("#count")).to_have_text("3 matches")
    page.keyboard.press("Enter")
    assert in_view(page, ".at")
    page.keyboard.press("Escape")
    last = page.locator("#outline li:last-child")
    last.scroll_into_view_if_needed()
    last.click()
    assert in_view(page, ".at")
    page.keyboard.press("[")
    expect(page.locator(".at .fork")).to_have_text(re.compile(r"1 / 2"))


def test_a_session_in_which_nothing_was_said_is_a_page_too(open_page: Open, session: Any) -> None:
    page = open_page(session)
    for key in "jk[]nthd/":
        page.keyboard.press(key)
    page.keyboard.type("x")
    expect(page.locator("#count")).to_have_text("0 matches")
    expect(page.get_by_text("Nothing was said.")).to_be_visible()


def test_where_the_conversation_was_taken_back_what_followed_is_a_click_away(
    open_page: Open, rich_session: Any
) -> None:
    from copy import copy

    back = copy(rich_session)
    back.leaf = "look"
    page = open_page(back)
    assert shown(page) == MAIN
    page.get_by_text("Show what followed here on another branch").click()
    expect(page.locator("#e-end")).to_be_attached()
    assert shown(page)[-1] == "end"
    expect(page.locator("#onward")).to_be_hidden()
