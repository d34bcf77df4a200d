"""What was printed for a terminal: its words stay, its colours become classes, and nothing else gets through."""

import re
from html import unescape
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.export.html.ansi import lines
from linnet.export.html.escape import clean
from linnet.export.html.palette import MOST, Palette, indexed

unhurried = settings(deadline=None)
SPAN = re.compile(r'<span class="([a-z0-9 -]+)">|</span>')
MARKS = "\x1b\x9b\x07\b\r\x00\x0e\x0f\x90\x98\x9c\x9d\x9e\x9f"
words = st.text(st.characters(exclude_characters=MARKS, exclude_categories=["Mn"]))  # Those depend on what is before.
colours = st.lists(st.integers(0, 300).map(str), max_size=6).map(lambda codes: f"\x1b[{';'.join(codes)}m")
links = words.filter(lambda text: "\n" not in text).map(lambda text: f"\x1b]8;;{text}\x1b\\")
escapes = colours | links | st.sampled_from(["\x1b[?25l", "\x1b[2J", "\x1b(B", "\x9b1m", "\x1bM", "\x1b[3;4H", "\x07"])


def html(text: str) -> str:
    return "\n".join(lines(text, Palette()))


def said(text: str) -> str:
    return unescape(SPAN.sub("", html(text)))


class Balanced(HTMLParser):
    depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert (tag, [name for name, _ in attrs]) == ("span", ["class"])
        self.depth += 1

    def handle_endtag(self, tag: str) -> None:
        assert tag == "span"
        self.depth -= 1
        assert self.depth >= 0


@unhurried
@given(st.lists(words | escapes))
def test_the_words_stay_and_the_escapes_go(parts: list[str]) -> None:
    plain = "".join(part for part in parts if part[:1] not in "\x1b\x9b\x07")
    assert said("".join(parts)) == clean(plain)


@unhurried
@given(st.text(st.characters() | st.sampled_from("\x1b[]m;38025\\\x07\r\b\n<>&\"'K")))
def test_whatever_comes_every_line_is_whole_in_itself(text: str) -> None:
    for line in lines(text, Palette()):
        parser = Balanced()
        parser.feed(line)
        parser.close()
        assert parser.depth == 0
        line.encode()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m plain", '<span class="f1">red</span> plain'),
        ("\x1b[1;4;92mx\x1b[22my", '<span class="bold underline f10">x</span><span class="underline f10">y</span>'),
        ("\x1b[38;5;208mx", '<span class="f-ff8700">x</span>'),
        ("\x1b[38;2;1;2;3mx", '<span class="f-010203">x</span>'),
        ("\x1b[38:2::1:2:3mx", '<span class="f-010203">x</span>'),
        ("\x1b[48;5;4mx", '<span class="b4">x</span>'),
        ("\x1b[48;2;255;255;0mx", '<span class="b-ffff00 x-000000">x</span>'),
        ("\x1b[30;42mx", '<span class="b-2f7d43 x-ffffff">x</span>'),
        ("\x1b[97;48;2;0;0;128mx", '<span class="b-000080 x-ffffff">x</span>'),
        ("\x1b[7mx", '<span class="inverse">x</span>'),
        ("\x1b[7;41mx", '<span class="inverse">x</span>'),
        ("\x1b[7;31mx", '<span class="b1">x</span>'),
        ("\x1b[2;3;9mx", '<span class="italic strike dim">x</span>'),
        ("\x1b[2;31mx\x1b[0;2;44mx", '<span class="f1">x</span><span class="b4">x</span>'),
        ("\x1b[38;5mx\x1b[38mx\x1b[38;9;1mx", 'xx<span class="bold">x</span>'),
        ("\x1b[31ma\nb", '<span class="f1">a</span>\n<span class="f1">b</span>'),
        ("\x1b[31ma\x1b[mb", '<span class="f1">a</span>b'),
    ],
)
def test_colours_become_classes(text: str, shown: str) -> None:
    assert html(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("10%\r100%", "100%"),
        ("100%\r5%", "5%0%"),
        ("100%\r\x1b[K5%", "5%"),
        ("abc\b\bX", "aXc"),
        ("\b\ba", "a"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("abc\x1b[2K\rX", "X  "),
        ("a\x1b]0;title\x07b", "ab"),
        ("a\x1b]8;;https://evil.example\x1b\\b", "ab"),
        ("a\x1b]8;;never ended\nb", "a\nb"),
        ("a\x1b", "a"),
        ("a\x1b[", "a"),
    ],
)
def test_a_line_is_shown_as_it_was_in_the_end(text: str, shown: str) -> None:
    assert said(text) == shown


def test_every_class_is_in_the_stylesheet_however_many_colours_there_are() -> None:
    palette = Palette()
    text = "".join(f"\x1b[38;2;{n % 256};{n // 256 % 256};7mx" for n in range(MOST + 2000))
    (line,) = lines(text, palette)
    rules = palette.stylesheet()
    assert rules.count("{") <= MOST + 216
    for name in set(re.findall(r"f-[0-9a-f]{6}", line)):
        assert f".{name}{{" in rules


def test_mixed_colours_stay_readable_in_the_light_and_in_the_dark() -> None:
    palette = Palette()
    for number in range(16, 256):
        palette.ink(indexed(number))
    assert ".f-ffff00{color:light-dark(#666600,#ffff00)}" in palette.stylesheet()
    assert ".f-000000{color:light-dark(#000000,#" in palette.stylesheet()


def test_a_flood_of_codes_takes_no_longer_than_reading_it() -> None:
    assert said("\x1b[" + "1;" * 500_000 + "mx") == "x"
    assert said("\x1b]" * 200_000 + "\nx").endswith("x")
