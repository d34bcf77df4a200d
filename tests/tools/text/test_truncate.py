import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.tools.text.truncate import Kept, count_lines, keep_head, keep_tail

texts = st.text(st.sampled_from("ab\n\r é😀\u2028")) | st.text()
lines = st.integers(1, 6)
sizes = st.integers(0, 30)


def size(text: str) -> int:
    return len(text.encode())


@given(texts, lines, sizes)
def test_the_head_is_a_beginning_within_both_limits_and_says_what_is_missing(text: str, most: int, room: int) -> None:
    kept = keep_head(text, most, room)
    assert text.startswith(kept.text)
    assert size(kept.text) <= room
    assert count_lines(kept.text) <= most
    assert kept.cut_bytes == size(text) - size(kept.text)
    assert kept.cut_lines == count_lines(text) - count_lines(kept.text)


@given(texts, lines, sizes)
def test_the_tail_is_an_end_within_both_limits_and_says_what_is_missing(text: str, most: int, room: int) -> None:
    kept = keep_tail(text, most, room)
    assert text.endswith(kept.text)
    assert size(kept.text) <= room
    assert count_lines(kept.text) <= most
    assert kept.cut_bytes == size(text) - size(kept.text)
    assert kept.cut_lines == count_lines(text) - count_lines(kept.text)


@given(texts, lines, sizes)
def test_lines_stay_whole_unless_a_single_one_is_too_long(text: str, most: int, room: int) -> None:
    head, tail = keep_head(text, most, room), keep_tail(text, most, room)
    if head.cut_bytes and not head.partial:
        assert head.text.endswith("\n")
    if tail.cut_bytes and not tail.partial:
        assert text[: len(text) - len(tail.text)].endswith("\n")
    first, last = text.partition("\n"), text.removesuffix("\n").rpartition("\n")
    if head.partial:
        assert "\n" not in head.text
        assert size(first[0] + first[1]) > room
    if tail.partial:
        assert "\n" not in tail.text[:-1]
        assert size(text[len(last[0] + last[1]) :]) > room
    for kept in (head, tail):
        assert kept.text or kept.partial or not text, "there is room for a line or for a piece of one"


@given(texts, lines, sizes)
def test_no_further_line_would_have_fitted(text: str, most: int, room: int) -> None:
    head = keep_head(text, most, room)
    if head.cut_bytes and not head.partial:
        more = text[: text.find("\n", len(head.text)) + 1 or len(text)]
        assert count_lines(more) > most or size(more) > room
    tail = keep_tail(text, most, room)
    if tail.cut_bytes and not tail.partial:
        more = text[text.rfind("\n", 0, len(text) - len(tail.text) - 1) + 1 :]
        assert count_lines(more) > most or size(more) > room


@pytest.mark.parametrize(
    ("text", "room", "kept"),
    [
        ("aa\nbb\n", 3, Kept("bb\n", 1, 3)),  # The cut falls between two lines.
        ("aa\nbb\n", 2, Kept("b\n", 1, 4, partial=True)),
        ("aa\nbb\n", 4, Kept("bb\n", 1, 3)),
        ("aa\nbb\n", 5, Kept("bb\n", 1, 3)),
        ("aa\nbb\n", 6, Kept("aa\nbb\n")),
        ("aa\nbb", 2, Kept("bb", 1, 3)),
        ("aaaa\n", 2, Kept("a\n", 0, 3, partial=True)),
        ("aé", 1, Kept("", 1, 3, partial=True)),
        ("\n\n", 1, Kept("\n", 1, 1)),
        ("a", 0, Kept("", 1, 1, partial=True)),
    ],
)
def test_a_tail_at_the_edge_of_its_room(text: str, room: int, kept: Kept) -> None:
    assert keep_tail(text, 9, room) == kept


@pytest.mark.parametrize(("most", "kept"), [(1, "c\n"), (2, "b\nc\n"), (3, "a\nb\nc\n")])
def test_a_tail_of_so_many_lines(most: int, kept: str) -> None:
    assert keep_tail("a\nb\nc\n", most).text == kept
    assert keep_tail("a\nb\nc", most).text == kept.removesuffix("\n")


def test_text_that_fits_is_returned_as_it_is() -> None:
    assert keep_head("a\nb") == keep_tail("a\nb") == Kept("a\nb")


def test_a_lone_surrogate_is_cut_around_not_choked_on() -> None:
    assert keep_head("\ud800b", 1, 3).text == "\ud800"
    assert keep_tail("a\ud800", 1, 3).text == "\ud800"
