"""A schema that was rewritten for Google allows the same arguments as before."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from linnet.providers.google.schemas import rewritten

names = st.sampled_from(["a", "const", "enum", "items"])
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "const"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=4,
)
bounds = st.fixed_dictionaries(
    {"type": st.just("integer")},
    optional={
        **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), st.integers(-3, 3)),
        "description": st.just("A number."),
    },
)


def composed(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(names, inner, max_size=3)},
            optional={"additionalProperties": inner | st.booleans(), "required": st.just(["a"])},
        ),
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"not": inner}),
        st.fixed_dictionaries({"$defs": st.dictionaries(names, inner, max_size=1), "default": values}),
    )


schemas = st.recursive(
    st.builds(lambda value: {"const": value}, values)
    | st.builds(lambda value: {"enum": [value], "title": "const"}, values)
    | bounds,
    composed,
    max_leaves=6,
)


def keywords(schema: Any) -> set[str]:
    """The keywords of a schema and of all schemas in it."""
    if not isinstance(schema, dict):
        return set()
    inside = [schema.get("items"), schema.get("additionalProperties"), schema.get("not"), *schema.get("anyOf", ())]
    inside += [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]
    return set(schema).union(*map(keywords, inside))


@given(schemas, values)
def test_the_same_values_are_valid_and_google_understands_why(schema: Any, value: Any) -> None:
    before = repr(schema)
    made = rewritten(schema)
    assert repr(schema) == before
    assert not keywords(made) & {"const", "exclusiveMinimum", "exclusiveMaximum"}
    assert Draft202012Validator(made).is_valid(value) == Draft202012Validator(schema).is_valid(value)
    assert rewritten(made) == made


def test_what_only_looks_like_a_keyword_stays() -> None:
    schema = {"type": "object", "properties": {"const": {"type": "string", "default": {"const": 1}}}}
    assert rewritten(schema) == schema
    assert rewritten({"type": "number", "exclusiveMinimum": 0}) == {"type": "number", "exclusiveMinimum": 0}


def test_a_bound_that_excludes_a_whole_number_includes_its_neighbour() -> None:
    def bounded(**bounds: int) -> dict[str, object]:
        made = rewritten({"type": "integer", **bounds})
        assert made.pop("type") == "integer"
        return dict(made)

    assert bounded(exclusiveMinimum=0, exclusiveMaximum=9) == {"minimum": 1, "maximum": 8}
    assert bounded(exclusiveMinimum=0, minimum=5) == {"minimum": 5}
    assert bounded(exclusiveMaximum=0, maximum=5) == {"maximum": -1}
