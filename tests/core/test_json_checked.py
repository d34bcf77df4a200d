"""Files that people write are refused with a sentence that says where."""

from typing import Annotated, Literal

import pytest
from msgspec import Meta, Struct

from linnet.core.json.checked import checked, misplaced
from linnet.errors import ConfigError


class Inner(Struct, forbid_unknown_fields=True, rename="camel"):
    base_url: str
    count: int | None = None
    kind: Literal["red", "green"] = "red"
    ratio: Annotated[float, Meta(gt=0)] = 1.0
    parts: list["Inner"] = []


class Outer(Struct, forbid_unknown_fields=True):
    named: dict[str, Inner] = {}
    words: list[str] = []


REFUSED = [
    (b'{\n"wrods": []}', '2: wrods: is not known here; did you mean "words"?'),
    (b'{\n\n"zzzzz": []}', "3: zzzzz: is not known here; known are named, words"),
    (b'{"words":\n[1]}', "2: words[0]: expected a string, not a whole number"),
    (b'{"words":\n3}', "1: words: expected a list, not a whole number"),
    (
        b'{"named": {\n"a": {"baseUrl": ""},\n"b": {\n"base": 1}}}',
        '4: named.b.base: is not known here; did you mean "baseUrl"?',
    ),
    (b'{"named": {\n"a": {"baseUrl": ""},\n"b": {}}}', '3: named.b: the key "baseUrl" is missing'),
    (
        b'{"named": {"a": {"baseUrl": "",\n"count": 1.5}}}',
        "2: named.a.count: expected a whole number or null, not a number",
    ),
    (b'{"named": {"a": {"baseUrl": "",\n"kind": "blue"}}}', '2: named.a.kind: expected "red" or "green", not \'blue\''),
    (b'{"named": {"a": {"baseUrl": "",\n"ratio": 0}}}', "2: named.a.ratio: expected a number > 0.0"),
    (
        b'{"named": {"a": {"baseUrl": "", "parts": [\n{"baseUrl": ""},\n{"baseUrl": "",\n"coutn": 1}]}}}',
        '4: named.a.parts[1].coutn: is not known here; did you mean "count"?',
    ),
    (b"[]", "1: expected an object, not a list"),
    (b'{"words": [],\n}', "2: is not JSON: trailing comma in object"),
    (b'{"words": [\n\n', "1: is not JSON: it ends too early"),
    (b"", "1: is not JSON: it ends too early"),
    (b'{"words":\n["\xff"]}', "2: is not UTF-8 text"),
]


@pytest.mark.parametrize(("text", "sentence"), REFUSED, ids=[sentence for _, sentence in REFUSED])
def test_what_does_not_fit_is_named_with_its_line(text: bytes, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        checked(text, Outer, "x.json")
    assert str(caught.value) == f"x.json:{sentence}"


def test_what_fits_is_returned() -> None:
    assert checked(b'{"named": {"a": {"baseUrl": "b"}}}', Outer, "x.json").named["a"].base_url == "b"


def test_what_has_the_right_form_and_makes_no_sense_is_named_likewise() -> None:
    error = misplaced(b'{"words":\n["a",\n"b"]}', ("words", 1), "is no word", "x.json")
    assert str(error) == "x.json:3: words[1]: is no word"
