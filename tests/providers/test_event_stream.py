"""Frames of AWS's event stream: cut anywhere, checked, and understood as AWS's own parser understands them."""

import json
from struct import pack
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.providers.bedrock.event_stream import FrameSplitter
from linnet.providers.http.sse import EventTooLarge
from linnet.testing.bedrock.wire import frame

LIMIT = 1 << 20
HELLO = {":event-type": "messageStart", ":content-type": "application/json", ":message-type": "event"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-100, 100) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KINDS = st.sampled_from(["messageStart", "contentBlockStop", "metadata", "odd é"])


def split(data: bytes, size: int = 0, limit: int = LIMIT) -> list[Any]:
    splitter = FrameSplitter(limit)
    pieces = [data[at : at + size] for at in range(0, len(data), size)] if size else [data]
    return [json.loads(payload) for piece in pieces for payload in splitter.feed(piece)]


def test_an_event_says_what_it_is() -> None:
    assert split(frame(HELLO, b'{"role":"assistant"}')) == [{"messageStart": {"role": "assistant"}}]


def test_a_delta_is_given_as_it_came() -> None:
    data = b'{"contentBlockIndex":0, "delta":{"text":"a"}}'
    assert FrameSplitter(LIMIT).feed(frame({**HELLO, ":event-type": "contentBlockDelta"}, data)) == [data]


def test_an_exception_and_an_error_say_why() -> None:
    exception = {":message-type": "exception", ":exception-type": "throttlingException"}
    error = {":message-type": "error", ":error-code": "InternalError", ":error-message": "oh"}
    assert split(frame(exception, b'{"message":"slow"}') + frame(error, b"")) == [
        {"exception": {"type": "throttlingException", "body": {"message": "slow"}}},
        {"exception": {"type": "InternalError", "body": {"message": "oh"}}, "rest": None},
    ]


def test_what_is_of_no_known_type_says_nothing() -> None:
    assert split(frame({":message-type": "news"}, b"{}") + frame({}, b"")) == []


@given(st.lists(st.tuples(KINDS, JSON), max_size=5), st.integers(1, 40))
def test_where_a_stream_is_cut_makes_no_difference(events: list[tuple[str, Any]], size: int) -> None:
    data = b"".join(frame({**HELLO, ":event-type": kind}, json.dumps(said).encode()) for kind, said in events)
    assert split(data, size) == [{kind: said} for kind, said in events]


@pytest.mark.parametrize("at", [0, 5, 9, 14, 40, -6, -1])
def test_a_flipped_bit_is_noticed_and_what_came_before_is_not_lost(at: int) -> None:
    good, bad = frame(HELLO, b'{"a":1}'), bytearray(frame(HELLO, b'{"b":2}'))
    bad[at] ^= 1
    splitter = FrameSplitter(LIMIT)
    assert splitter.feed(good + bytes(bad)) == [b'{"messageStart":{"a":1}}']
    with pytest.raises(ValueError, match="checksum"):
        splitter.feed(b"")


def test_a_frame_that_is_too_large_is_not_waited_for() -> None:
    with pytest.raises(EventTooLarge):
        split(frame(HELLO, b'"' + b"x" * 1000 + b'"')[:12], limit=500)


@pytest.mark.parametrize("headers", [b"\x05ab", b"\x01a\x63", b"\x01a\x07\xff\xff", b"\x01\xff\x07\x00\x01x"])
def test_headers_that_are_none_are_refused(headers: bytes) -> None:
    prelude = pack("!II", 16 + len(headers), len(headers))
    checked = prelude + pack("!I", crc32(prelude)) + headers
    with pytest.raises(ValueError, match="headers"):
        split(checked + pack("!I", crc32(checked)))


def test_a_frame_that_is_shorter_than_its_headers_is_refused() -> None:
    prelude = pack("!II", 16, 8)
    with pytest.raises(ValueError, match="shorter"):
        split(prelude + pack("!I", crc32(prelude)) + b"1234")


def test_headers_of_every_type_are_skipped_over() -> None:
    odd = b"".join(
        b"\x01" + name + bytes([kind]) + value
        for name, kind, value in (
            (b"a", 0, b""),
            (b"b", 1, b""),
            (b"c", 2, b"1"),
            (b"d", 3, b"12"),
            (b"e", 4, b"1234"),
            (b"f", 5, b"12345678"),
            (b"g", 6, b"\x00\x03xyz"),
            (b"h", 8, b"12345678"),
            (b"i", 9, b"1234567812345678"),
        )
    )
    whole = frame(HELLO, b"")
    named = odd + whole[12:-4]
    prelude = pack("!II", 18 + len(named), len(named))
    checked = prelude + pack("!I", crc32(prelude)) + named + b"{}"
    assert split(checked + pack("!I", crc32(checked))) == [{"messageStart": {}}]


@pytest.mark.foreign
@pytest.mark.xdist_group("vendors")
@given(st.lists(st.tuples(KINDS, JSON), min_size=1, max_size=4), st.integers(1, 30))
def test_their_parser_reads_the_same_out_of_the_same_frames(events: list[tuple[str, Any]], size: int) -> None:
    from botocore.eventstream import EventStreamBuffer

    data = b"".join(frame({**HELLO, ":event-type": kind}, json.dumps(said).encode()) for kind, said in events)
    buffer: Any = EventStreamBuffer()
    heard: list[Any] = []
    for at in range(0, len(data), size):
        buffer.add_data(data[at : at + size])
        heard += [{each.headers[":event-type"]: json.loads(each.payload)} for each in buffer]
    assert heard == split(data)
