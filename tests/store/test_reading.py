"""The bytes of a file as a session: whatever stands between the entries, and wherever a crash cut them off."""

from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.core.messages import Text, UserMessage
from linnet.errors import SessionError
from linnet.store.entries import Custom, Named, Said
from linnet.store.header import Header, header_line
from linnet.store.lines import entry_line, glance, glances
from linnet.store.reading import load

patient = settings(deadline=None)  # How long anything takes is not what is tested here.

FIRST = header_line(Header("an-id", "2026-01-01T12:00:00.000Z", "CWD", None, 3))
ENTRIES = [
    entry_line("a", None, "", Said(UserMessage((Text("hällo\u2028"),), 1))),
    entry_line("b", "a", "", Named("a name")),
    entry_line("c", "b", "", Custom("kind", {"n": 1})),
    b'{"type":"of_a_later_version","id":"d","parentId":"c","more":[1,2]}',
    b'  {"id":"e", "type":"label"}\t',
]
NOISE = [
    b"",
    b"   ",
    b"junk",
    b"[]",
    b"5",
    b"null",
    b'"type"',
    b"{}",
    b'{"id":"a"}',
    b'{"type":"message"}',
    b'{"type":"message","id":""}',
    b'{"type":"message","id":5}',
    b'{"type":5,"id":"a"}',
    b'{"type":"message","id":"a","parentId":5}',
    FIRST,
    b'{"type":"session"}',
    b"\xff\xfe",
    b"\x00\x00\x00",
    ENTRIES[0][:-1],
    ENTRIES[0] + ENTRIES[1],
]
pieces = st.lists(st.sampled_from([*ENTRIES, *NOISE]), max_size=12)
ends: st.SearchStrategy[Literal[b"\n", b"\r\n"]] = st.sampled_from((b"\n", b"\r\n"))


@patient
@given(st.lists(st.sampled_from([b"", b" ", b"\t"]), max_size=2), pieces, ends)
def test_entries_are_found_between_lines_that_are_none(blank: list[bytes], lines: list[bytes], end: bytes) -> None:
    data = end.join([*blank, FIRST, *lines, b""])
    loaded = load(data, "it")
    assert loaded.header.id == "an-id"
    assert loaded.lines == [line for line in lines if line in ENTRIES]
    assert loaded.glances == [glance(line) for line in loaded.lines]
    assert [data[span.start : span.start + span.length] for span in loaded.spans] == loaded.lines
    assert loaded.ended == len(data)
    assert not loaded.unended


@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["lf", "crlf"])
def test_wherever_the_file_is_cut_every_line_before_the_cut_is_there(end: bytes) -> None:
    data = end.join([FIRST, *ENTRIES, b""])
    starts = [0]
    for line in (FIRST, *ENTRIES):
        starts.append(starts[-1] + len(line) + len(end))
    for cut in range(len(FIRST), len(data) + 1):
        loaded = load(data[:cut], "it")
        whole = max(start for start in starts if start <= cut)
        last = data[whole:cut]
        complete = last.strip() in [line.strip() for line in (FIRST, *ENTRIES)]
        assert loaded.unended == complete
        assert loaded.ended == whole
        kept = starts.index(whole) - 1 + (complete and whole > 0)
        assert [line.strip() for line in loaded.lines] == [line.strip() for line in ENTRIES[: max(kept, 0)]]


@pytest.mark.parametrize("cut", range(len(FIRST)))
def test_half_a_header_is_no_session(cut: int) -> None:
    with pytest.raises(SessionError, match="it is (empty|not a session)" if not cut else "is not a session"):
        load(FIRST[:cut], "it")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "it is empty: it is not a session"),
        (b"\n \r\n", "it is empty: it is not a session"),
        (b"hello\n", "it is not a session: its first line is no session header"),
        (b'{"a":1}\n', "it is not a session: its first line is no session header"),
        (b"[" * 100_000, "it is not a session: its first line is no session header"),
        (ENTRIES[0] + b"\n" + FIRST + b"\n", "it is not a session: its first line is no session header"),
        (b'{"type":"session","version":3}\n', "it is not a session: its first line is no session header"),
        (b'{"type":"session","version":3,"id":""}\n', "it is not a session: its first line is no session header"),
        (b'{"type":"session","version":"3","id":"a"}\n', "it is not a session: its first line is no session header"),
        (b'{"type":"session","version":9,"id":"a"}', "it is a session of version 9; the newest that linnet knows is 3"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "it is not a session: its first line is no session header"),
    ],
)
def test_what_is_no_session_is_refused_with_a_sentence(data: bytes, reason: str) -> None:
    with pytest.raises(SessionError) as refused:
        load(data, "it")
    assert str(refused.value) == reason


@patient
@given(st.binary() | st.lists(st.sampled_from([FIRST, *ENTRIES, *NOISE])).map(b"\n".join))
def test_no_bytes_are_anything_but_a_session_or_an_error_that_says_so(data: bytes) -> None:
    try:
        loaded = load(data, "it")
    except SessionError:
        return
    assert len(loaded.lines) == len(loaded.glances) == len(loaded.spans)
    assert loaded.ended <= len(data)


HALVES = [
    b'{"type":"label","id":"x",',
    b'"parentId":"a"}',
    b'{"type":"label","id":"x"}{"type":"label","id":"y"}',
    b"{}}",
]


@patient
@given(st.lists(st.sampled_from([*ENTRIES, *NOISE, *HALVES]), min_size=1, max_size=6))
def test_many_lines_are_seen_together_as_each_of_them_is_alone(lines: list[bytes]) -> None:
    assert list(glances(b"\n".join(lines), lines)) == [glance(line) for line in lines]


def test_entries_are_found_wherever_the_file_is_cut_into_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"\n".join([FIRST, *ENTRIES, ENTRIES[0] + ENTRIES[1], *ENTRIES, b""])
    whole = load(data, "it")
    for size in range(1, len(data), 7):
        monkeypatch.setattr("linnet.store.reading.CHUNK", size)
        loaded = load(data, "it")
        assert loaded.lines == whole.lines == [*ENTRIES, *ENTRIES]
        assert list(loaded.spans) == list(whole.spans)
        assert loaded.index.tree.nodes == whole.index.tree.nodes
