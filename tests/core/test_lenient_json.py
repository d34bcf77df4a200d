"""JSON with comments and commas too many, and patterns of tools."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.core.json.without_comments import without_comments
from linnet.core.permissions.tool_selection import ToolSelection, changes, matches

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_json_that_is_strict_stays_as_it_is(value: Any) -> None:
    for indent in (None, 1):
        text = json.dumps(value, indent=indent).encode()
        assert without_comments(text) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"a": 1, // why\n "b": [1, 2,],}', {"a": 1, "b": [1, 2]}),
        (b'/* first */ {"a": "// no /* comment */", /* , */}', {"a": "// no /* comment */"}),
        (b"[1, // x\n ]", [1]),
        (b'["a\\"//", "b\\\\",]//', ['a"//', "b\\"]),
    ],
)
def test_comments_and_commas_before_a_bracket_are_taken_out(text: bytes, value: Any) -> None:
    assert json.loads(without_comments(text)) == value
    assert len(without_comments(text)) == len(text)
    assert without_comments(text).count(b"\n") == text.count(b"\n")


@given(st.binary())
def test_anything_keeps_its_length(text: bytes) -> None:
    assert len(without_comments(text)) == len(text)


@pytest.mark.parametrize(
    ("name", "patterns", "meant"),
    [
        ("bash", ["bash"], True),
        ("bash", ["b*"], True),
        ("mcp__a__b", ["mcp__a__*"], True),
        ("bash", ["bas"], False),
        ("bash", ["[b]ash", "b?sh"], False),
        ("bash", [], False),
    ],
)
def test_a_star_stands_for_any_characters_and_nothing_else_does(name: str, patterns: list[str], meant: bool) -> None:
    assert matches(name, patterns) is meant


def test_what_is_excluded_is_not_offered_even_if_it_is_allowed() -> None:
    assert ToolSelection().offers("x")
    assert ToolSelection(("a*",), ("ab",)).offers("aa")
    assert not ToolSelection(("a*",), ("ab",)).offers("ab")
    assert not ToolSelection(("a*",)).offers("b")
    assert (changes(["+a", "-b"]), changes(["a", "-b"]), changes([])) == (True, False, False)
