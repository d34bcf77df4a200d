"""Any session, however odd, becomes one whole page that does nothing of its own accord."""

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.core import messages
from linnet.core.events import Compaction
from linnet.core.messages import Image, Text, Thinking, ToolCall, Usage
from linnet.export.page import page
from linnet.export.tree import PageTree, is_shown
from linnet.store import entries
from linnet.store.entries import Custom, Entry, Labelled, ModelChanged, Moved, Said, Unknown
from linnet.store.header import Header

Check = Callable[[str], Any]
DAY = 86_400_000
DAYS = re.compile(r'<p class="day">(.*?)</p>')

ids = st.sampled_from(["a", "b", "c", "d", "", "x y", "<b>", "é", "\ud800", "a~2", "%61"])
words = st.sampled_from(
    ["", "hello", "<script>x</script>", "`code`", "\x1b[31mred", "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b"]
)
values = st.recursive(st.none() | st.integers() | words, lambda inner: st.dictionaries(words, inner, max_size=2))
images = st.builds(Image, st.sampled_from(["image/png", "text/html"]), st.sampled_from(["", "iVBORw0KGgo=", "é", '"']))
calls = st.builds(
    ToolCall, ids, st.sampled_from(["bash", "read", "edit", "write", "other"]), st.dictionaries(words, values)
)
parts = st.lists(st.builds(Text, words) | images, max_size=2).map(tuple)
said = st.one_of(
    st.builds(messages.UserMessage, parts, st.integers()),
    st.builds(
        messages.AssistantMessage,
        st.lists(st.builds(Text, words) | st.builds(Thinking, words) | calls, max_size=3).map(tuple),
        st.integers(),
        words,
        words,
        st.builds(Usage, st.integers(), st.integers()),
        st.sampled_from(["end", "tool_use", "length", "error", "aborted"]),
        words,
    ),
    st.builds(
        messages.ToolResult, ids, words, parts, st.integers(), st.booleans(), st.none() | st.just({"diff": "+1 x"})
    ),
    st.builds(messages.BashRun, words, words, st.none() | st.integers(), st.integers()),
    st.builds(messages.Summary, words, st.integers(), st.integers()),
    st.builds(messages.BranchSummary, words, ids, st.integers()),
    st.builds(messages.Note, words, parts, st.integers(), st.booleans()),
)
contents: st.SearchStrategy[entries.Content] = st.one_of(
    said.map(Said),
    st.builds(messages.Summary, words, st.integers(), st.integers()).map(
        lambda summary: entries.Compacted(Compaction(summary, 0, "", ("<x>",), (), Usage()))
    ),
    st.builds(entries.ModelChanged, words, words),
    st.builds(entries.ThinkingChanged, words),
    st.builds(entries.Named, words),
    st.builds(Labelled, ids, words),
    st.builds(Custom, st.sampled_from(["own", "<b>"]), values),
    st.just(Moved()),
    st.just(Unknown()),
)
times = st.sampled_from(["", "2026-11-16T10:00:00.000Z", "yesterday", "0001-01-01T00:00:00+14:00"])
lines = st.builds(
    Entry, ids, st.none() | ids, times, words, contents, st.sampled_from([b"", b"{}", b'{"a":1}', b"\xff<"])
)
headers = st.builds(Header, ids, times, words, st.none() | words)


def shape(html: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="tree">(.*?)</script>', html)
    assert found
    told: dict[str, Any] = json.loads(found[1])
    return told


def user(id: str, parent: str | None, text: str = "hi") -> Entry:
    return Entry(id, parent, "", "message", Said(messages.UserMessage((Text(text),), 0)), b"")


@settings(max_examples=150, deadline=None)
@given(headers, st.lists(lines, max_size=12), st.none() | ids)
def test_any_tree_of_entries_becomes_a_whole_page(
    check: Check, header: Header, some: list[Entry], leaf: str | None
) -> None:
    html = "".join(page(header, some, leaf))
    found = check(html)
    shown = [entry for entry in some if is_shown(entry)]
    anchors = [id for id in found.ids if id.startswith("e-")]
    assert len(anchors) == len(shown)
    for entry in shown:
        if re.fullmatch(r"\w*", entry.id, re.ASCII):
            assert f"e-{entry.id}" in anchors
    told = shape(html)
    assert len(told["up"]) == len(told["newest"]) == len(shown)
    assert all(up < at <= newest for at, (up, newest) in enumerate(zip(told["up"], told["newest"], strict=True)))


@settings(deadline=None)
@given(st.lists(lines, max_size=12), st.none() | ids)
def test_what_is_not_hidden_is_one_branch_from_its_root_to_its_end(some: list[Entry], leaf: str | None) -> None:
    tree = PageTree(some, leaf)
    path = [node for node in tree.nodes if node.current]
    assert [node.parent for node in path] == [None, *(node.index for node in path)][: len(path)]
    assert bool(path) == bool(tree.nodes)
    assert sum(len(node.children) for node in tree.nodes) + len(tree.roots) == len(tree.nodes)
    for node in tree.nodes:
        assert tree.siblings(node)[node.rank] == node.index
        assert not tree.nodes[node.newest].children


def test_the_hostile_session_is_only_words(check: Check, hostile_session: Any) -> None:
    found = check(hostile_session.html())
    assert any("window.pwned=1</script>" in text for text in found.text)


def test_the_rich_session_says_what_it_is_about(check: Check, rich_session: Any) -> None:
    html = rich_session.html()
    found = check(html)
    for fact in ("The limiter and the clock", "/src/kettle", "claude-sonnet-4-5", "16 November 2026, 10:00 UTC", "25"):
        assert fact in found.text
    assert "for the model alone" not in html
    assert {"e-moved", "e-label", "e-unseen"}.isdisjoint(found.ids)
    assert "2026-11-15T20-42-55_0b1e.jsonl" in found.text


@pytest.mark.parametrize(
    "some",
    [
        [user("a", "b"), user("b", "a")],
        [user("a", "a")],
        [user("a", "gone"), user("b", "a")],
        [user("a", None), user("a", None), user("b", "a"), user("a", "b")],
        [user("c", "b"), user("b", "a"), user("a", "c"), user("d", "c")],
    ],
    ids=["a circle", "its own parent", "no parent", "the same id", "three in a circle"],
)
def test_odd_trees_lose_nobody(check: Check, some: list[Entry]) -> None:
    html = "".join(page(Header("h"), some, some[-1].id))
    check(html)
    assert html.count('<article class="e user"') == len(some)


def test_a_conversation_can_be_deep_or_wide(check: Check) -> None:
    deep = [user(str(n), str(n - 1)) for n in range(20_000)]
    wide = [user(str(n), None) for n in range(20_000)]
    assert PageTree(deep, "19999").end == 19_999
    assert len(PageTree(deep[::-1], "0").nodes) == 20_000
    assert len(PageTree(wide, "3").roots) == 20_000
    check("".join(page(Header("h"), deep[:3000], "2999")))


def test_deeply_nested_arguments_are_not_followed_to_the_end(check: Check, session: Any) -> None:
    value: Any = "x"
    for _ in range(5_000):
        value = [value]
    session.tool("odd", {"value": value, "half": "\ud800"}, "done")
    session.add(Unknown(), line=b"[" * 5_000 + b"]" * 5_000)
    session.tool("odd", {"half": "\ud800", "1": 1.5}, "done")
    assert "\\ud800" in "".join(check(session.html()).text)


def test_a_mark_of_where_we_went_is_where_we_are(session: Any) -> None:
    session.user("one", id="one")
    session.reply("two", id="two")
    session.leaf = "one"
    session.add(Moved(), "moved", "custom")
    tree = PageTree(session.entries, "moved")
    assert [node.entry.id for node in tree.nodes if node.current] == ["one"]
    session.reply("three", id="three")
    tree = PageTree(session.entries, "three")
    assert [node.entry.id for node in tree.nodes if node.current] == ["one", "three"]
    assert [tree.nodes[index].entry.id for index in tree.nodes[0].children] == ["two", "three"]


def test_before_the_beginning_or_nowhere_the_newest_branch_is_shown() -> None:
    some = [user("a", None), user("b", None), user("c", "a")]
    for leaf in (None, "nowhere"):
        assert [node.entry.id for node in PageTree(some, leaf).nodes if node.current] == ["a", "c"]
    html = "".join(page(Header("h"), [], None))
    assert "Nothing was said." in html


def test_a_result_is_shown_with_the_call_above_it(session: Any) -> None:
    call = ToolCall("c", "read", {"path": "x.py"})
    session.reply(call, id="asks")
    session.result(call, "import x", id="first")
    session.leaf = "asks"
    session.result(call, "import y", id="second", is_error=True)
    session.leaf = None
    session.result(call, "of nobody", id="orphan")
    tree = PageTree(session.entries, "second")
    owners = {node.entry.id: node.owner for node in tree.nodes}
    assert owners["asks"] is owners["orphan"] is None
    assert owners["first"] == owners["second"] is not None
    html = session.html()
    assert html.count('<details class="call">') == 1
    assert "Result of read" in html


@pytest.mark.parametrize(
    ("args", "text", "options", "shown"),
    [
        (("read", {"path": "x.py"}), "import x\n\n[Lines 1-1 of a longer file.]", {}, '<span class="k">import </span>'),
        (("read", {"path": "x.py", "offset": 5, "limit": 10}), "import x", {}, "x.py:5–14"),
        (("read", {"path": "x.py"}), "no such file", {"is_error": True}, '<span class="verdict failed">failed</span>'),
        (("write", {"path": "x.py", "content": "import x"}), "Wrote it", {}, '<p class="remark">Wrote it</p>'),
        (
            ("edit", {"path": "x", "oldText": "a", "newText": "b"}),
            "no",
            {"is_error": True},
            '<span class="l del"><i>-</i>a',
        ),
        (
            ("edit", {"path": "x", "edits": []}),
            "ok",
            {"details": {"diff": "-12 a\n+12 b"}},
            'class="l add" data-l="12"',
        ),
        (("bash", {"command": "ls"}), "$ ls\n\n\x1b[34mx\x1b[0m", {}, '<pre>\n<span class="f4">x</span></pre>'),
        (
            ("bash", {"command": "git diff"}),
            "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b",
            {},
            '<span class="l add" data-l="1"><i>+</i>b',
        ),
        (("bash", {"command": "x", "timeout": 5}), "", {}, '<p class="remark">timeout: 5</p>'),
        (("grep", {"path": "src", "pattern": "<x>"}), "{}", {}, '<span class="arg">&lt;x&gt;</span>'),
        (("odd", {}), '{"a": 1}', {}, '<span class="k">&quot;a&quot;</span>'),
    ],
)
def test_a_call_is_shown_as_its_tool_deserves(
    session: Any, args: tuple[str, dict[str, Any]], text: str, options: dict[str, Any], shown: str
) -> None:
    session.tool(*args, text, **options)
    assert shown in session.html()


def test_a_command_of_several_lines_is_told_on_one(session: Any) -> None:
    session.tool("bash", {"command": "ls\n\n  pwd\n"}, "/")
    session.add(Said(messages.BashRun("ls\npwd", "/", 0, 0)))
    html = session.html()
    assert html.count('<span class="arg">ls ↵ pwd</span>') == 2
    assert ">bash ls ↵ pwd</a>" in html
    assert ">$ ls ↵ pwd</a>" in html


def test_a_call_without_a_result_says_so(session: Any) -> None:
    edit = ToolCall("c", "edit", {"path": "x", "edits": [{"oldText": "a", "newText": "b"}]})
    session.reply(ToolCall("d", "bash", {}, "not {json"), edit, stop="tool_use")
    html = session.html()
    assert html.count("no result") == 2
    assert "not {json" in html
    assert '<span class="l add"><i>+</i>b</span>' in html


@pytest.mark.parametrize(
    ("stop", "error", "shown"),
    [("error", "too <hot>", "Failed: too &lt;hot&gt;"), ("aborted", "", ">Aborted<"), ("length", "", "Cut off")],
)
def test_a_reply_that_went_wrong_says_how(session: Any, stop: str, error: str, shown: str) -> None:
    session.reply("half", stop=stop, error=error)
    assert shown in session.html()


def test_a_new_day_has_a_heading_whatever_came_first_on_it(session: Any) -> None:
    session.user("one")
    session.clock += DAY
    session.add(ModelChanged("anthropic", "claude-opus-4-5"), type="model_change")
    session.user("two")
    call = ToolCall("c", "bash", {"command": "sleep 1d"})
    session.reply(call, stop="tool_use")
    session.clock += DAY
    session.result(call, "done")
    session.reply("three")
    session.reply("four")
    assert DAYS.findall(session.html()) == ["17 November 2026", "18 November 2026"]


def test_of_several_beginnings_all_but_the_current_one_are_set_in(session: Any) -> None:
    for id in ("one", "two", "three"):
        session.leaf = None
        session.user(id, id=id)
        session.reply(f"{id}!", id=f"{id}!")
    tree = PageTree(session.entries, "two!")
    assert [(node.entry.id, node.depth) for node in tree.nodes if node.parent is None] == [
        ("one", 1),
        ("three", 1),
        ("two", 0),
    ]
    html = "".join(page(session.header, session.entries, "two!"))
    assert html.count('<li class="u d1 side"') == 2
    assert '<li class="a d1"' in html


@pytest.mark.parametrize(
    ("content", "title"),
    [
        (None, "An empty session"),
        (ModelChanged("anthropic", "claude-sonnet-4-5"), "An empty session"),
        (entries.Compacted(Compaction(messages.Summary("so far", 9, 0), 0, "", (), (), Usage())), "An unnamed session"),
        (Said(messages.UserMessage((Image("image/png", "iVBORw0KGgo="),), 0)), "An unnamed session"),
        (Said(messages.UserMessage((Text("hello"),), 0)), "hello"),
        (entries.Named("mine"), "mine"),
    ],
    ids=["nothing", "a model", "a summary", "a picture", "words", "a name"],
)
def test_what_has_no_name_is_called_by_its_first_words(
    session: Any, content: entries.Content | None, title: str
) -> None:
    if content is not None:
        session.add(content)
    assert f"<title>{title}</title>" in session.html()


@pytest.mark.parametrize(
    ("image", "shown"),
    [
        (Image("image/png", "iVBORw0KGgo="), 'src="data:image/png;base64,iVBORw0KGgo="'),
        (Image("text/html", "/9j/4AAQ"), 'src="data:image/jpeg;base64,/9j/4AAQ"'),
        (Image("image/svg+xml", "PHN2Zz4="), "Image not shown: image/svg+xml"),
        (Image("image/png", 'iVBORw0KGgo="onerror='), "Image not shown: image/png"),
        (Image("", "", "https://a.example/x.png"), "Image not shown: https://a.example/x.png"),
    ],
)
def test_only_pictures_are_pictures(session: Any, image: Image, shown: str) -> None:
    session.user("look", image)
    assert shown in session.html()


def test_the_last_label_counts_and_an_empty_one_takes_it_away(session: Any) -> None:
    session.user("one", id="one")
    session.user("two", id="two")
    for target, label in (("one", "first"), ("one", "second"), ("two", "gone"), ("two", "")):
        session.add(Labelled(target, label), type="label")
    html = session.html()
    assert '<span class="tag">second</span>' in html
    assert html.count('class="tag"') == 2  # On the message, and in the outline.


def test_a_reply_may_ask_for_thousands_of_things_and_cost_more_than_there_is(check: Check, session: Any) -> None:
    calls = [ToolCall(str(n), "bash", {"command": f"echo {n}"}) for n in range(3000)]
    session.reply(*calls, stop="tool_use")
    for call in calls:
        session.result(call, "done")
    spent = Usage(10**400, -5, 0, 10**30, messages.Cost(float("inf"), float("nan")))
    session.add(Said(messages.AssistantMessage((), 10**400, "", "", spent)))
    assert check(session.html()).tags.count("details") == 3000


def test_how_long_it_took_is_told_for_the_session_and_for_what_the_agent_did(session: Any) -> None:
    session.user("go")
    session.reply("gone", id="reply")
    session.user("later")
    html = session.html()
    assert html.count('class="took"') == 1  # Nobody measures how long people think.
    assert '<span class="took" title="how long it took">24 s</span>' in html.partition('id="e-reply"')[2]
    assert "<dt>Duration</dt>" in html


class OneByOne(Sequence[Entry]):
    """Entries that are read as they are asked for."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        self.asked: Counter[int] = Counter()

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, index: Any) -> Any:
        found = self._entries[index]  # What is beyond them ends a loop, and is not asked for.
        self.asked[index] += 1
        return found


def test_a_page_holds_no_entry_but_the_one_that_it_writes(rich_session: Any) -> None:
    """Each is asked for to know what there is, and again to be written; once more if the style sheet needs its colours
    or if it is shown as it is in the file.
    """
    there = OneByOne(rich_session.entries)
    assert "".join(page(rich_session.header, there, rich_session.leaf)) == rich_session.html()
    assert set(there.asked) == set(range(len(there)))
    assert max(there.asked.values()) <= 4
    assert Counter(there.asked.values())[2] > len(there) / 2


def test_every_colour_that_a_command_printed_is_in_the_style_sheet(check: Check, session: Any) -> None:
    session.tool("bash", {"command": "ls"}, "\x1b[38;2;1;2;3mink\x1b[0m")
    session.add(Said(messages.BashRun("ls", "\x9b48;2;4;5;6mground", 0, session.clock)))
    session.leaf = None
    session.result(ToolCall("gone", "bash", {}), "\x1b[48;5;20;38;5;200mboth")
    html = session.html()
    check(html)
    used = set(re.findall(r"\b[fbx]-[0-9a-f]{6}\b", html[html.index("</style>") :]))
    assert {"f-010203", "b-040506"} < used
    style = html[: html.index("</style>")]
    assert all(f".{name}{{" in style for name in used)
