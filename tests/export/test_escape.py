"""What cannot be seen is spelled out, and what only looks odd stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.export.html.escape import clean, short

HIDING = [
    ("zero\u200bwidth", "zero[U+200B]width"),
    ("\ufeffmark", "[U+FEFF]mark"),
    ("soft\u00adhyphen", "soft[U+00AD]hyphen"),
    ("\u202egnp.exe", "[U+202E]gnp.exe"),
    ("tags\U000e0041\U000e0042", "tags[U+E0041][U+E0042]"),
    ("\U0001f3f4\U000e0041\U000e0042\U000e0043\U000e007f", "\U0001f3f4[U+E0041][U+E0042][U+E0043][U+E007F]"),
    ("x\ufe00\ufe01\U000e0100", "x\ufe00[U+FE01][U+E0100]"),
    ("\x00\x1b\x7f\x85\ud800", "\u2400\u241b\u2421\ufffd\ufffd"),
]


@pytest.mark.parametrize(("text", "shown"), HIDING)
def test_what_hides_is_spelled_out(text: str, shown: str) -> None:
    assert clean(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "\U0001f469\u200d\U0001f469\u200d\U0001f467",
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "\U0001f1e9\U0001f1ea",
        "\u2764\ufe0f",
        "می\u200cخواهم",
        "a\tb\nc",
    ],
    ids=["a family", "England", "Germany", "a heart", "Persian", "a tab"],
)
def test_emoji_and_words_stay_whole(text: str) -> None:
    assert clean(text) == text


@given(st.text())
def test_whatever_comes_can_be_written_and_is_clean(text: str) -> None:
    shown = clean(text)
    shown.encode()
    assert clean(shown) == shown


@given(st.text(), st.integers(1, 50))
def test_a_short_one_is_on_one_line(text: str, most: int) -> None:
    assert len(short(text, most).splitlines()) <= 1
    assert len(short(text, most)) <= most


def test_where_a_line_ended_can_be_said() -> None:
    assert short(" a\n\n b  c\r\nd\n", 20, end="/") == "a/b c/d"
