import os
import re
import stat
from itertools import pairwise
from time import process_time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.concurrency.cancel import CancelToken
from linnet.core.messages import ToolCall
from linnet.errors import Cancelled
from linnet.tools.context import ToolContext
from linnet.tools.preview import preview
from linnet.tools.text.diff import diff, numbered
from linnet.tools.text.replace import BOM, SourceText, as_lf, locate

if TYPE_CHECKING:
    from tests.tools.bench import Bench


def edits(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"oldText": old, "newText": new} for old, new in pairs]


def test_several_edits_are_made_at_once_and_answered_with_a_diff(bench: "Bench") -> None:
    path = bench.cwd / "a.txt"
    path.write_text("".join(f"l{number}\n" for number in range(1, 16)))
    output = bench.call("edit", path="a.txt", edits=edits(("l12\n", "L12\nL12b\n"), ("l2\n", "")))
    expected = (
        "@@ -1,5 +1,4 @@\n l1\n-l2\n l3\n l4\n l5\n"
        "@@ -9,7 +8,8 @@\n l9\n l10\n l11\n-l12\n+L12\n+L12b\n l13\n l14\n l15\n"
    )
    assert [part.text for part in output.content] == [expected]  # type: ignore[union-attr]
    assert output.details == {"diff": expected}
    assert path.read_text() == "l1\n" + "".join(f"l{n}\n" for n in range(3, 12)) + "L12\nL12b\nl13\nl14\nl15\n"


@pytest.mark.parametrize(
    ("text", "pairs", "after"),
    [
        ("ab", [("a", "x"), ("b", "y")], "xy"),
        ("ab", [("b", "a"), ("a", "b")], "ba"),
        ("one\ntwo\nthree\n", [("two\n", ""), ("one\n", "1\n"), ("three\n", "3\n")], "1\n3\n"),
        ("one\r\ntwo\r\n", [("one\n", "1\n"), ("two", "2")], "1\r\n2\r\n"),
        ("abc", [("a", ""), ("b", ""), ("c", "")], ""),
    ],
)
def test_edits_that_touch_do_not_overlap(bench: "Bench", text: str, pairs: list[tuple[str, str]], after: str) -> None:
    (bench.cwd / "a.txt").write_bytes(text.encode())
    output = bench.call("edit", path="a.txt", edits=edits(*pairs))
    assert not output.is_error
    assert (bench.cwd / "a.txt").read_bytes() == after.encode()
    assert output.details is not None
    assert patched(as_lf(text), output.details["diff"]) == as_lf(after)


def test_edits_whose_surroundings_touch_share_a_hunk(bench: "Bench") -> None:
    for between, hunks in ((6, 1), (7, 2)):
        (bench.cwd / "a.txt").write_text("first\n" + "x\n" * between + "last\n")
        output = bench.call("edit", path="a.txt", edits=edits(("first", "1"), ("last", "2")))
        assert output.details is not None
        assert output.details["diff"].count("@@ -") == hunks


def test_an_edit_that_is_aborted_before_it_is_made_changes_nothing(bench: "Bench") -> None:
    (bench.cwd / "a.txt").write_text("old")
    bench.cancel.set()
    with pytest.raises(Cancelled):
        bench.call("edit", path="a.txt", edits=edits(("old", "new")))
    assert (bench.cwd / "a.txt").read_text() == "old"


def test_every_edit_is_matched_against_the_original(bench: "Bench") -> None:
    (bench.cwd / "a.txt").write_text("one two")
    bench.ok("edit", path="a.txt", edits=edits(("one", "two"), ("two", "one")))
    assert (bench.cwd / "a.txt").read_text() == "two one"


def test_a_single_edit_may_be_spelled_as_in_pi(bench: "Bench") -> None:
    path = bench.cwd / "a.txt"
    path.write_text("one two three")
    context = ToolContext(bench.cwd, CancelToken(), lambda news: None, bench.processes)
    call = ToolCall("1", "edit", {"path": "a.txt", "oldText": "one", "newText": "1"})
    assert "-one two three\n" in preview(call, context)
    bench.ok("edit", path="a.txt", oldText="one", newText="1")
    bench.ok("edit", path="a.txt", edits=edits(("two", "2")), oldText="three", newText="")
    assert path.read_text() == "1 2 "
    assert bench.fails("edit", path="a.txt", oldText="1").startswith("invalid args: Object missing required field")
    assert path.read_text() == "1 2 "


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (edits(("x", "y"), ("zzz", "y")), "edit 2: oldText not found in a.txt"),
        (edits(("dup", "y")), "edit 1: oldText found 2 times in a.txt"),
        (edits(("aa", "y")), "edit 1: oldText found 2 times in a.txt"),
        (edits(("x", "y"), ("", "y")), "edit 2: oldText must not be empty"),
        (edits(("x", "x")), "edit 1: oldText and newText are the same"),
        (edits(("x\r\n", "x\n")), "edit 1: oldText and newText are the same"),
        (edits(("x\ndup", "1"), ("aaa", "2"), ("p\ny", "3")), "edits 1 and 3 overlap in a.txt"),
        (edits(("x", "\ud800")), "edit 1: newText cannot be written as UTF-8"),
        ([], "invalid args: Expected `array` of length >= 1 - at `$.edits`"),
        ([{"oldText": "x"}], "invalid args: Object missing required field `newText` - at `$.edits[0]`"),
    ],
)
def test_an_edit_that_cannot_be_made_is_named_and_changes_nothing(
    bench: "Bench", wrong: list[dict[str, str]], message: str
) -> None:
    content = "x\ndup\ny\ndup\naaa\n"
    (bench.cwd / "a.txt").write_text(content)
    assert bench.fails("edit", path="a.txt", edits=wrong).startswith(message)
    assert (bench.cwd / "a.txt").read_text() == content
    assert os.listdir(bench.cwd) == ["a.txt"]


def test_what_cannot_be_edited_is_refused_with_a_sentence(bench: "Bench") -> None:
    os.mkfifo(bench.cwd / "fifo")
    assert bench.fails("edit", path="gone", edits=edits(("a", "b"))) == "gone does not exist."
    assert bench.fails("edit", path=".", edits=edits(("a", "b"))) == ". is a directory."
    assert bench.fails("edit", path="fifo", edits=edits(("a", "b"))) == "fifo is not a regular file."


def test_the_mode_is_kept_and_links_are_followed(bench: "Bench") -> None:
    (bench.cwd / "target").write_text("old")
    (bench.cwd / "target").chmod(0o755)
    (bench.cwd / "link").symlink_to("target")
    bench.ok("edit", path="link", edits=edits(("old", "new")))
    assert (bench.cwd / "link").is_symlink()
    assert (bench.cwd / "target").read_text() == "new"
    assert stat.S_IMODE((bench.cwd / "target").stat().st_mode) == 0o755


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n", b"x\r\ny\r\nz\r\nc\r\n"),
        (b"a\r\nb\r\n", "a\r\nb", "a\r\nc", b"a\r\nc\r\n"),
        (b"\xef\xbb\xbfa\nb\n", "a\n", "x\n", b"\xef\xbb\xbfx\nb\n"),
        (b"\xef\xbb\xbfa\nb\n", "\ufeffa\n", "x\n", b"\xef\xbb\xbfx\nb\n"),
        (b"one\r\ntwo\nthree\r\n", "one\ntwo\nthree", "one\n2\nthree", b"one\r\n2\nthree\r\n"),
        (b"one\ntwo\r\nthree\n", "two", "2\n2", b"one\n2\r\n2\r\nthree\n"),
        (b"one\r\ntwo", "two", "2\n3", b"one\r\n2\r\n3"),
        (b"caf\xe9 \xff\nold\n", "old", "new", b"caf\xe9 \xff\nnew\n"),
    ],
)
def test_endings_marks_and_foreign_bytes_are_kept(
    bench: "Bench", before: bytes, old: str, new: str, after: bytes
) -> None:
    (bench.cwd / "a.txt").write_bytes(before)
    bench.ok("edit", path="a.txt", edits=edits((old, new)))
    assert (bench.cwd / "a.txt").read_bytes() == after


words = st.text(st.sampled_from("abc é"), max_size=4)
endings = st.sampled_from(["\n", "\r\n"])
raw_lines = st.tuples(words, endings).map("".join)
raws = st.builds(
    lambda bom, lines, last: bom + "".join(lines) + last, st.sampled_from(["", BOM]), st.lists(raw_lines), words
)


@st.composite
def raws_and_replacements(draw: st.DrawFn) -> tuple[str, list[tuple[str, str]]]:
    """A file whose lines are numbered, and some unambiguous replacements in it, in any order."""
    lines = draw(st.lists(raw_lines, min_size=1, max_size=20))
    raw = (
        draw(st.sampled_from(["", BOM])) + "".join(f"{number}{line}" for number, line in enumerate(lines)) + draw(words)
    )
    text = as_lf(raw.removeprefix(BOM))
    places = sorted(draw(st.sets(st.integers(0, len(text)), min_size=2, max_size=6)))
    touching = draw(st.booleans())
    pairs = [
        (text[start:end], draw(st.text(st.sampled_from("abcX\n"), max_size=6)))
        for start, end in (pairwise(places) if touching else zip(places[::2], places[1::2], strict=False))
    ]
    usable = [(old, new) for old, new in pairs if old != new and text.find(old) == text.rfind(old)]
    return raw, draw(st.permutations(usable))


@given(raws_and_replacements())
def test_edits_do_what_replacing_one_after_the_other_does(case: tuple[str, list[tuple[str, str]]]) -> None:
    raw, replacements = case
    source = SourceText(raw)
    changes = locate(source.text, replacements, "a.txt")
    edited = source.apply(changes)

    expected = source.text
    for change in reversed(changes):
        expected = expected[: change.start] + change.new + expected[change.end :]
    assert edited.startswith(BOM) == raw.startswith(BOM)
    assert as_lf(edited.removeprefix(BOM)) == expected
    assert patched(source.text, diff(source.text, changes)) == expected


@given(raws_and_replacements())
def test_a_single_edit_does_what_replace_does(case: tuple[str, list[tuple[str, str]]]) -> None:
    raw, replacements = case
    source = SourceText(raw)
    for old, new in replacements:
        edited = source.apply(locate(source.text, [(old, new)], "a.txt"))
        assert as_lf(edited.removeprefix(BOM)) == source.text.replace(old, new)


@given(raws, st.text(st.sampled_from("XY\n"), min_size=1))
def test_lines_that_are_not_edited_keep_every_byte(raw: str, new: str) -> None:
    marked = raw + "<old>" + raw.removeprefix(BOM)
    source = SourceText(marked)
    edited = source.apply(locate(source.text, [("<old>", new)], "a.txt"))
    assert edited.startswith(raw)
    assert edited.endswith(raw.removeprefix(BOM))


def patched(text: str, hunks: str) -> str:
    """What anyone who is sent the diff can make of it."""
    old = re.findall(r"[^\n]*\n|[^\n]+$", text)
    new: list[str] = []
    place = 0
    sign = ""
    for line in re.findall(r"[^\n]*\n", hunks):
        if header := re.fullmatch(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@\n", line):
            start = int(header[1]) - (int(header[2]) > 0)
            new += old[place:start]
            place = start
            assert len(new) == int(header[3]) - (int(header[4]) > 0)
        elif line.startswith("\\"):
            if sign != "-":
                new[-1] = new[-1].removesuffix("\n")
        else:
            sign, content = line[0], line[1:]
            if sign != "+":
                assert old[place].removesuffix("\n") == content.removesuffix("\n")
                place += 1
            if sign != "-":
                new.append(content)
    return "".join([*new, *old[place:]])


def test_one_edit_in_a_large_file_is_quick(bench: "Bench") -> None:
    (bench.cwd / "big.txt").write_text("".join(f"line {number} of many\n" for number in range(50_000)))
    before = process_time()
    answer = bench.ok(
        "edit", path="big.txt", edits=edits(("line 40000 of", "LINE 40000 of"), ("line 7 of", "LINE 7 of"))
    )
    assert process_time() - before < 0.5
    assert "@@ -39998,7 +39998,7 @@\n" in answer


def test_a_rewrite_of_thousands_of_lines_is_quick_and_its_diff_is_cut(bench: "Bench") -> None:
    old = "".join(f"line {number}\n" for number in range(5000))
    (bench.cwd / "big.txt").write_text(old)
    before = process_time()
    output = bench.call("edit", path="big.txt", edits=edits((old, old.replace("line", "Line"))))
    assert process_time() - before < 0.5
    assert output.details is not None
    assert output.details["diff"].count("\n") == 10_001
    assert output.content[0].text.endswith("[8001 more lines of the diff are not shown]\n")  # type: ignore[union-attr]


def test_a_diff_has_the_numbers_of_its_lines_as_pi_shows_them() -> None:
    text = "".join(f"l{number}\n" for number in range(1, 31))
    changes = locate(text, [("l2\n", "L2\nL2b\n"), ("l20\n", "")], "a.txt")
    lines, first = numbered(diff(text, changes))
    assert first == 2
    assert lines.split("\n") == [
        *("  1 l1", "- 2 l2", "+ 2 L2", "+ 3 L2b", "  3 l3", "  4 l4", "  5 l5"),
        "    ...",
        *(" 17 l17", " 18 l18", " 19 l19", "-20 l20", " 21 l21", " 22 l22", " 23 l23"),
    ]
    assert numbered(diff("one\ntwo\nthree\n", locate("one\ntwo\nthree\n", [("two", "TWO")], "a.txt"))) == (
        " 1 one\n-2 two\n+2 TWO\n 3 three",
        2,
    )
