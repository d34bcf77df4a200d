"""A text has no secret in it, however it was spelled, and no half of one."""

import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.core.text.secret_forms import ANCHOR, without

KEY = "sk-planted/0123456789+abc=&d"
WAYS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "in JSON": lambda key: json.dumps({"message": key}),
    "in JSON in JSON": lambda key: json.dumps({"message": json.dumps({"key": key})}),
    "with slashes escaped": lambda key: key.replace("/", "\\/"),
    "in escapes of JSON": lambda key: "".join(f"\\u{ord(each):04x}" for each in key),
    "in a URL": lambda key: f"https://x.example/?key={quote(key, safe='')}",
    "in a URL, every letter": lambda key: "".join(f"%{ord(each):02X}" for each in key),
    "in HTML": lambda key: f"<p>{html.escape(key)}</p>",
    "in HTML, every letter": lambda key: "".join(f"&#{ord(each)};" for each in key),
    "in base64": lambda key: base64.b64encode(f"user:{key}".encode()).decode(),
    "in base64 for URLs": lambda key: base64.urlsafe_b64encode(f"Bearer {key}!".encode()).decode(),
    "in hex": lambda key: key.encode().hex(),
    "quoted by repr": lambda key: repr(key),
    "in bytes": lambda key: repr(key.encode()),
    "in hexadecimal escapes": lambda key: "".join(f"\\x{ord(each):02x}" for each in key),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_secret_is_hidden_in_whichever_form(way: str) -> None:
    clean = without(f"they said {WAYS[way](KEY)}, twice: {WAYS[way](KEY)}.", [KEY])
    assert clean.count("[key]") == 2
    assert "0123456789" not in clean
    assert "planted" not in clean
    assert clean.startswith("they said ")


@given(st.integers(ANCHOR, len(KEY)), st.text(st.characters(codec="ascii")), st.text(st.characters(codec="ascii")))
def test_no_beginning_of_a_secret_is_left_where_it_was_cut(cut: int, before: str, after: str) -> None:
    assert KEY[:ANCHOR] not in without(before + KEY[:cut], [KEY])
    assert KEY[:ANCHOR] not in without(f"{before}{KEY}{after}", [KEY])


@given(st.text())
def test_a_text_without_the_secret_stays_as_it_is(text: str) -> None:
    assert without(text, ["sk-0123456789-not-there"]) == text


def test_a_word_that_is_too_short_to_be_a_secret_is_left() -> None:
    assert without("axe and x", ["x"]) == "axe and x"
