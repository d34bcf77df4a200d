"""Which parts of headers that somebody has written down may be secrets: all, but for what is known to be none."""

import pytest

from linnet.core.text.known_secrets import of_headers, values
from linnet.core.text.redact import Redactor
from linnet.core.text.secret_forms import without

HIDDEN = [
    ("X-Door", "open-sesame", "open-sesame"),
    ("X-Door", "Bearer open-sesame", "open-sesame"),
    ("X-Door", "hunter two", "hunter two"),  # The last word alone would be too short to be looked for.
    ("X-Door", "three words here", "three words here"),
    ("Cookie", "theme=dark; visit=open-sesame; last=1", "open-sesame"),
    ("X-Door", 'Digest user="somebody", response="open-sesame"', "open-sesame"),
    ("X-Site", "https://inner.example/abc", "inner.example/abc"),
    ("AUTHORIZATION", "open-sesame", "open-sesame"),
]


@pytest.mark.parametrize(("name", "value", "secret"), HIDDEN)
def test_what_a_header_says_is_hidden_whole_and_in_parts(name: str, value: str, secret: str) -> None:
    found = of_headers({name: value})
    for said in (value, f"you sent {secret}!"):
        assert secret not in without(said, found)
        assert secret.encode() not in Redactor(values(found)).whole(said.encode())


def test_what_anybody_may_say_is_not_hidden() -> None:
    harmless = {"user-agent": "acme-agent/1.0", "Content-Type": "application/json", "X-On": "yes", "X-Empty": " "}
    found = of_headers({**harmless, "X-Door": "Bearer open-sesame", "X-Site": "https://inner.example"})
    for said in (*harmless.values(), "Bearer of bad news", "see https://docs.example"):
        assert without(said, found) == said


def test_a_long_value_is_looked_through_in_a_time_that_grows_with_it() -> None:
    assert of_headers({"X-Door": "e" * 1_000_000}) == ["e" * 1_000_000]
