"""One member of an object, changed in its text."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from linnet.core.json.edited import put, removed

names = st.text(max_size=4) | st.sampled_from(["a", "model", "x y", '"', "\\"])
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(names, values, max_size=5)
indents = st.sampled_from([None, 0, 1, 2, 4, "\t"])


@given(objects, indents, names, values)
def test_putting_a_member_changes_that_one_and_keeps_the_order(
    content: dict[str, Any], indent: int | None, name: str, value: Any
) -> None:
    text = f"\n {json.dumps(content, indent=indent)} \n".encode()
    edited = json.loads(put(text, name, json.dumps(value).encode()))
    assert edited == {**content, name: value}
    assert list(edited) == list({**content, name: value})


@given(objects, indents, names)
def test_removing_a_member_keeps_the_others_in_order(content: dict[str, Any], indent: int | None, name: str) -> None:
    left = {key: value for key, value in content.items() if key != name}
    edited = json.loads(removed(json.dumps(content, indent=indent).encode(), name))
    assert list(edited.items()) == list(left.items())


@given(objects, indents, values)
def test_what_is_put_and_removed_again_leaves_the_text_as_it_was(
    content: dict[str, Any], indent: int | None, value: Any
) -> None:
    content.pop("new", None)
    text = json.dumps(content, indent=indent).encode()
    assert content == {} or removed(put(text, "new", json.dumps(value).encode()), "new") == text


def test_the_style_of_the_text_is_kept() -> None:
    text = b'{\n\t"model" : "a",   \n\n\t"tools": ["read",\n "bash"]\n}\n'
    assert put(text, "model", b'"b"') == text.replace(b'"a"', b'"b"')
    assert put(text, "mcp", b"true") == text.replace(b"]\n}", b']\n,\t"mcp": true\n}'.replace(b"]\n,\t", b"],\n\t"))
    assert removed(text, "tools") == b'{\n\t"model" : "a"\n}\n'
    assert put(b"{}\n", "mcp", b"true") == b'{\n  "mcp": true\n}\n'
    assert put(b'{"a":1}', "mcp", b"true") == b'{"a":1, "mcp": true}'
    assert removed(b'{"a":1,"b":2,"a":3}', "a") == b'{"b":2}'
