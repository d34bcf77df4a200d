from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.providers.http.chunked import BadChunk, ChunkedDecoder


def framed(chunks: list[bytes], extension: bytes = b"", trailer: bytes = b"") -> bytes:
    body = b"".join(b"%X%b\r\n%b\r\n" % (len(chunk), extension, chunk) for chunk in chunks)
    return body + b"0\r\n" + trailer + b"\r\n"


@given(
    st.lists(st.binary(min_size=1, max_size=40)),
    st.sampled_from([b"", b";name=value", b" ", b';a="b"']),
    st.sampled_from([b"", b"X-Sum: 1\r\n", b"A: 1\r\nB: 2\r\n"]),
    st.lists(st.integers(0, 1000)),
    st.binary(max_size=5),
)
def test_any_cutting_gives_the_body_its_end_and_what_follows(
    chunks: list[bytes], extension: bytes, trailer: bytes, cuts: list[int], excess: bytes
) -> None:
    stream = framed(chunks, extension, trailer) + excess
    edges = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    decoder = ChunkedDecoder()
    out = b"".join(decoder.feed(stream[a:b]) for a, b in pairwise(edges))
    assert out == b"".join(chunks)
    assert decoder.finished
    assert decoder.excess == excess


@given(st.lists(st.binary(min_size=1, max_size=40), min_size=1), st.integers(1, 4))
def test_a_body_without_its_last_chunk_is_not_finished(chunks: list[bytes], missing: int) -> None:
    decoder = ChunkedDecoder()
    decoder.feed(framed(chunks)[:-missing])
    assert not decoder.finished


@pytest.mark.parametrize(
    "garbage",
    [
        b"<html>\r\n",
        b"\r\n",
        b"-1\r\n",
        b"0x10\r\n",
        b"1_0\r\n",
        b"+5\r\n",
        b" 5\r\n",
        b"3\r\nabcd\r\n",
        b"3\r\nabc\n\r",
        b"ffffffffffffffffff\r\n",
        b"\xd9\xa1\r\n",
        b"1" * 20_000,
    ],
)
def test_garbage_is_an_error(garbage: bytes) -> None:
    with pytest.raises(BadChunk):
        ChunkedDecoder().feed(garbage)


def test_garbage_after_a_chunk_is_an_error_when_it_arrives_alone() -> None:
    decoder = ChunkedDecoder()
    assert decoder.feed(b"3\r\nabc") == b"abc"
    with pytest.raises(BadChunk):
        decoder.feed(b"xx")


def test_a_read_is_one_piece_whatever_it_holds() -> None:
    assert ChunkedDecoder().feed(b"1\r\na\r\n" * 1000) == b"a" * 1000
