"""Markdown is shown as what it means, code as what it is, and neither can do anything."""

import itertools
import re
from html import unescape

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from linnet.export.html.escape import clean
from linnet.export.html.highlight import MOST_IN_A_BLOCK, Highlighter
from linnet.export.html.markdown import MOST, Markdown

unhurried = settings(deadline=None)  # The first to need a lexer waits for its import.
TAG = re.compile(r"<[^>]*>")
syntax = st.sampled_from(["[x](", ")", "![", "](", "`", "```", "\n", "|", "---", "# ", "> ", "- ", "&colon;", "    "])
hooks = st.sampled_from(["<img src=x onerror=y>", "<a href='javascript:x'>", "<!--", "]]>", "</script>", "\x00"])
places = st.sampled_from(["javascript:alert(1)", "data:text/html,x", 'https://a.example/"onclick='])
texts = st.lists(syntax | hooks | places | st.text(max_size=5)).map("".join)
HARMLESS = re.compile(
    r"</?(?:p|h[3-6]|ul|ol|li|em|strong|s|code|pre|hr|br|blockquote|thead|tbody|tr|th|td|figcaption|table|a) ?/?>"
    r'|<(?:ul|ol|blockquote)(?: start="\d+")? dir="auto">'
    r'|<t[hd] class="(?:left|right|center)">|</?(?:div|span|figure)(?: class="[a-z ]+")?>'
    r'|<a href="(?:https?://|mailto:)[^"<>\s]*" rel="noopener noreferrer nofollow">',
    re.IGNORECASE,
)


def reply(text: str) -> str:
    return Markdown(Highlighter()).reply(text)


def prompt(text: str) -> str:
    return Markdown(Highlighter()).prompt(text)


def words(html: str) -> str:
    return unescape(TAG.sub("", html))


@unhurried
@example("[x]()")
@given(texts)
def test_nothing_but_harmless_tags_comes_out(text: str) -> None:
    for tag in TAG.findall(reply(text) + prompt(text)):
        assert HARMLESS.fullmatch(tag), tag


# Nothing of this may become a link, here or on the page of a server.
NO_LINKS = [
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:x)",
    "[x](file:///etc/passwd)",
    "[x](ftp://a.example/x)",
    "<ftp://a.example/x>",
    "[x]: ftp://a.example/x\n\n[x]",
    "[x](ssh://a.example)",
    "[x](tel:112)",
    "[x](https:a.example)",
    "[x](http:/a.example)",
    "[x](https://)",
    "[x](mailto:)",
    "[x](xhttps://a.example)",
    "[x](#e-1)",
    "[x](//evil.example)",
    "[x](notes.md)",
    "<javascript:alert(1)>",
    "[x]: javascript:alert(1)\n\n[x]",
    "<b onclick=alert(1)>x</b>",
    "[x]()",
    "![x]()",
]


@pytest.mark.parametrize("text", NO_LINKS)
def test_a_link_that_leads_elsewhere_is_no_link(text: str) -> None:
    assert "href" not in reply(text)
    assert "<b" not in reply(text)


def test_links_lead_to_the_web_or_to_a_mailbox() -> None:
    shown = reply('[x](https://a.example "onclick=1") <mailto:a@b.example>')
    assert shown.count('rel="noopener noreferrer nofollow"') == 2
    assert "onclick" not in shown


def test_a_picture_is_named_and_not_loaded() -> None:
    assert reply("![a cat](https://a.example/cat.png)") == (
        '<p><span class="picture">a cat · https://a.example/cat.png</span></p>\n'
    )


def test_tables_have_sides_and_no_styles() -> None:
    shown = reply("|a|b|\n|:-:|--:|\n|1|2|")
    assert '<td class="center">1</td>' in shown
    assert '<td class="right">2</td>' in shown


def test_headings_start_below_those_of_the_page() -> None:
    assert (reply("# a"), reply("##### b")) == ("<h3>a</h3>\n", "<h6>b</h6>\n")


def test_code_is_coloured_by_its_language() -> None:
    assert '<span class="k">def </span>' in reply("```python\ndef f(): ...\n```")
    assert "<figcaption>python</figcaption>" in reply("```python\nx\n```")
    assert "span" not in reply("```nosuchlanguage\ndef f(): ...\n```")


def test_what_is_too_long_for_prose_is_shown_as_it_is() -> None:
    assert "<strong>" not in reply("**x** " * MOST)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a *b*\n  - c\n# d", "<p>a *b*\n  - c\n# d</p>"),
        ("  1. a\n  2. b", "<p>  1. a\n  2. b</p>"),
        ("say `x < y` now", "<p>say <code>x &lt; y</code> now</p>"),
        ("a\n```\nnever <closed>", '<p>a</p><figure class="block code"><pre>\nnever &lt;closed&gt;</pre></figure>'),
        ("``` is `not` a fence", "<p>``` is <code>not</code> a fence</p>"),
        (
            "look:\n```js\nlet a\n```\nwell",
            (
                '<p>look:</p><figure class="block code"><figcaption>js</figcaption>'
                '<pre>\n<span class="k">let </span>a</pre></figure><p>well</p>'
            ),
        ),
    ],
)
def test_what_people_typed_stays_as_they_typed_it(text: str, shown: str) -> None:
    assert prompt(text) == f'<div class="typed">{shown}</div>'


LANGUAGES = [
    "python",
    "js",
    "html",
    "json",
    "bash",
    "diff",
    "rust",
    "c",
    "sql",
    "yaml",
    "markdown",
    "pycon",
    "php",
    "css",
]


@unhurried
@given(st.text() | texts, st.sampled_from(LANGUAGES))
def test_colouring_changes_no_word(code: str, language: str) -> None:
    lines = Highlighter().by_language(code, language)
    assert [words(line) for line in lines] == clean(code).split("\n")


@pytest.mark.parametrize(
    ("path", "code"),
    [("a/b.py", "import x"), ("Makefile", "all: x\n\ttouch x"), ("c:\\x\\y.rs", "fn main() {}"), ("q.sql", "select 1")],
)
def test_a_file_is_coloured_by_its_name(path: str, code: str) -> None:
    assert any("<span" in line for line in Highlighter().by_file(code, path))


@pytest.mark.parametrize("path", ["", "x", "a.nosuch", "…/\ud800.\ud800", "a." + "x" * 500, "[.]*", "."])
def test_a_file_of_no_known_kind_stays_plain(path: str) -> None:
    assert Highlighter().by_file("import x", path) == ["import x"]


def test_what_is_too_much_stays_plain() -> None:
    assert Highlighter().by_language("x = 1\n" * MOST_IN_A_BLOCK, "python")[0] == "x = 1"
    assert Highlighter().by_language("x = 1;" * 1000, "python") == ["x = 1;" * 1000]
    few = Highlighter(most=10)
    assert few.by_language("x = 1", "python") == ['x = <span class="n">1</span>']
    assert few.by_language("yy = 1", "python") == ["yy = 1"]


def test_code_that_keeps_a_lexer_busy_stays_plain() -> None:
    ticks = itertools.count()
    hasty = Highlighter(clock=lambda: next(ticks) * 0.4)  # Two seconds are over after five words.
    assert hasty.by_language("x = 1", "python") == ['x = <span class="n">1</span>']
    assert hasty.by_language("x = 1 + 1", "python") == ["x = 1 + 1"]
    for _ in range(20):
        hasty.by_language(f"x = 1 + {next(ticks)}", "python")
    assert hasty.by_language("y = 1", "python") == ["y = 1"]


@pytest.mark.parametrize("language", ["systemd", "tnt", "autoit"])
def test_some_languages_are_not_worth_the_wait(language: str) -> None:
    text = " " * 900 + "(" * 90
    assert Highlighter().by_language(text, language) == [text]


lines_of_prose = st.text("ab .,:;!?-+=#>'\"&<*_`~[]()|\\1\t\u00e9\u00a0\u2028", max_size=8)


@unhurried
@given(
    st.lists(lines_of_prose | st.sampled_from(["", "word", "Two words.  ", "1. x", "a  "]), max_size=5).map("\n".join)
)
@example("word \n\nword")
@example("word  \nword")
@example("word\n\n\n  word")
@example("word\n===")
@example("a | b\n- | -")
def test_prose_that_needs_no_parser_is_what_the_parser_makes_of_it(text: str) -> None:
    parser = MarkdownIt("commonmark", {"html": False, "xhtmlOut": False}).enable(["table", "strikethrough"])
    parsed = parser.render(clean(text))
    if set(TAG.findall(parsed)) <= {"<p>", "</p>"}:
        assert reply(text) == parsed
    else:
        assert not set(TAG.findall(reply(text))) <= {"<p>", "</p>"}
