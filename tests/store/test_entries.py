"""Lines to entries and back: nothing that linnet writes is changed, and nothing that others wrote is a problem."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from linnet.core import messages
from linnet.core.events import Compaction
from linnet.core.messages import Cost, Image, StopReason, Text, Thinking, ToolCall, Usage
from linnet.core.text.timestamps import milliseconds, stamp
from linnet.core.toolspec import ToolSpec
from linnet.store import session_folder
from linnet.store.entries import (
    Compacted,
    Content,
    Custom,
    Edited,
    Entry,
    Labelled,
    ModelChanged,
    Moved,
    Named,
    Ran,
    Said,
    Spent,
    ThinkingChanged,
    Unknown,
)
from linnet.store.header import Header, header, header_line
from linnet.store.lines import entry, entry_line, glance
from linnet.store.store import Store

Strategy = st.SearchStrategy
patient = settings(deadline=None)  # How long anything takes is not what is tested here.

text = st.one_of(
    st.text(), st.sampled_from(["\u2028", "\u2029", "\x00", "\x1b[31mred\x1b[0m", '"\\\n', "😀", "�", "\r\n", "\x85"])
)
counted = st.integers(0, 2**53)
dollars = st.floats(0, 1e9)
times = st.integers(0, 253_402_300_799_999)  # To the end of the year 9999.
keys = text.filter(lambda key: "_" not in key)  # Tools speak like Python, pi like JavaScript: see below.
values: Strategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
told = st.tuples() | st.tuples(st.one_of(st.builds(Text, text), st.builds(Image, text, text, text)))
usages = st.builds(Usage, counted, counted, counted, counted, st.builds(Cost, dollars, dollars, dollars, dollars))
stops: Strategy[StopReason] = st.sampled_from(("end", "tool_use", "length", "error", "aborted"))
thoughts = st.builds(Thinking, text, text, st.booleans())
calls = st.builds(ToolCall, text, text, st.dictionaries(text, values, max_size=3))
replies = st.builds(
    messages.AssistantMessage,
    st.lists(st.builds(Text, text) | thoughts | calls, max_size=4).map(tuple),
    times,
    text,
    text,
    usages,
    stops,
    text.filter(lambda error: ": http " not in error),
    text,
)
results = st.builds(
    messages.ToolResult, text, text, told, times, st.booleans(), st.none() | st.dictionaries(keys, values, max_size=3)
)

runs = st.builds(
    messages.BashRun,
    text,
    text,
    st.none() | st.integers(-(2**31), 2**31),
    times,
    st.booleans(),
    st.booleans(),
    st.none() | text,
    st.booleans(),
)
notes = st.builds(messages.Note, text, told, times, st.booleans(), values)
branches = st.builds(messages.BranchSummary, text, text, times)
summaries = st.builds(messages.Summary, text, counted, times)
said: Strategy[messages.Message] = st.one_of(
    st.builds(messages.UserMessage, told, times), replies, results, runs, notes, branches, summaries
)
files = st.lists(text, max_size=3).map(tuple)
compactions = st.builds(Compaction, summaries, st.just(0), text, files, files, usages).map(
    lambda result: replace(result, usage=result.total)
)
contents: Strategy[Content] = st.one_of(
    st.builds(Said, said),
    st.builds(Compacted, compactions),
    st.builds(ModelChanged, text.filter(bool), text.filter(bool)),
    st.builds(ThinkingChanged, text.filter(bool)),
    st.builds(Named, text),
    st.builds(Labelled, text, text),
    st.builds(Custom, text, values),
    st.builds(Ran, runs),
    st.just(Moved()),
    st.builds(Spent, usages),
    st.builds(Custom, text, values, usages),
)


names = st.dictionaries(text, st.none() | text, max_size=3)
tools = st.builds(ToolSpec, text, text, st.dictionaries(text, values, max_size=3))
systems = st.builds(
    messages.SystemMessage, names, times, st.lists(tools, max_size=2).map(tuple), st.lists(text, max_size=2).map(tuple)
)
durations = st.none() | counted
todays: Strategy[Content] = st.one_of(
    contents.filter(lambda content: not isinstance(content, Spent)),
    st.builds(Said, systems),
    st.builds(Said, st.builds(lambda said, took: replace(said, duration=took), replies | results, durations)),
    st.builds(
        Compacted,
        st.builds(
            lambda result, system, hook: replace(result, system=system, by_extension=hook),
            compactions,
            st.none() | systems,
            st.booleans(),
        ),
    ),
    st.builds(Edited, text.filter(bool)),
    st.builds(Spent, usages, text, text, text),
)
"""What the format of today's pi has."""


def read(line: bytes) -> Entry:
    seen = glance(line)
    assert seen is not None
    return entry(line, seen)


def time_of(content: Content) -> str:
    """Entries of some kinds have no other time than their own."""
    match content:
        case Said(message) | Compacted(Compaction(message)):
            return stamp(message.time)
        case _:
            return stamp(0)


@patient
@given(contents, text.filter(bool), st.none() | text)
def test_what_is_written_is_read_back_word_for_word(content: Content, id: str, parent: str | None) -> None:
    time = time_of(content)
    line = entry_line(id, parent, time, content)
    back = read(line)
    assert (back.id, back.parent, back.time) == (id, parent, time)
    assert back.content == content
    assert entry_line(id, parent, time, back.content) == line


@patient
@given(todays, text.filter(bool), st.none() | text)
def test_what_is_written_in_todays_format_is_read_back_word_for_word(
    content: Content, id: str, parent: str | None
) -> None:
    time = time_of(content)
    line = entry_line(id, parent, time, content, "1.5")
    back = read(line)
    assert (back.id, back.parent, back.time) == (id, parent, time)
    assert back.content == content
    assert entry_line(id, parent, time, back.content, "1.5") == line


@patient
@given(contents)
def test_an_entry_is_one_line_for_every_reader_of_lines(content: Content) -> None:
    line = entry_line("a", None, time_of(content), content).decode()
    assert not any(end in line for end in "\n\r\v\f\x1c\x1d\x1e\u2028\u2029")
    assert json.loads(line)["type"] == read(line.encode()).type


any_text = st.text(st.characters(exclude_categories=()))


@patient
@given(any_text, any_text)
@example("\ud83d", "\ude00")
@example("\ud83d\ude00", "a\udcffb")
def test_half_a_pair_of_surrogates_is_replaced_and_nothing_else(words: str, name: str) -> None:
    message = messages.ToolResult("1", "read", (Text(words),), 5, details={"name": name})
    line = entry_line("a", None, "", Said(message))
    line.decode()
    assert read(line).content == Said(replace(message, content=(Text(whole(words)),), details={"name": whole(name)}))


def whole(words: str) -> str:
    return words.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def test_a_command_keeps_its_colours_beside_the_words_that_pi_shows() -> None:
    run = messages.BashRun("ls", "\x1b[1;32mok\x1b[0m\r\n", 0, 5)
    line = entry_line("a", None, "", Said(run))
    spelled = json.loads(line)["message"]
    assert spelled["output"] == "ok\n"
    assert spelled["rawOutput"] == run.output
    assert read(line).content == Said(run)


def test_a_command_without_colours_is_written_as_pi_writes_it() -> None:
    line = entry_line("a", None, "", Said(messages.BashRun("ls", "ok\n", 0, 5)))
    assert "rawOutput" not in json.loads(line)["message"]


def test_the_details_of_a_tool_are_spelled_as_on_the_wire() -> None:
    result = messages.ToolResult("1", "bash", (), 5, details={"full_output_path": "x"})
    assert read(entry_line("a", None, "", Said(result))).content == Said(
        replace(result, details={"fullOutputPath": "x"})
    )


def test_what_cannot_be_understood_cannot_be_written_anew() -> None:
    with pytest.raises(ValueError, match="not known"):
        entry_line("a", None, "", Unknown())


headers = st.builds(Header, text.filter(bool), text, text, st.none() | text, st.integers(1, 3))


@patient
@given(headers)
def test_a_header_is_read_back_as_it_was_written(made: Header) -> None:
    assert header(header_line(made)) == made


def test_a_header_has_pis_fields_in_pis_order() -> None:
    made = Header("an id", "a time", "a folder", "a parent", 3)
    expected = (
        b'{"type":"session","version":3,"id":"an id","timestamp":"a time","cwd":"a folder","parentSession":"a parent"}'
    )
    assert header_line(made) == expected
    assert b"parent" not in header_line(replace(made, parent_session=None))


FIELDS = """
type id parentId timestamp version message usage targetId label name customType provider modelId thinkingLevel summary
firstKeptEntryId tokensBefore fromId content display details data cwd parentSession role stopReason cost input arguments
text output rawOutput toolCallId isError exitCode firstKeptEntryIndex
""".split()  # noqa: SIM905
WORDS = """
session message compaction branch_summary custom custom_message model_change thinking_level_change session_info label
user assistant toolResult bashExecution compactionSummary branchSummary hookMessage text image toolCall
""".split()  # noqa: SIM905
plain = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3)
    | st.sampled_from(WORDS)
)
odd: Strategy[Any] = st.recursive(
    plain,
    lambda inner: st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4) | st.lists(inner, max_size=2),
    max_leaves=8,
)
spelled: Strategy[dict[str, Any]] = st.builds(
    lambda fields, word: {**fields, "type": word},
    st.dictionaries(st.sampled_from(FIELDS), odd, max_size=6),
    st.sampled_from(WORDS),
)


@patient
@given(st.one_of(spelled, odd).map(json.dumps).map(str.encode) | st.binary())
@example(b"")
@example(b"null")
@example(b"[" * 100_000)
@example(b'{"type":"custom","id":"a","data":' + b"[" * 2_000 + b"]" * 2_000 + b"}")
@example(b'{"type":"custom","id":"a","data":' + b"1" * 5_000 + b"}")
@example(b'{"type":"custom","id":"a","data":1e999}')
@example(b'{"type":"compaction","id":"a","timestamp":"0001-01-01"}')
@example(b'{"type":"custom_message","id":"a","content":"\\ud800"}')
@example(b'{"type":"custom_message","id":"a","content":[{"type":"image"},{"type":5}]}')
@example(b'{"type":"label","id":"a","targetId":null}')
@example(b'\xff{"type":"label","id":"a"}')
def test_nothing_that_a_line_can_say_is_an_error(line: bytes) -> None:
    header(line)
    seen = glance(line)
    if seen is not None:
        assert entry(line, seen).line == line


@patient
@given(spelled.filter(lambda said: said["type"] != "session"), st.text(min_size=1), st.none() | st.text())
def test_an_entry_that_cannot_be_understood_keeps_its_place_all_the_same(
    fields: dict[str, Any], id: str, parent: str | None
) -> None:
    """Whoever follows it would lose everything before it otherwise."""
    line = json.dumps({**fields, "id": id, "parentId": parent}).encode()
    seen = glance(line)
    assert seen is not None
    assert (seen.type, seen.id, seen.parent_id) == (fields["type"], id, parent)


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "message", "message": {"role": "assistant", "usage": {"cost": {"input": None}}}},
        {"type": "message", "message": "of a later version"},
        {"type": "of_a_later_version", "name": {"first": "a", "last": "b"}, "usage": 5, "version": "4"},
        {"type": "message", "timestamp": 1794775825170, "message": {"role": "user", "content": "a"}},
        {"type": "label", "targetId": 5},
        {"type": "session_info", "name": 5},
    ],
    ids=lambda odd: odd["type"],
)
def test_odd_entries_stay_in_the_path_and_go_along_when_it_is_copied(
    odd: dict[str, Any], create: Callable[..., Store]
) -> None:
    lines = [
        entry_line("a", None, "", Named("before")),
        b" " + json.dumps({**odd, "id": "b", "parentId": "a", "later": [1.50, "\u2028"]}).encode() + b"\t",
        entry_line("c", "b", "", Named("after")),
    ]
    store = create(*lines)
    assert [node.id for node in store.tree.path("c")] == ["a", "b", "c"]
    assert store.copied("c") == lines
    assert store.lines() == lines


@patient
@given(times)
def test_a_time_is_written_as_javascript_does_and_read_back(time: int) -> None:
    assert milliseconds(stamp(time)) == time
    assert stamp(0) == "1970-01-01T00:00:00.000Z"


@patient
@given(st.text() | st.datetimes().map(lambda time: time.isoformat()) | st.dates().map(lambda day: day.isoformat()))
@example("9999-12-31T23:59:59.999999")
@example("0001-01-01T00:00:00+23:59")
def test_what_is_no_time_is_the_beginning_of_time(stamp: str) -> None:
    assert isinstance(milliseconds(stamp), int)
    assert milliseconds("yesterday") == 0


@settings(patient, max_examples=30)
@given(st.lists(replies, max_size=3), st.lists(compactions, max_size=2))
def test_what_was_spent_is_the_sum_of_what_every_reply_and_every_compaction_cost(
    said: list[messages.AssistantMessage], compacted: list[Compaction]
) -> None:
    lines = [entry_line("a", None, "", Said(each)) for each in said]
    lines += [entry_line("b", None, "", Compacted(each)) for each in compacted]
    all_of_them = [each.usage for each in said] + [each.total for each in compacted]
    paid = session_folder.paid(lines)
    assert paid.total == sum(each.total for each in all_of_them)
    assert paid.cost.output == pytest.approx(sum(each.cost.output for each in all_of_them), abs=1e-9)


NULLS = """{"role":"user","content":[{"type":"text","text":null}]}
{"role":"assistant","content":[{"type":"text","text":"a","textSignature":null}],"errorMessage":null,"stopReason":null}
{"role":"assistant","content":[{"type":"thinking","thinking":"t","thinkingSignature":null}],"provider":null}
{"role":"toolResult","toolCallId":"t1","toolName":null,"content":[],"isError":null}
{"role":"bashExecution","command":"ls","output":null,"cancelled":null}"""


@pytest.mark.parametrize("message", NULLS.splitlines())
def test_null_is_how_some_say_that_there_is_none(message: str) -> None:
    back = read(f'{{"type":"message","id":"a","parentId":null,"message":{message}}}'.encode())
    assert isinstance(back.content, Said)
    seen = glance(back.line)
    assert seen is not None
    assert seen.message is not None
    assert seen.message.role == json.loads(message)["role"]


def test_null_is_left_alone_where_it_is_somebody_elses() -> None:
    call = '{"type":"toolCall","id":"t","name":"x","arguments":{"to":null}}'
    line = f'{{"type":"message","id":"a","message":{{"role":"assistant","errorMessage":null,"content":[{call}]}}}}'
    back = read(line.encode()).content
    assert isinstance(back, Said)
    assert isinstance(back.message, messages.AssistantMessage)
    assert back.message.calls[0].args == {"to": None}


def test_a_time_that_no_calendar_knows_is_none() -> None:
    for time in ("1e17", "-5", "1e400"):
        said = f'{{"role":"user","content":"yo","timestamp":{time}}}'
        back = read(f'{{"type":"message","id":"a","message":{said}}}'.encode()).content
        assert back in (Said(messages.UserMessage((messages.Text("yo"),), 0)), Unknown())


def test_tokens_may_have_been_estimated() -> None:
    back = read(b'{"type":"compaction","id":"a","summary":"s","tokensBefore":12.5}').content
    assert isinstance(back, Compacted)
    assert back.result.summary.tokens_before == 12
