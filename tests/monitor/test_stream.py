"""The bytes of a stream, however they are cut: the same watch as line by line, in memory that does not grow."""

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linnet.capture.record import Capture
from linnet.monitor.describe import snapshot
from linnet.monitor.states import Garbled, Gone, Idle, Speaking, Thinking
from linnet.monitor.stream import Stream
from linnet.monitor.watch import Watch

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

LINES = [
    b'{"type":"text_delta","delta":"w\xe2\x80\xa8x"}',
    b'{"delta":"w ","type":"text_delta"}',
    b'{"type":"tool_use_start","id":"c","name":"bash"}',
    b'{"type":"tool_use_args","id":"c","delta":"x"}',
    b'{"type":"tool_result","id":"c"}',
    b'{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"w "}}',
    b'{"type":"turn_start"}',
    b"stderr got in between",
    b"",
    b'{"type":"done"}',
]


def watched(*chunks: bytes, dialect: Any = None) -> Watch:
    stream = Stream(Watch(dialect))
    for chunk in chunks:
        stream.feed(1.0, chunk)
    return stream.watch


def by_line(lines: list[bytes], dialect: Any = None) -> Watch:
    watch = Watch(dialect)
    for line in lines:
        watch.heard(1.0, line)
    return watch


def same(one: Watch, other: Watch) -> bool:
    """Of many pieces in a row only the last are read, so there may be fewer words; never others."""
    seen, known = snapshot(one), snapshot(other)
    words = seen.pop("words")
    return bool(known.pop("words").endswith(words) and seen == known)


@unhurried
@given(
    st.lists(st.tuples(st.sampled_from(LINES), st.integers(1, 60)), max_size=12),
    st.lists(st.integers(1, 400), max_size=30),
    st.sampled_from(["zot", "pi", None]),
)
def test_however_a_stream_is_cut_the_watch_is_the_same(
    runs: list[tuple[bytes, int]], cuts: list[int], dialect: str | None
) -> None:
    lines = [line for line, count in runs for _ in range(count)]
    data = b"".join(line + b"\n" for line in lines)
    stream = Stream(Watch(dialect))  # type: ignore[arg-type]
    for size in [*cuts, len(data)]:
        stream.feed(1.0, data[:size])
        data = data[size:]
    assert same(stream.watch, by_line(lines, dialect))


@pytest.mark.parametrize("line", [LINES[0], LINES[1]], ids=["linnet", "zot"])
def test_a_flood_of_text_is_counted_exactly_and_its_end_is_read(line: bytes) -> None:
    data = (
        b'{"type":"assistant_start"}\n' + line + b"\n" + (line + b"\n") * 5000 + b'{"type":"turn_end","stop":"end"}\n'
    )
    watch = watched(data[:27], data[27:-30], data[-30:])
    assert (watch.types["text_delta"], watch.frames, watch.state) == (5001, 5003, Thinking())
    assert watch.words.endswith(json.loads(line)["delta"] * 10)


def test_updates_that_repeat_the_message_are_counted_and_the_last_one_is_read() -> None:
    def update(text: str, more: str) -> bytes:
        event = {"type": "text_delta", "contentIndex": 0, "delta": more, "partial": {}}
        message = {"role": "assistant", "content": [{"type": "text", "text": text}]}
        frame = {"type": "message_update", "message": message, "assistantMessageEvent": event}
        return json.dumps(frame, separators=(",", ":")).encode() + b"\n"

    lines = [update(" ".join(f"w{n}" for n in range(size)), f"w{size}") for size in range(1, 100)]
    watch = watched(b'{"type":"agent_start"}\n', b"".join(lines))
    assert (watch.types["message_update"], watch.state) == (99, Speaking())
    assert watch.words.endswith("w96 w97 w98")


def test_something_said_between_two_floods_is_not_lost() -> None:
    delta = LINES[0] + b"\n"
    watch = watched(delta * 50, delta * 1000 + b'{"type":"ext_frob"}\n' + delta * 1000, dialect="zot")
    assert watch.unmapped == {"ext_frob": 1}
    assert watch.types["text_delta"] == 2050


def test_a_torn_line_in_a_flood_is_noticed() -> None:
    delta = LINES[0] + b"\n"
    for torn in (b'{"type":"text_delta","delta":"half\n', b'{"type":"tool_use_args","id":"c","del\n'):
        watch = watched(delta * 1000 + torn + delta * 1000, dialect="zot")
        assert (watch.garbled, watch.types["text_delta"]) == (1, 2000)


def test_a_frame_of_a_hundred_megabytes_is_known_by_its_ends_and_not_kept() -> None:
    block = b"x" * (1 << 20)
    for head, tail in ((b'{"type":"tool_result","id":"c","content":"', b'"}'), (b'{"content":"', b'","type":"done"}')):
        stream = Stream(Watch("zot"))
        stream.feed(0.0, b'{"type":"text_delta","delta":"a"}\n' + head)
        tracemalloc.start()
        for _ in range(100):
            stream.feed(0.0, block)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        stream.feed(0.0, tail + b'\n{"type":"done"}\n')
        assert stream.watch.state == Idle()
        assert (stream.watch.garbled, stream.watch.frames) == (0, 3)
        assert peak < 64 << 20


def test_a_line_too_long_that_is_no_frame_is_named_by_its_size() -> None:
    stream = Stream(Watch(), longest=1000)
    stream.feed(0.0, b"x" * 5000)
    stream.feed(0.0, b"\n")
    assert isinstance(stream.watch.state, Garbled)
    assert stream.watch.state.reason == "it has 5,000 bytes"


def test_a_stream_that_is_torn_in_mid_frame_ends_with_what_there_is() -> None:
    stream = Stream(Watch())
    stream.feed(0.0, b'{"type":"text_delta","delta":"a"}\n{"type":"don')
    stream.finish(1.0, 137)
    assert stream.watch.garbled == 1
    assert stream.watch.state == Gone(137, "speaking")


def test_what_was_not_looked_at_is_counted_and_half_a_line_is_no_line() -> None:
    stream = Stream(Watch("zot"))
    stream.feed(0.0, b'{"type":"turn_start"}\n{"type":"te')
    stream.skip(1000)
    stream.feed(0.0, b'never seen whole"}')
    stream.feed(0.0, b' and on\n{"type":"done"}\n')
    assert (stream.watch.frames, stream.watch.garbled, stream.watch.skipped) == (2, 0, 1000)
    assert stream.watch.state == Idle()


def test_every_capture_is_the_same_in_one_piece_and_torn_anywhere_it_ends(captures: dict[str, Capture]) -> None:
    for name, capture in captures.items():
        lines = capture.lines("out")
        whole = b"".join(line + b"\n" for line in lines)
        dialect = name.partition("/")[0].partition("-")[0]
        assert same(watched(whole, dialect=dialect), by_line(lines, dialect)), name
        for size in range(0, len(whole), max(1, len(whole) // 20)):
            stream = Stream(Watch())
            stream.feed(0.0, whole[:size])
            stream.finish(0.0)
            assert isinstance(stream.watch.state, Gone)


def test_ten_million_events_take_no_memory() -> None:
    delta, call = b'{"type":"text_delta","delta":"word "}\n', b'{"type":"tool_use_args","id":"c","delta":"x"}\n'
    chunks = [delta * 25_000] * 39 + [(call + b'{"type":"odd%d"}\n' % n) * 2 for n in range(200)]
    stream = Stream(Watch("zot"))
    for chunk in chunks:
        stream.feed(0.0, chunk)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    while stream.watch.frames < 10_000_000:
        for chunk in chunks:
            stream.feed(0.0, chunk)
    after, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 100_000
    assert peak - before < 4_000_000


@unhurried
@given(st.lists(st.binary(max_size=60), max_size=30), st.sampled_from(["zot", "pi", None]))
def test_any_bytes_at_all_can_be_fed(chunks: list[bytes], dialect: Any) -> None:
    stream = Stream(Watch(dialect), longest=50)
    for chunk in chunks:
        stream.feed(0.0, chunk)
    stream.finish(0.0, 0)
    assert isinstance(stream.watch.state, Gone)
