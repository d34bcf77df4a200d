"""A JSON object in pieces: what is shown of it is true at every moment, and costs what it is long."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.wire.pi import partial_json
from linnet.wire.pi.partial_json import DEEPEST, PartialJson

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(st.text(), values, max_size=4)
spelled = st.builds(
    lambda value, escaped, indent: json.dumps(value, ensure_ascii=escaped, indent=indent),
    objects,
    st.booleans(),
    st.sampled_from([None, 1, "\t", "\r\n "]),
)
cuts = st.lists(st.integers(1, 7), min_size=1, max_size=40)


def pieces(text: str, sizes: list[int]) -> list[str]:
    out: list[str] = []
    at = 0
    while at < len(text):
        size = sizes[len(out) % len(sizes)]
        out.append(text[at : at + size])
        at += size
    return out


def shown(machine: PartialJson) -> str:
    return (bytes(machine.shown) + machine.closers).decode()


def is_prefix(part: Any, whole: Any) -> bool:
    """Strings may be cut, lists and objects may end early; everything else is there or not."""
    match part, whole:
        case str(), str():
            return whole.startswith(part)
        case list(), list():
            same = part[:-1] == whole[: len(part) - 1] if part else True
            return len(part) <= len(whole) and same and all(map(is_prefix, part[-1:], whole[len(part) - 1 :]))
        case dict(), dict():
            keys = list(part)
            same = all(part[key] == whole[key] for key in keys[:-1])
            return keys == list(whole)[: len(keys)] and same and all(is_prefix(part[k], whole[k]) for k in keys[-1:])
        case _:
            return type(part) is type(whole) and bool(part == whole)


@given(spelled, cuts)
def test_every_moment_is_an_object_that_only_grows_into_the_last_one(text: str, sizes: list[int]) -> None:
    machine = PartialJson()
    whole = json.loads(text)
    last: Any = {}
    assert json.loads(shown(machine)) == {}
    for piece in pieces(text, sizes):
        machine.feed(piece)
        now = shown(machine)
        assert re.search(r"[\x00-\x1f\u2028\u2029]", now) is None
        value = json.loads(now)
        assert is_prefix(last, value)
        assert is_prefix(value, whole)
        last = value
    assert last == whole


@given(spelled, cuts)
def test_how_it_is_cut_makes_no_difference(text: str, sizes: list[int]) -> None:
    in_pieces, at_once = PartialJson(), PartialJson()
    for piece in pieces(text, sizes):
        in_pieces.feed(piece)
    at_once.feed(text)
    assert shown(in_pieces) == shown(at_once)


@given(st.text(alphabet='{}[]",:\\u0d8cntrue-1.e \n\ud83d\ude00é\u2028', max_size=40), cuts)
def test_no_text_is_too_strange_to_be_an_object(text: str, sizes: list[int]) -> None:
    machine = PartialJson()
    for piece in pieces(text, sizes):
        machine.feed(piece)
        assert isinstance(json.loads(shown(machine)), dict)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("", "{}"),
        ("{", "{}"),
        ('{"pa', "{}"),
        ('{"path"', "{}"),
        ('{"path":', "{}"),
        ('{"path":"', '{"path":""}'),
        ('{"path":"a","content":"xy', '{"path":"a","content":"xy"}'),
        ('{"a":"x\\', '{"a":"x"}'),
        ('{"a":"x\\u00e', '{"a":"x"}'),
        ('{"a":"x\\ud83d', '{"a":"x"}'),
        ('{"a":"x\\ud83d\\ude', '{"a":"x"}'),
        ('{"a":"x\\ud83d\\ude00', '{"a":"x\\ud83d\\ude00"}'),
        ('{"a":12', "{}"),
        ('{"a":12 ', '{"a":12}'),
        ('{"a":12,', '{"a":12}'),
        ('{"a":tru', "{}"),
        ('{"a":[1,{"b":[', '{"a":[1,{"b":[]}]}'),
        ('{\n  "a": [\r\n\t1, 2', '{"a":[1]}'),
        ('{"a":1}  ', '{"a":1}'),
    ],
)
def test_what_is_not_sure_yet_is_left_out(text: str, seen: str) -> None:
    machine = PartialJson()
    machine.feed(text)
    assert shown(machine) == seen


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("", "[1]"),
        ("", '"a"'),
        ('{"a":1', ",}"),
        ('{"a":[1', ",]"),
        ('{"a":1', " 2"),
        ('{"a":1}', "x"),
        ('{"a":"x', '\ny"'),
        ('{"a":"x', '\\q"'),
        ('{"a":"x', '\\ude00"'),
        ('{"a":"x', '\\ud83dx"'),
        ('{"a":"x', '\ud83d"'),
        ('{"a":', "nope,"),
        ('{"a":', "01,"),
        ('{"a":[1', "}"),
        ("{", "a:1}"),
        ('{"a"', " 1}"),
    ],
)
def test_what_turns_out_to_be_no_object_stops_growing(good: str, bad: str) -> None:
    machine = PartialJson()
    machine.feed(good)
    machine.feed(bad)
    before = shown(machine)
    assert isinstance(json.loads(before), dict)
    machine.feed(',"more":"words"}')
    assert shown(machine) == before


def test_brackets_may_be_deep_but_not_endless() -> None:
    machine = PartialJson()
    machine.feed('{"a":' + "[" * 100_000)
    assert len(machine.closers) == DEEPEST


class Counting:
    """A pattern that counts the characters it looks at."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        self.pattern = pattern
        self.looked_at = 0

    def match(self, text: str, at: int) -> re.Match[str] | None:
        found = self.pattern.match(text, at)
        self.looked_at += 1 + (len(found.group()) if found else 0)
        return found

    def fullmatch(self, text: Any, at: int = 0) -> re.Match[Any] | None:
        self.looked_at += len(text) - at
        return self.pattern.fullmatch(text, at)


@pytest.mark.parametrize(
    "inner",
    ['"a":"' + "word \\n\\u00e9" * 2_000, '"a":' + "1" * 20_000, '"' + "k" * 20_000, '"a":[' + "1,[]," * 4_000],
)
def test_every_character_is_looked_at_a_few_times_however_it_is_cut(
    inner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counters = [Counting(getattr(partial_json, name)) for name in ("_characters", "_spaces", "_piece", "_scalar")]
    for name, counter in zip(("_characters", "_spaces", "_piece", "_scalar"), counters, strict=True):
        monkeypatch.setattr(partial_json, name, counter)
    text = "{" + inner
    for size in (1, 3, 1000):
        machine = PartialJson()
        for counter in counters:
            counter.looked_at = 0
        for piece in pieces(text, [size]):
            machine.feed(piece)
        assert sum(counter.looked_at for counter in counters) <= 8 * len(text)
