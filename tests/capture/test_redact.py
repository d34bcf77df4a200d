"""A secret that is planted anywhere, cut anywhere, in any spelling, is in no capture."""

import base64
import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linnet.capture.record import Record
from linnet.capture.secrets import of_flags, of_request
from linnet.capture.split_secrets import mended
from linnet.core.text.known_secrets import of_environment, values
from linnet.core.text.redact import MARK, Redactor

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

VALUE = 'hunter2/"pass word"+ü-9f8e7d'
KEYS = [
    "sk-ant-api03-Zx81hJ2kLmN0pQrStUvW",
    "sk-proj-abcdefghij0123456789",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuv",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "xoxb-123456789012-abcdefghij",
    "glpat-abcdefghijklmnopqrst",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.s5AbCdEfGhIjKlMnOp",
    "Bearer abcdefghijklmnop.qrst",
    "-----BEGIN RSA PRIVATE KEY-----\\nMIIEowIBAAKCAQEA\\nabc\\n-----END RSA PRIVATE KEY-----",
]
STREAM = b'{"type":"text_delta","delta":"so s sk sk- gh eyJ Be hu here \xc3\xbc it is: "}\n{"type":"done"}\n'


def redacted(data: bytes, cuts: list[int], known: tuple[str, ...] = (VALUE,)) -> bytes:
    redactor = Redactor(values(known))
    out = b""
    for cut in [*cuts, len(data)]:
        out += redactor.feed(data[:cut])
        data = data[cut:]
    return out + redactor.finish()


def spellings(secret: str) -> list[bytes]:
    raw = secret.encode()
    return [
        raw,
        json.dumps(secret)[1:-1].encode(),
        json.dumps(json.dumps(secret))[3:-3].encode(),
        quote(secret, safe="").encode(),
        raw.hex().encode(),
        *(base64.b64encode(b"%b%b tail" % (b"xyz"[:shift], raw)) for shift in range(3)),
        *(base64.urlsafe_b64encode(b"%b%b tail" % (b"xyz"[:shift], raw)) for shift in range(3)),
    ]


def test_a_secret_planted_at_every_place_and_cut_at_every_byte_is_gone() -> None:
    for planted in (VALUE.encode(), KEYS[0].encode()):
        for at in range(0, len(STREAM) + 1, 7):
            data = STREAM[:at] + planted + STREAM[at:]
            clean = redacted(data, [])
            assert planted not in clean
            assert planted[4:-4] not in clean
            for cut in range(max(0, at - 3), at + len(planted) + 3):
                assert redacted(data, [cut]) == clean


def test_byte_by_byte_is_the_same_as_in_one_piece() -> None:
    for planted in (*map(str.encode, KEYS), *spellings(VALUE)):
        data = STREAM[:50] + planted + STREAM[50:] + planted
        assert redacted(data, [1] * len(data)) == redacted(data, [])


@unhurried
@given(st.binary(max_size=80), st.sampled_from([*KEYS, VALUE]), st.binary(max_size=80), st.lists(st.integers(0, 60)))
def test_whatever_is_around_it_and_however_it_is_cut(before: bytes, secret: str, after: bytes, cuts: list[int]) -> None:
    data = before + secret.encode() + after
    clean = redacted(data, cuts)
    assert secret.encode() not in clean
    assert clean == redacted(data, [])


@pytest.mark.parametrize("index", range(len(spellings(VALUE))))
def test_a_known_value_is_found_in_every_spelling(index: int) -> None:
    spelled = spellings(VALUE)[index]
    clean = redacted(b'{"x":"' + spelled + b'"}\n', [])
    assert MARK in clean
    assert spelled[6:-12] not in clean


@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_known_by_its_shape(key: str) -> None:
    assert redacted(f'{{"x":"{key}"}}'.encode(), [], known=()) == b'{"x":"[REDACTED]"}'


@pytest.mark.parametrize(
    "text", ["task-force", "sk-short", "Bearer of news", "eyJust a word. And another.", "AKIA", "ghp_"]
)
def test_ordinary_words_stay(text: str) -> None:
    assert redacted(text.encode(), [], known=()) == text.encode()


def test_what_cannot_be_the_beginning_of_a_secret_is_not_held_back() -> None:
    redactor = Redactor(values([VALUE]))
    assert redactor.feed(b"plain text and hunter") == b"plain text and "
    assert redactor.feed(b" claim") == b"hunter claim"
    assert redactor.feed(b"s") == b""
    assert redactor.finish() == b"s"


def test_a_beginning_of_a_known_value_is_hidden_too() -> None:
    """pi repeats the message so far with every piece of it."""
    assert redacted(b'"text":"hunter2/\\"pass w"', []) == b'"text":"[REDACTED]"'


@unhurried
@given(st.text(min_size=6, max_size=30), st.binary(max_size=6), st.integers(0, 2))
def test_any_value_is_found_as_it_is_and_in_base64(value: str, before: bytes, shift: int) -> None:
    raw = value.encode()
    assert raw not in redacted(before + raw, [3], known=(value,)).replace(MARK, b"")
    coded = base64.b64encode(b"xyz"[:shift] + raw)
    clean = redacted(coded, [5], known=(value,))
    assert MARK in clean
    assert len(clean.replace(MARK, b"").rstrip(b"=")) <= shift + 2  # What its neighbours have a part in.


def test_secrets_come_from_the_environment_from_flags_and_from_requests() -> None:
    environ = {"DEEPSEEK_API_KEY": "one-one", "ZOTCORE_RPC_TOKEN": "two-two", "A_SECRET": "three3", "KEYBOARD": "us"}
    assert of_environment(environ) == ["one-one", "two-two", "three3"]
    argv = ["env", "X_KEY=four44", "linnet", "rpc", "--api-key", "five55", "--token=six666", "--model", "m", "--key"]
    assert of_flags(argv) == ["four44", "five55", "six666", ""]
    assert of_request(b'{"type":"hello","token":"seven7","id":"0"}') == ["seven7"]
    assert of_request(b'{"type":') == []
    assert values(["short"]) == ()


def records(*frames: dict[str, Any]) -> list[Record]:
    return [Record(0.0, "out", json.dumps(frame).encode()) for frame in frames]


@pytest.mark.parametrize("secret", [VALUE, KEYS[0]])
def test_a_secret_in_pieces_of_a_reply_is_gone_when_they_are_joined(secret: str) -> None:
    text = f"The key is {secret}, keep it."
    for size in (1, 3, 8):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        zots = records(*({"type": "text_delta", "delta": piece} for piece in pieces))
        inner = [{"type": "text_delta", "contentIndex": 0, "delta": piece} for piece in pieces]
        pis = records(*({"type": "message_update", "assistantMessageEvent": event} for event in inner))
        for made, path in ((zots, ()), (pis, ("assistantMessageEvent",))):
            said = [json.loads(record.line) for record in mended(made, Redactor(values([VALUE])))]
            joined = "".join(frame[path[0]]["delta"] if path else frame["delta"] for frame in said)
            assert joined == "The key is [REDACTED], keep it."


def test_escapes_that_nobody_needs_hide_nothing() -> None:
    line = b'{"type":"text","text":"\\u0073k-ant-api03-Zx81hJ2kLmN0pQrStUvW"}'
    [record] = mended([Record(0.0, "out", line)], Redactor())
    assert json.loads(record.line) == {"type": "text", "text": "[REDACTED]"}


def test_records_without_secrets_are_not_touched() -> None:
    before = records({"type": "text_delta", "delta": "a\u2028b"}, {"type": "tool_progress", "id": "c", "text": "x"})
    assert mended(before, Redactor(values([VALUE]))) == before
