"""Nothing that goes to a terminal can make it do something, or show something else than is there."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.core.text.terminal_text import one_line, spelled_out


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J\x1b]0;title\x07", r"\x1b[2J\x1b]0;title\x07"),
        ("a\rb\bc\x7f", r"a\rb\x08c\x7f"),
        ("\x9b31m", r"\x9b31m"),
        ("\udc9b31m \udcff", r"\x9b31m \xff"),  # Bytes of a name that is no text.
        ("\ud800", r"\ud800"),
        ("safe\u202egpj.exe\u2066", r"safe\u202egpj.exe\u2066"),
        ("a\u200bb\u2060c\ufeffd\u00ade", r"a\u200bb\u2060c\ufeffd\xade"),
        ("a\u2028b\u2029c\x85", r"a\u2028b\u2029c\x85"),
        ("\U000e0041", r"\U000e0041"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        (
            "naïve 日本語 \U0001f468\u200d\U0001f469 \u00a0 \u0646\u200c\u0627",
            "naïve 日本語 \U0001f468\u200d\U0001f469 \u00a0 \u0646\u200c\u0627",
        ),
    ],
)
def test_what_a_terminal_would_obey_or_hide_is_spelled_out(text: str, shown: str) -> None:
    assert spelled_out(text) == shown


@given(st.text(st.characters()))
def test_nothing_is_left_that_a_terminal_would_obey(text: str) -> None:
    left = set(spelled_out(text)) - set("\t\n\u200c\u200d")
    assert not {char for char in left if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    assert "\n" not in one_line(text)
    spelled_out(text).encode()  # Halves of characters could not be written.


@given(st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"])))
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert spelled_out(text) == one_line(text) == text
