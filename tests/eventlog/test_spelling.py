"""Events are read from a file as they were written, and what the file says is written down."""

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from linnet.core import events
from linnet.core.messages import Text, ToolResult, Verbatim
from linnet.eventlog.spelling import ROWS, UNTOLD, VERSION, Reader, Unreadable, Writer
from tests.wire.stories import story
from tests.wire.test_encoders import DIALECTS, printed

FILE = Path(__file__).parent / "files" / "version_1.events.jsonl"
randoms = st.randoms(use_true_random=False)


def told(happened: Sequence[events.Event]) -> list[events.Event]:
    return [event for event in happened if not isinstance(event, UNTOLD)]


def read_again(happened: Sequence[events.Event], size: int) -> list[events.Event]:
    """Write events in batches, and read them."""
    writer, reader = Writer(), Reader()
    found: list[events.Event] = []
    for start in range(0, len(happened), size):
        line, read = reader.read(writer.line(happened[start : start + size], start + 1, 5))
        assert line.n == start + 1
        found += read
    return found


@given(randoms, st.integers(1, 40))
def test_what_is_read_is_what_was_written(random: Random, size: int) -> None:
    happened = told(story(random))
    again = read_again(happened, size)
    assert [without_past(event) for event in happened] == again
    for dialect in DIALECTS:
        assert printed(dialect.encoder(), again) == printed(dialect.encoder(), happened)


def without_past(event: events.Event) -> events.Event:
    """The past of a session that is entered is in its own file."""
    return structs.replace(event, past=events.Past()) if isinstance(event, events.SessionEntered) else event


def test_every_kind_is_written_or_untold_and_every_field_has_its_place() -> None:
    kinds = {row.kind: row for row in ROWS}
    assert len({row.word for row in ROWS}) == len(ROWS)
    assert {*kinds, *UNTOLD} == set(get_args(events.Event))
    assert not set(kinds) & set(UNTOLD)
    for kind, row in kinds.items():
        assert {*row.fields, *(name for name, _ in row.left_out)} == set(kind.__struct_fields__), kind


def test_names_of_somebody_else_stay_theirs() -> None:
    result = ToolResult("a", "mine", (Text("x"),), 1, details=Verbatim(exit_code=1))
    ours = structs.replace(result, details={"exit_code": 1})
    happened: list[events.Event] = [events.ToolFinished(result), events.ToolFinished(ours)]
    first, second = read_again(happened, 2)
    assert isinstance(first, events.ToolFinished)
    assert isinstance(second, events.ToolFinished)
    assert isinstance(first.result.details, Verbatim)
    assert not isinstance(second.result.details, Verbatim)


def test_a_message_is_written_once() -> None:
    result = ToolResult("a", "read", (Text("long " * 1000),), 1)
    told_thrice: list[events.Event] = [events.ToolReturned(result), events.ToolFinished(result)]
    told_thrice.append(events.RunEnded("end", "", (result,)))
    assert len(Writer().line(told_thrice, 1, 1)) < 6000


def test_half_a_surrogate_pair_is_read_as_it_was() -> None:
    happened: list[events.Event] = [events.TextGrew(0, "\ud83d"), events.ToolProgressed("a", "bash", "b\udcff")]
    assert read_again(happened, 2) == happened


@pytest.mark.parametrize(
    "line", [b"", b"{", b'{"n":1,"e":[["nothing",[]]]}', b'{"n":1,"e":[["user",[[9,""]]]]}', b"\0" * 9]
)
def test_a_damaged_line_is_refused(line: bytes) -> None:
    with pytest.raises(Unreadable):
        Reader().read(line)


def test_files_of_this_version_are_read_for_ever() -> None:
    """Whoever renames a field of an event or a message in `core` must keep on reading it as it was spelled, or count
    VERSION up: the file in the tree is from the day on which version 1 was made.
    """
    header, *lines = FILE.read_bytes().splitlines()
    assert json.loads(header)["version"] == VERSION
    reader, writer = Reader(), Writer()
    for line in lines:
        said, happened = reader.read(line)
        assert happened
        assert json.loads(writer.line(happened, said.n, said.t, said.p)) == json.loads(line)
    words = {word for line in lines for word, _ in json.loads(line)["e"]}
    assert words == {row.word for row in ROWS}
