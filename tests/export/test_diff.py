"""Diffs, as unified hunks and with pi's numbers."""

import re
from html import unescape

from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.export.html.block import block
from linnet.export.html.diff import is_unified, lines, replaced
from linnet.export.html.escape import clean

unhurried = settings(deadline=None)
LINE = re.compile(r'<span class="l (\w+)"(?: data-l="(\d+)")?>(?:<i>([-+ ])</i>)?([^<]*)</span>')
SIGNS = {"add": "+", "del": "-", "same": " "}
rows = st.lists(st.text(st.characters(exclude_characters="\n\r")), min_size=1)


def seen(diff: str) -> list[tuple[str, str, str]]:
    shown = [found for line in lines(diff) if (found := LINE.fullmatch(line))]
    assert all(found[3] == SIGNS.get(found[1]) for found in shown)
    return [(found[1], found[2] or "", unescape(found[4])) for found in shown]


def test_hunks_number_the_lines_they_show() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -3,3 +3,3 @@ def f():\n same\n-old\n+new <b>\n more\n@@ -20 +20,2 @@\n same\n+--- x\n"
    assert seen(diff) == [
        ("head", "", "--- a/x"),
        ("head", "", "+++ b/x"),
        ("hunk", "", "@@ -3,3 +3,3 @@ def f():"),
        ("same", "3", "same"),
        ("del", "4", "old"),
        ("add", "4", "new <b>"),
        ("same", "5", "more"),
        ("hunk", "", "@@ -20 +20,2 @@"),
        ("same", "20", "same"),
        ("add", "21", "--- x"),
    ]


def test_a_line_that_looks_like_a_heading_is_a_line_within_a_hunk() -> None:
    assert seen("@@ -1,2 +1 @@\n--- x\n-y\n+z\n\\ No newline at end of file")[1:] == [
        ("del", "1", "-- x"),
        ("del", "2", "y"),
        ("add", "1", "z"),
        ("hunk", "", "\\ No newline at end of file"),
    ]


def test_pis_lines_have_their_numbers_in_them() -> None:
    assert seen("  9 same\n-10 old\n+10 new\n    ...\n 99 more\n") == [
        ("same", "9", "same"),
        ("del", "10", "old"),
        ("add", "10", "new"),
        ("hunk", "", "..."),
        ("same", "99", "more"),
    ]


def test_only_what_has_a_hunk_is_a_diff() -> None:
    assert is_unified("diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b")
    assert not is_unified("--- a heading\n\nand text")
    assert not is_unified("see:\n@@ -1 +1 @@\n-a\n+b")


def test_a_change_that_was_not_made_shows_what_was_asked() -> None:
    assert replaced("a\nb\n", "") == ['<span class="l del"><i>-</i>a</span>', '<span class="l del"><i>-</i>b</span>']


def test_what_is_around_the_hunks_is_shown_as_it_is() -> None:
    assert seen("diff a b\nOnly in a: x\n@@ -1 +1 @@\n-y\n+z\n\nbye") == [
        ("head", "", "diff a b"),
        ("plain", "", "Only in a: x"),
        ("hunk", "", "@@ -1 +1 @@"),
        ("del", "1", "y"),
        ("add", "1", "z"),
        ("plain", "", " "),
        ("plain", "", "bye"),
    ]


@unhurried
@given(rows)
def test_whatever_comes_every_line_is_shown_once(texts: list[str]) -> None:
    for diff in ("\n".join(texts), "@@ -1,2 +1,2 @@\n" + "\n".join(texts)):
        shown = lines(diff)
        assert len(shown) == len(diff.removesuffix("\n").split("\n"))
        assert all(LINE.fullmatch(line) for line in shown)


@unhurried
@given(rows)
def test_all_that_was_added_is_there(texts: list[str]) -> None:
    head = f"@@ -0,0 +1,{len(texts)} @@\n"
    added = [text for kind, _, text in seen(head + "\n".join(f"+{text}" for text in texts)) if kind == "add"]
    assert added == [clean(text) for text in texts]


def test_a_long_block_shows_its_beginning_and_how_much_there_is() -> None:
    shown = block([str(n) for n in range(1200)])
    before, after = shown.split("<details")
    assert before.endswith("19</pre>")
    assert "Show all 1,200 lines" in after
    assert "details" not in block([str(n) for n in range(24)])
    assert block(["", ""]) == ""
    assert block(["", *"ab", *[""] * 300_000]).count("\n") == 3
