from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.providers.http.sse import EventSplitter, EventTooLarge


def naive(stream: bytes) -> list[bytes]:
    """The rules of the format, one character at a time."""
    text = stream.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    lines, line, at = [], "", 0
    while at < len(text):
        if text[at] in "\r\n":
            lines.append(line)
            line = ""
            at += 2 if text[at : at + 2] == "\r\n" else 1
        else:
            line += text[at]
            at += 1
    events: list[bytes] = []
    data: list[str] = []
    for line in lines:
        if not line:
            if data:
                events.append("\n".join(data).encode("utf-8", "surrogateescape"))
            data = []
        elif line.split(":", 1)[0] == "data":
            value = line[5:]
            data.append(value[1:] if value.startswith(" ") else value)
    return events


def pieces(stream: bytes, cuts: list[int]) -> list[bytes]:
    edges = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    return [stream[a:b] for a, b in pairwise(edges)]


payload = st.text(st.sampled_from('{}":a \u2028\x85é漢😀:'), max_size=12)
field = st.one_of(
    payload.map(lambda text: f"data: {text}"),
    payload.map(lambda text: f"data:{text}"),
    payload.map(lambda text: f"event: {text}"),
    payload.map(lambda text: f": {text}"),
    payload.map(lambda text: f"id: {text}"),
    st.sampled_from(["data", "", "datax: no", "retry: 10", "\ufeffdata: no"]),
)
ending = st.sampled_from(["\n", "\r\n", "\r"])
typical = payload.map(lambda text: f"event: x\ndata: {text}\n\n")
bare = payload.map(lambda text: f"data: {text}\n\n")
odd = st.lists(st.tuples(field, ending)).map(lambda lines: "".join(text + end for text, end in lines))
streams = st.lists(typical | bare | odd).map(lambda parts: "".join(parts).encode())


@given(streams, st.lists(st.integers(0, 400)), st.booleans())
def test_any_cutting_of_any_stream_gives_what_the_rules_say(stream: bytes, cuts: list[int], marked: bool) -> None:
    if marked:
        stream = b"\xef\xbb\xbf" + stream
    splitter = EventSplitter()
    assert [event for piece in pieces(stream, cuts) for event in splitter.feed(piece)] == naive(stream)


@given(st.binary())
def test_garbage_never_raises(stream: bytes) -> None:
    assert EventSplitter().feed(stream) == naive(stream)


def test_an_event_comes_out_with_the_read_that_ends_it() -> None:
    splitter = EventSplitter()
    assert splitter.feed(b"event: x\r\ndata: {}\r\n") == []
    assert splitter.feed(b"\r") == [b"{}"]
    assert splitter.feed(b"\ndata: 1\n\n") == [b"1"]


def test_an_event_beyond_the_limit_is_refused_however_it_arrives() -> None:
    splitter = EventSplitter(limit=100)
    for _ in range(10):
        splitter.feed(b"data: 1234")
    with pytest.raises(EventTooLarge):
        splitter.feed(b"data: 1234")
    with pytest.raises(EventTooLarge):
        EventSplitter(limit=100).feed(b"data: " + b"x" * 200 + b"\n\n")


def test_many_small_events_in_one_read_are_not_one_large_one() -> None:
    assert len(EventSplitter(limit=100).feed(b"data: 1\n\n" * 50)) == 50


def test_a_large_event_in_many_reads_costs_its_length() -> None:
    splitter = EventSplitter()
    splitter.feed(b"data: ")
    for _ in range(2000):
        assert splitter.feed(b"x" * 10_000) == []
    (event,) = splitter.feed(b"\n\n")
    assert len(event) == 20_000_000
