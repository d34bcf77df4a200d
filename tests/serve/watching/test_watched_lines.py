"""The lines that are kept of a watched program: all of them in order, however they come and whoever reads them."""

from hypothesis import given
from hypothesis import strategies as st

from linnet.serve.watching.watched_lines import Cursor, Taken, WatchedLines, as_events


def read(lines: WatchedLines, cursor: Cursor) -> list[tuple[int, bytes]]:
    found: list[tuple[int, bytes]] = []
    while taken := lines.take(cursor):
        assert taken.lines.endswith(b"\n")
        found += enumerate(taken.lines[:-1].split(b"\n"), taken.first)
    return found


chunks = st.lists(st.binary(max_size=12).map(lambda each: each.replace(b"\x07", b"\n").replace(b"\x01", b"\n")))


@given(chunks, st.integers(1, 20), st.data())
def test_every_line_comes_once_with_its_number_wherever_a_reader_begins(
    given: list[bytes], block: int, data: st.DataObject
) -> None:
    lines = WatchedLines(block=block)
    early, seen = lines.cursor(0), []
    for chunk in given:
        lines.add(chunk)
        if data.draw(st.booleans()):
            seen += read(lines, early)
    lines.end()
    seen += read(lines, early)
    whole = b"".join(given)
    expected = list(enumerate(whole.removesuffix(b"\n").split(b"\n") if whole else [], 1))
    assert seen == expected
    assert lines.last == len(expected)
    after = data.draw(st.integers(0, lines.last + 1))
    assert read(lines, lines.cursor(after)) == expected[after:]
    assert read(lines, lines.cursor(None)) == []


@given(st.integers(0, 60), st.integers(1, 60), st.integers(20, 400))
def test_who_comes_too_late_is_told_so_and_gets_what_there_is(after: int, count: int, most: int) -> None:
    lines = WatchedLines(most, block=40)
    for number in range(1, count + 1):
        lines.add(b"line %04d\n" % number)
    seen = read(lines, lines.cursor(after))
    missing = [line for _, line in seen if line.startswith(b"{")]
    kept = [(number, line) for number, line in seen if not line.startswith(b"{")]
    assert missing in ([], [b'{"type":"gap","after":%d}' % after])
    assert kept == [(number, b"line %04d" % number) for number, _ in kept]
    if after < count:
        assert [number for number, _ in kept] == list(range(kept[0][0], count + 1))
        assert bool(missing) == (kept[0][0] > after + 1)
        assert seen[0][0] == kept[0][0] - bool(missing)
    assert sum(len(line) + 1 for _, line in kept) <= most + 40


def test_a_reader_who_falls_behind_goes_on_after_a_gap() -> None:
    lines = WatchedLines(100, block=20)
    lines.add(b"one\n")
    cursor = lines.cursor(0)
    assert read(lines, cursor) == [(1, b"one")]
    for number in range(2, 100):
        lines.add(b"line %d\n" % number)
    (told, missing), *rest = read(lines, cursor)
    assert missing == b'{"type":"gap","after":1}'
    assert rest[0][0] == told + 1
    assert rest[-1] == (99, b"line 99")


def test_a_line_that_is_too_long_is_not_kept() -> None:
    lines = WatchedLines(longest=10)
    for chunk in (b"one\n", b"0123456789", b"0123456789" * 5, b"\nthree\n"):
        lines.add(chunk)
    assert [line for _, line in read(lines, lines.cursor(0))] == [b"one", b'{"type":"gap","after":1}', b"three"]


def test_events_are_numbered_and_a_cr_ends_no_line() -> None:
    assert as_events(Taken(7, b'{"a":1}\r\n\n')) == b'id: 7\ndata: {"a":1} \n\nid: 8\ndata: \n\n'
