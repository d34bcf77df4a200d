"""Prompt templates: the rules of pi, held against what pi did."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.core import slash
from linnet.core.project.template import arguments, filled, parse

# What pi 1.5 sent to the model for a template with every placeholder there is.
CASES = json.loads((Path(__file__).parent / "template_cases.json").read_text("utf-8"))
words = st.lists(st.text(st.characters(exclude_categories=["Cs"])))


@pytest.mark.parametrize("typed", CASES["sent"])
def test_a_template_is_filled_as_pi_fills_it(typed: str) -> None:
    split = slash.split(typed)
    assert split is not None
    name, given = split
    assert name == "args"
    assert filled(CASES["template"], arguments(given)) == CASES["sent"][typed]


@pytest.mark.parametrize(
    ("typed", "split"),
    [
        ("/a b c", ("a", "b c")),
        ("/a\nb", ("a", "b")),
        ("/a\tb", ("a", "b")),
        ("/a", ("a", "")),
        ("/a  b ", ("a", " b ")),
        ("/", None),
        ("/ a", None),
        (" /a", None),
        ("text /a", None),
        ("", None),
    ],
)
def test_a_name_is_at_the_very_start_and_ends_at_white_space(typed: str, split: tuple[str, str] | None) -> None:
    assert slash.split(typed) == split


@pytest.mark.parametrize(
    ("body", "given", "text"),
    [
        ("${@:2:1}", "a b c", "b"),
        ("${@:2:0}|${@:9}", "a b c", "|"),
        ("${0:-x} $0 $00", "a", "x  "),
        ("${ARGUMENTS:-x}", "", "x"),
        ("${1:-${2}}", "", "${2}"),
        ("${1:-}", "", ""),
        ("${1:- a b }", "", " a b "),
        ("$1$2", "a b", "ab"),
        ("$12", "a b", ""),
        ("$1\n$2", "'a\nb' c", "a\nb\nc"),
        ("$" + "9" * 5000, "a", ""),
        ("${@:" + "9" * 5000 + "}", "a", ""),
        ("$" + "0" * 5000 + "1", "a", "a"),
        ("$", "a", "$"),
    ],
)
def test_a_place_is_filled(body: str, given: str, text: str) -> None:
    assert filled(body, arguments(given)) == text


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("", []),
        (" \t\n", []),
        ('""', [""]),
        ("'' \"\"", ["", ""]),
        ("a''b", ["ab"]),
        ("'a\"b'", ['a"b']),
        ('"it\'s"', ["it's"]),
        ("a 'b c", ["a", "b c"]),
        ("a '", ["a", ""]),
        ("a\\ b", ["a\\", "b"]),
        ("a\u00a0b", ["a", "b"]),
    ],
)
def test_words_are_split_as_a_shell_would(given: str, found: list[str]) -> None:
    assert arguments(given) == found


@given(words)
def test_what_is_put_in_is_never_expanded_again(given: list[str]) -> None:
    assert filled("$@", given) == " ".join(given)
    assert filled("<${@:1}>", given) == f"<{' '.join(given)}>"


@given(st.lists(st.text(st.characters(exclude_characters='"', exclude_categories=["Cs"]))))
def test_quoted_words_come_back(given: list[str]) -> None:
    assert arguments(" ".join(f'"{word}"' for word in given)) == given


@given(st.text(), words)
def test_a_text_without_a_dollar_stays_as_it_is(body: str, given: list[str]) -> None:
    plain = body.replace("$", "")
    assert filled(plain, given) == plain


@given(st.text(), st.text())
def test_nothing_that_is_typed_breaks_it(body: str, given: str) -> None:
    filled(body, arguments(given))


def test_a_template_says_what_it_is_for_or_its_first_line_does() -> None:
    said = parse("t", "---\ndescription: For reviews.\nargument-hint: <file>\n---\n\nReview $1.\n")
    assert (said.name, said.description, said.hint, said.body) == ("t", "For reviews.", "<file>", "Review $1.")
    assert parse("t", "\n\n  First line \nsecond\n").description == "First line"
    assert parse("t", "x" * 61).description == "x" * 60 + "..."
    assert parse("t", "x" * 60).description == "x" * 60
    assert parse("t", "").description == ""
    assert parse("t", "---\ndescription: x\nbody never closed").description == "---"
