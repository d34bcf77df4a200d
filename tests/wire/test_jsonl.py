"""Bytes to lines and back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.json import Decoder

from linnet.errors import BadInput
from linnet.wire.jsonl import Lines, Overlong, decode_line, encode_lines

anything: Decoder[object] = Decoder()


def cut(data: bytes, sizes: list[int]) -> list[bytes]:
    chunks = []
    for size in sizes:
        chunks.append(data[:size])
        data = data[size:]
    return [*chunks, data]


@given(st.binary(), st.lists(st.integers(0, 20)))
def test_lines_do_not_depend_on_how_the_bytes_arrive(data: bytes, sizes: list[int]) -> None:
    lines = Lines()
    got = [line for chunk in cut(data, sizes) for line in lines.feed(chunk)] + lines.finish()
    expected = data.split(b"\n")
    assert got == (expected[:-1] if expected[-1] == b"" else expected)


@given(st.lists(st.binary(max_size=30)), st.lists(st.integers(0, 9)))
def test_a_line_over_the_limit_is_counted_and_the_next_one_is_whole(parts: list[bytes], sizes: list[int]) -> None:
    texts = [part.replace(b"\n", b" ") for part in parts]
    lines = Lines(limit=10)
    got = [line for chunk in cut(b"\n".join(texts) + b"\n", sizes) for line in lines.feed(chunk)]
    assert got == [text if len(text) <= 10 else Overlong(len(text)) for text in texts or [b""]]


@given(st.text())
def test_what_is_printed_is_one_line_for_every_kind_of_line_reader(text: str) -> None:
    line = encode_lines([{"text": text}])
    assert line.endswith(b"\n")
    assert len(line.decode().splitlines()) == 1 or any(c in text for c in "\x1c\x1d\x1e\x85")
    assert json.loads(line) == {"text": text}
    assert "\u2028" not in line.decode()
    assert "\u2029" not in line.decode()


def test_half_a_surrogate_pair_is_escaped() -> None:
    assert encode_lines([{"a": "x\ud83d"}]) == b'{"a": "x\\ud83d"}\n'


def test_a_line_is_the_same_whatever_comes_with_it() -> None:
    frames = [{"a": 1}, {"b": "x\ud83d"}, {"c": "\u2028"}]
    assert encode_lines(frames) == b"".join(encode_lines([frame]) for frame in frames)
    assert encode_lines(frames).startswith(b'{"a":1}\n')


def test_half_a_surrogate_pair_in_the_input_becomes_a_replacement_character() -> None:
    assert decode_line(anything, rb'{"a": "x\ud83d"}') == {"a": "x\ufffd"}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"a":1', "truncated"),
        (b'{"a":"\xff"}', "invalid UTF-8 at byte 6"),
        (b"[" * 100_000, "nested too deeply"),
        (rb'{"a": "\ud83d"', "unexpected end|truncated"),
        (b'{"a":1,}', "trailing comma"),
    ],
)
def test_a_line_that_is_no_json_says_why(line: bytes, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        decode_line(anything, line)
