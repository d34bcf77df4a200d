"""Grammars for calls: everything that they admit is a call of a known tool, with arguments that fit."""

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import json

from linnet.core.deltas import CallDelta, CallOpened, PartClosed, TextDelta
from linnet.core.json.schema import problem
from linnet.core.messages import ToolCall
from linnet.core.toolspec import ToolSpec
from linnet.providers.local.grammar import CLOSING, OPENING, grammar
from linnet.providers.local.prompt import call_text
from linnet.providers.local.reply_reader import ReplyReader
from linnet.providers.local.schema_rules import Rules
from linnet.tools.registry import Registry
from linnet.tools.standard import NAMES, standard_tools
from tests.providers.local.gbnf import Grammar
from tests.suite.times import times

STANDARD = Registry(standard_tools(NAMES)).specs
Schema = dict[str, Any]
seeds = st.integers(0, 2**32)


def drawn(schema: Schema, random: Random) -> tuple[Any, bool]:
    """Arguments that the rules for a schema admit, and whether they are said to be exact."""
    rules = Rules()
    first = rules.arguments(schema)
    return json.decode(Grammar(rules.written(first)).drawn(random, first)), rules.exact


def limits(least: str, most: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Schema]:
    return st.tuples(values, values).flatmap(
        lambda both: st.sampled_from([{}, {least: min(both)}, {most: max(both)}, {least: min(both), most: max(both)}])
    )


strings = limits("minLength", "maxLength", st.integers(0, 9)).map(lambda words: {"type": "string", **words})
whole = limits("minimum", "maximum", st.integers(-12_345, 12_345)).map(lambda words: {"type": "integer", **words})
numbers = limits("exclusiveMinimum", "maximum", st.floats(-500, 500)).map(lambda words: {"type": "number", **words})
listed = st.lists(st.text() | st.integers() | st.booleans() | st.none(), min_size=1, max_size=4).map(
    lambda values: {"enum": values}
)
names = st.text(max_size=6) | st.sampled_from(["path", "a b", 'say "x"', "back\\slash", "línea\n"])


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> Schema:
    properties = draw(st.dictionaries(names, inner, max_size=4))
    required = draw(st.lists(st.sampled_from(sorted(properties)), unique=True)) if properties else []
    extra: Schema = draw(
        st.sampled_from([{}, {"additionalProperties": False}, {"minProperties": 1}, {"maxProperties": 2}])
    )
    return {"type": "object", "properties": properties, "required": required, **extra}


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    arrays = limits("minItems", "maxItems", st.integers(0, 4)).flatmap(
        lambda words: inner.map(lambda items: {"type": "array", "items": items, **words})
    )
    unique = inner.map(lambda items: {"type": "array", "items": items, "uniqueItems": True})
    rows = st.lists(inner, min_size=1, max_size=3).map(lambda each: {"type": "array", "prefixItems": each})
    either = st.lists(inner, min_size=1, max_size=3).flatmap(
        lambda each: st.sampled_from(["anyOf", "oneOf", "allOf"]).map(lambda word: {word: each})
    )
    return objects(inner) | arrays | unique | rows | either


simple = strings | whole | numbers | listed | st.sampled_from([{"type": "boolean"}, {"type": ["string", "null"]}, {}])
schemas = objects(st.recursive(simple, nested, max_leaves=8))


@given(schemas, seeds)
@settings(max_examples=times(300), deadline=None)
def test_whatever_the_rules_for_a_schema_admit_is_an_object_and_fits(schema: Schema, seed: int) -> None:
    value, exact = drawn(schema, Random(seed))
    assert isinstance(value, dict)
    if exact:
        assert problem(value, schema) == ""


@given(objects(strings | whole | numbers | listed), seeds)
@settings(max_examples=times(100), deadline=None)
def test_the_rules_for_plain_schemas_are_exact(schema: Schema, seed: int) -> None:
    possible = "minProperties" not in schema or schema["properties"]
    plain = not schema.get("maxProperties", 9) < len(schema["required"])
    below_zero = [each for each in schema["properties"].values() if each.get("type") == "number"]
    if possible and plain and not below_zero:  # Between two numbers there may be no whole one.
        assert drawn(schema, Random(seed))[1]


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"type": "string", "pattern": "^x"}}},
        {"properties": {"a": {"type": "array", "uniqueItems": True, "minItems": 2}}, "required": ["a"]},
        {"properties": {"a": {"allOf": [{"type": "string"}, {"minLength": 3}]}}},
        {"properties": {"a": {"oneOf": [{"type": "integer"}, {"type": "number"}]}}},
        {"properties": {"a": {"type": "string", "maxLength": 100_000}}},
        {"properties": {"a": False}, "required": ["a"]},
        {"unheard of": 1},
        {"type": "string"},
    ],
)
def test_what_no_rule_can_say_is_left_to_the_tool_and_still_an_object(schema: Schema) -> None:
    value, exact = drawn(schema, Random(1))
    assert isinstance(value, dict)
    assert not exact


def test_a_reference_may_lead_back_to_where_it_is() -> None:
    tree: Schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "inner": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
        "required": ["name"],
    }
    schema = {
        "type": "object",
        "properties": {"top": {"$ref": "#/$defs/tree"}},
        "required": ["top"],
        "$defs": {"tree": tree},
    }
    for seed in range(50):
        value, exact = drawn(schema, Random(seed))
        assert exact
        assert problem(value, schema) == ""


def replied(reply: str, random: Random) -> tuple[str, str, str, bool]:
    """Text, name and arguments of a reply that comes in pieces of any length, and whether the call was complete."""
    reader = ReplyReader("c", tools=True)
    deltas = []
    at = 0
    while at < len(reply):
        size = random.randint(1, 9)
        deltas += reader.feed(reply[at : at + size])
        at += size
    deltas += reader.end()
    text = "".join(each.text for each in deltas if isinstance(each, TextDelta))
    name = "".join(each.name for each in deltas if isinstance(each, CallOpened))
    args = "".join(each.text for each in deltas if isinstance(each, CallDelta))
    return text, name, args, PartClosed() in deltas


@pytest.mark.parametrize("seed", range(20))
def test_a_reply_that_the_grammar_admits_is_text_or_a_call_that_fits(seed: int) -> None:
    rules, random = Grammar(grammar(STANDARD)), Random(seed)
    called: set[str] = set()
    known = {tool.name: tool for tool in STANDARD}
    for _ in range(times(100)):
        reply = rules.drawn(random)
        assert reply
        text, name, args, complete = replied(reply, random)
        assert OPENING not in text
        if OPENING not in reply:
            assert (text, name) == (reply, "")
            continue
        assert complete
        assert problem(json.decode(args), known[name].schema) == ""
        called.add(name)
    call = rules.drawn(random, "call")
    assert replied(OPENING + call, random)[3]


def test_every_tool_can_be_called() -> None:
    rules = Grammar(grammar(STANDARD))
    found = {replied(OPENING + rules.drawn(Random(seed), "call"), Random(seed))[1] for seed in range(300)}
    assert found == set(NAMES)


@given(
    st.dictionaries(st.text(max_size=5), st.recursive(st.text() | st.integers() | st.none(), st.lists), max_size=3),
    seeds,
)
@settings(max_examples=times(100), deadline=None)
def test_a_call_that_is_sent_back_is_spelled_as_one_that_is_read(args: dict[str, Any], seed: int) -> None:
    text, name, written, complete = replied(f"So.\n{call_text(ToolCall('c', 'read', args))}", Random(seed))
    assert (text, name, json.decode(written), complete) == ("So.\n", "read", args, True)


@given(st.text("<tol_ca>x\n", max_size=40), seeds)
@settings(max_examples=times(200), deadline=None)
def test_no_character_of_a_text_is_lost_however_like_a_call_it_begins(text: str, seed: int) -> None:
    if OPENING not in text:
        assert replied(text, Random(seed))[0] == text


@pytest.mark.parametrize("end", range(len(call_text(ToolCall("c", "read", {"path": "a"})))))
def test_a_call_that_is_cut_short_is_never_complete(end: int) -> None:
    reply = call_text(ToolCall("c", "read", {"path": "a"}))[:end]
    assert not replied(reply, Random(end))[3]


def test_a_reply_without_tools_may_say_anything() -> None:
    reader = ReplyReader("c", tools=False)
    assert reader.feed(f"{OPENING}{CLOSING}") == [TextDelta(f"{OPENING}{CLOSING}")]
    assert reader.end() == []


def test_a_name_with_quotes_in_it_is_read_as_it_was_written() -> None:
    odd = ToolSpec('say "x"', "Odd.", {"type": "object", "properties": {}})
    rules = Grammar(grammar([odd]))
    assert replied(OPENING + rules.drawn(Random(1), "call"), Random(1)) == ("", 'say "x"', "{}", True)
