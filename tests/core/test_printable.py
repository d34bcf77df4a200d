"""Text without what was meant for a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.core.text.printable import printable


@pytest.mark.parametrize(
    ("printed", "left"),
    [
        ("\x1b[31mred\x1b[0m a\rb\x00c\n", "red abc\n"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("a\tb\nc", "a\tb\nc"),
        ("\x1b[2J\x1b[1;1H\x1bMx", "x"),
    ],
)
def test_colours_titles_and_controls_are_left_out(printed: str, left: str) -> None:
    assert printable(printed) == left


@given(st.text())
def test_nothing_is_left_that_a_terminal_would_obey(text: str) -> None:
    assert not any(ord(character) < 32 and character not in "\t\n" for character in printable(text))


@given(st.text(alphabet=st.characters(exclude_categories=["Cc", "Cs"])))
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert printable(text) == text
