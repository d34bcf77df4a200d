"""What comes out of an agent's stdout, whatever it is, becomes something that a client can look at."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.wire.incoming import BadLine, Incoming, Reader, Reply, TooLong, UnknownEvent
from linnet.wire.pi import frames as pi_frames
from linnet.wire.pi import later_frames
from linnet.wire.pi.reading import incoming as pi
from linnet.wire.zot import frames as zot
from linnet.wire.zot.incoming import reader as zot_reader

ROOT = Path(__file__).parents[1]
MAKERS = [zot_reader, pi.reader]
KNOWN = [
    b'{"type":"text_delta","delta":"a"}',
    b'{"type":"done"}',
    b'{"type":"agent_end","messages":[]}',
    b'{"type":"response","id":"1","command":"x","success":true,"data":{"a":[1]}}',
    b'{"type":"weather","sky":"clear"}',
    '{"type":"text_delta","delta":"a\u2028b\u2029c\x85"}'.encode(),
    b"not json",
    b'{"type":"turn_end"',
    b"\xff\xfe",
    b"  ",
    b"",
    b"null",
    b"[" * 5000,
]
lines = st.lists(st.sampled_from(KNOWN) | st.binary(max_size=40).map(lambda data: data.replace(b"\n", b"")))
either = pytest.mark.parametrize("maker", MAKERS, ids=["zot", "pi"])


def all_of(reader: Reader[Any], chunks: list[bytes]) -> list[Incoming[Any]]:
    return [each for chunk in chunks for each in reader.feed(chunk)] + reader.finish()


@either
@given(lines, st.data())
def test_where_a_stream_is_cut_makes_no_difference_and_no_line_is_lost(
    maker: Any, lines: list[bytes], data: st.DataObject
) -> None:
    stream = b"\n".join(lines)
    whole = all_of(maker(), [stream])
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]

    assert all_of(maker(), pieces) == whole
    assert [each.line for each in whole] == [line for line in lines if line.strip()]


@either
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_any_json_is_read(maker: Any, value: Any) -> None:
    assert maker().read(json.dumps(value).encode()) is not None
    if isinstance(value, dict):
        reply = maker().read(json.dumps({**value, "type": "response", "id": "7"}).encode())
        assert isinstance(reply, Reply)
        assert reply.id == "7"


def test_what_is_not_known_survives_whole() -> None:
    for reader in (zot_reader(), pi.reader()):
        event = reader.read(b'{"type":"weather","sky":{"clear":[1,2]}}')
        assert event == UnknownEvent("weather", {"type": "weather", "sky": {"clear": [1, 2]}})


def test_what_is_not_as_its_type_says_is_passed_on_with_the_reason() -> None:
    event = zot_reader().read(b'{"type":"text_delta","delta":5}')
    assert isinstance(event, UnknownEvent)
    assert event.raw["delta"] == 5
    assert "delta" in event.reason


def test_a_line_that_is_no_object_is_told_apart() -> None:
    bad = zot_reader().read(b"Warning: something \xff")
    assert isinstance(bad, BadLine)
    assert bad.text == "Warning: something \ufffd"
    assert zot_reader().read(b"[1]").__class__ is BadLine
    assert zot_reader().read(b'{"type":5}').__class__ is BadLine


def test_half_a_surrogate_pair_does_no_harm() -> None:
    assert zot_reader().read(rb'{"type":"text_delta","delta":"a\ud83db"}') == zot.TextDelta("a\ufffdb")


def test_the_words_of_zot_itself_are_understood() -> None:
    assert zot_reader().read(b'{"type":"turn_end","stop":"end"}') == zot.TurnEnd("end_turn")
    said = zot_reader().read(
        b'{"type":"assistant_message","time":"","content":[{"type":"tool_call","id":"a","name":"b","args":null}]}'
    )
    assert said == zot.AssistantMessage([zot.ToolCallBlock("a", "b", {})], "")


def test_a_line_that_does_not_end_is_an_error_before_it_fills_the_memory() -> None:
    reader = zot_reader(100)
    assert reader.feed(b"x" * 100) == []
    with pytest.raises(TooLong, match="more than 100 bytes"):
        reader.feed(b"x")


def test_a_line_over_the_limit_is_an_error_also_if_it_ends() -> None:
    with pytest.raises(TooLong):
        zot_reader(100).feed(b"x" * 101 + b"\n")


@pytest.mark.parametrize("path", sorted((ROOT / "zot" / "transcripts").glob("*.jsonl")), ids=lambda path: path.stem)
def test_everything_that_zot_printed_is_known(path: Path) -> None:
    assert_known(zot_reader(), path, {"ext_notify"})


@pytest.mark.parametrize("path", sorted((ROOT / "pi" / "transcripts").glob("*.jsonl")), ids=lambda path: path.stem)
def test_everything_that_pi_printed_is_known(path: Path) -> None:
    assert_known(pi.reader(), path, set())


def assert_known(reader: Reader[Any], path: Path, but: set[str]) -> None:
    printed = [json.loads(line).get("out") for line in path.read_text().splitlines()]
    for frame in printed:
        if isinstance(frame, dict) and "type" in frame:
            said = reader.read(json.dumps(frame).encode())
            assert not isinstance(said, BadLine), frame
            assert not isinstance(said, UnknownEvent) or said.type in but, said


def test_every_event_of_linnets_own_is_known() -> None:
    def tags(module: Any) -> set[str]:
        kinds: list[Any] = [each for each in vars(module).values() if isinstance(each, type)]
        frames = [kind for kind in kinds if issubclass(kind, pi_frames.Frame | pi.Frame) and kind.__name__ != "Frame"]
        return {str(kind.__struct_config__.tag) for kind in frames}

    blocks = {"text", "image", "thinking", "toolCall"}
    assert (tags(pi_frames) | tags(later_frames)) - blocks <= tags(pi)
