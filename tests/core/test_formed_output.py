"""A JSON value in a text, and whether it fits: the schema that is given, and the one that is made of a type."""

import json
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.core.context.formed_output import Output, json_in
from linnet.core.json.schema import check_schema, problem
from linnet.errors import BadInput


@pytest.mark.parametrize(
    ("schema", "fits", "does_not"),
    [
        ({"type": "integer"}, 3.0, True),
        ({"type": ["string", "null"]}, None, 3),
        ({"enum": [1, "a"]}, 1, True),
        ({"const": {"a": [1]}}, {"a": [1]}, {"a": [2]}),
        ({"type": "string", "pattern": "^a", "maxLength": 2}, "ab", "abc"),
        ({"type": "array", "items": {"type": "number"}, "minItems": 1}, [1.5], [[]]),
        ({"type": "object", "additionalProperties": False, "properties": {"a": {}}}, {"a": 1}, {"b": 1}),
        ({"type": "object", "additionalProperties": {"type": "string"}}, {"a": "b"}, {"a": 1}),
        ({"anyOf": [{"type": "string"}, {"minimum": 3}]}, 4, 2),
        ({"oneOf": [{"minimum": 1}, {"minimum": 3}]}, 2, 4),
        ({"allOf": [{"minimum": 1}, {"maximum": 3}]}, 2, 4),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"next": {"$ref": "#/$defs/a"}}}}}, {"next": {}}, None),
        ({"properties": {"never": False}}, {}, {"never": 1}),
        ({"exclusiveMinimum": 1, "exclusiveMaximum": 1e308}, 2, 1),
        ({"exclusiveMaximum": 3}, 2.5, 3),
        ({"uniqueItems": True}, [1, True, "a"], [1, 2, 1.0]),
        ({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}, ["a", 1, 2], ["a", "b"]),
        ({"prefixItems": [{"type": "string"}, {"type": "null"}]}, ["a"], ["a", 1]),
        ({"minProperties": 1, "maxProperties": 2}, {"a": 1}, {}),
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "string"}}}, "x", 1),
    ],
)
def test_a_schema_means_what_it_says(schema: dict[str, Any], fits: Any, does_not: Any) -> None:
    check_schema(schema)
    assert problem(fits, schema) == ""
    if does_not is not None:
        assert problem(does_not, schema)


class Tree(msgspec.Struct):
    name: str
    size: int | None
    kind: Literal["file", "folder"]
    children: list["Tree"] = []


trees = st.recursive(
    st.builds(Tree, st.text(), st.none() | st.integers(-9, 9), st.sampled_from(["file", "folder"])),
    lambda inner: st.builds(Tree, st.text(), st.none(), st.just("folder"), st.lists(inner, max_size=3)),
    max_leaves=5,
)


@given(trees)
def test_what_msgspec_writes_fits_the_schema_that_msgspec_makes(tree: Tree) -> None:
    schema = msgspec.json.schema(Tree)
    check_schema(schema)
    value = msgspec.to_builtins(tree)
    assert problem(value, schema) == ""
    assert problem({**value, "name": 3}, schema) == "expected string at $.name"


@given(
    st.dictionaries(st.text(), st.integers() | st.text() | st.none(), min_size=1),
    st.sampled_from(["{}", "```json\n{}\n```", "```\n{}\n```"]),
)
def test_json_is_found_wherever_a_model_puts_it(value: dict[str, Any], around: str) -> None:
    text = around.replace("{}", json.dumps(value))
    assert json.loads(str(json_in(text))) == value


@given(st.text())
def test_what_is_found_is_json(text: str) -> None:
    found = json_in(text)
    if found is not None:
        msgspec.json.decode(found)


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": ["string", 3]}, 'unknown type "3"'),
        ({"type": {"a": 1}}, "unknown type"),
        ({"properties": 5}, '"properties" at \\$ of the JSON Schema must be an object'),
        ({"properties": {"a": {"required": "a"}}}, '"required" at \\$.a .* list of names'),
        ({"required": [1]}, "list of names"),
        ({"enum": "ab"}, '"enum"'),
        ({"anyOf": {}}, '"anyOf"'),
        ({"minItems": "1"}, "whole number"),
        ({"minLength": -1}, "whole number"),
        ({"maxItems": True}, "whole number"),
        ({"minimum": "1"}, "a number"),
        ({"maximum": False}, "a number"),
        ({"uniqueItems": 1}, "true or false"),
        ({"pattern": "("}, '"pattern" at \\$ .* cannot be used'),
        ({"pattern": 3}, "a regular expression"),
        ({"$ref": "#"}, "refers to itself"),
        ({"anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"allOf": [{"$ref": "#"}]}}}, "refers to itself"),
        ({"$ref": "#/default", "default": 3}, "which is no schema"),
        ({"$ref": "#/default", "default": {"required": 3}}, '"required" at #/default'),
        ({"$ref": 3}, "not inside it"),
        (None, "nested too deeply"),
    ],
)
def test_what_is_no_schema_is_refused(schema: Any, reason: str) -> None:
    if schema is None:
        schema = {}
        for _ in range(5000):
            schema = {"items": schema}
    with pytest.raises(BadInput, match=reason):
        Output(schema)


WORDS = [
    "type",
    "properties",
    "$defs",
    "a",
    "items",
    "anyOf",
    "allOf",
    "$ref",
    "required",
    "enum",
    "pattern",
    "minItems",
    "maximum",
    "prefixItems",
    "const",
]
anything = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.sampled_from(["string", "object", "#", "#/$defs/a", "(", "a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(WORDS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(anything.filter(lambda schema: isinstance(schema, dict)), anything)
def test_a_schema_is_refused_or_can_be_used(schema: dict[str, Any], value: Any) -> None:
    """Whatever a client sends: nothing is found out in the middle of a run."""
    try:
        form = Output(schema)
    except BadInput:
        return
    reading = form.read(json.dumps(value))
    assert bool(reading.problem) or reading.data == value
