"""Lines of things in a document of JSON."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from linnet.core.json.position import line_of, spelled

names = st.text(max_size=3)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.sampled_from(['"', "{", "],", "\\", ":"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=12,
)


def paths(value: Any, here: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """In the order in which they are written."""
    below: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        below = list(value.items())
    elif isinstance(value, list):
        below = list(enumerate(value))
    return [each for step, inner in below for each in [(*here, step), *paths(inner, (*here, step))]]


def written(value: Any) -> tuple[str, list[int]]:
    """The document as `json.dumps` lays it out, and the line on which each path's last step begins."""
    lines = json.dumps(value, indent=1, ensure_ascii=False)
    starts = [number for number, line in enumerate(lines.split("\n"), 1) if line.strip() not in ("}", "},", "]", "],")]
    return lines, starts[1:]


@given(values)
def test_every_member_and_item_is_found_on_the_line_that_it_begins_on(value: Any) -> None:
    text, starts = written(value)
    found = [line_of(text.encode(), path) for path in paths(value)]
    assert found == starts


@given(values, st.text(" \t\r\n", max_size=3))
def test_space_before_the_document_moves_every_line(value: Any, space: str) -> None:
    text = json.dumps(value, indent=1)
    moved = space.count("\n")
    for path in paths(value):
        assert line_of((space + text).encode(), path) == line_of(text.encode(), path) + moved


def test_the_last_of_two_members_with_one_name_counts() -> None:
    assert line_of(b'{"a": 1,\n"a": 2}', ("a",)) == 2


def test_a_name_is_found_however_it_is_escaped() -> None:
    assert line_of(b'{\n"\\u0061\\"": 1}', ('a"',)) == 2


def test_what_is_not_there_is_looked_for_where_it_would_be() -> None:
    text = b'{\n"models": [\n{"id": "a"},\n{\n"id": "b"}]}'
    assert line_of(text, ("models", 1, "name")) == 4
    assert line_of(text, ("models", 7)) == 2
    assert line_of(text, ("models", 1, "id", "deeper")) == 5


def test_a_path_is_spelled_as_people_write_it() -> None:
    assert spelled(("models", 0, "id")) == "models[0].id"
    assert spelled((1, "id")) == "[1].id"
    assert spelled(()) == ""
