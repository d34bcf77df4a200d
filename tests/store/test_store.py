"""One session as a tree that grows: where it stands, what it is called, what was marked, what a copy takes along."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, rule

from linnet.core.messages import BashRun, Text, UserMessage, texts
from linnet.errors import SessionError
from linnet.store import session_folder
from linnet.store.entries import MOVED, Content, Custom, Labelled, Moved, Named, Ran, Said
from linnet.store.header import Header
from linnet.store.lines import entry_line
from linnet.store.log import Log, MemoryLog
from linnet.store.session_folder import Opened
from linnet.store.store import EntrySources, Store

patient = settings(deadline=None)  # How long anything takes is not what is tested here.

HEADER = Header("an-id", "2026-01-01T12:00:00.000Z", "CWD", None, 3)


def said(text: str) -> Said:
    return Said(UserMessage((Text(text),), 1))


def shown(store: Store) -> list[str]:
    messages = [message for _, message in store.past(store.position()).read()]
    return [texts(message.content) for message in messages if isinstance(message, UserMessage)]


def test_each_entry_follows_the_one_before_it(store: Store) -> None:
    store.append(said("a"))
    store.append(said("b"), "an id of its own")
    store.append(said("c"))
    assert [(each.id, each.parent) for each in store.entries()] == [
        ("00000001", None),
        ("an id of its own", "00000001"),
        ("00000002", "an id of its own"),
    ]
    assert store.leaf == "00000002"
    assert {each.time for each in store.entries()} == {"2026-01-01T12:00:00.000Z"}


def test_an_id_that_is_taken_is_not_given_again() -> None:
    ids = iter(["a", "a", "a", "b"])
    store = Store(HEADER, MemoryLog(), sources=EntrySources(new_id=lambda: next(ids)))
    store.append(said("one"))
    store.append(said("two"))
    assert [node.id for node in store.tree.nodes] == ["a", "b"]


def test_ids_are_eight_hexadecimal_digits_unless_told_otherwise() -> None:
    id = Store(HEADER, MemoryLog()).new_id()
    assert len(id) == 8
    int(id, 16)


def test_a_conversation_goes_on_from_wherever_it_was_moved_to(
    store: Store, reopen: Callable[..., Opened], path: Path
) -> None:
    for text in "abc":
        store.append(said(text))
    store.move("00000002")
    assert store.leaf == "00000002"
    assert shown(store) == ["a", "b"]
    store.append(said("other c"))
    assert shown(store) == ["a", "b", "other c"]
    store.log.close()
    assert shown(reopen().store) == ["a", "b", "other c"]


def test_a_move_is_remembered_though_nothing_was_said_after_it(store: Store, reopen: Callable[..., Opened]) -> None:
    store.append(said("a"))
    store.append(said("b"))
    store.move("00000001")
    store.log.close()
    again = reopen().store
    assert again.leaf == "00000001"
    assert shown(again) == ["a"]


def test_a_conversation_can_go_back_to_before_its_beginning(store: Store, reopen: Callable[..., Opened]) -> None:
    store.append(said("a"))
    store.move(None)
    assert store.leaf is None
    assert shown(store) == []
    store.log.close()
    again = reopen().store
    assert again.leaf is None
    again.append(said("b"))
    assert shown(again) == ["b"]


def test_a_move_to_where_it_stands_is_not_written_down(store: Store) -> None:
    store.move(None)
    store.append(said("a"))
    store.move("00000001")
    assert len(store.lines()) == 1
    store.move(None)
    store.move(None)
    assert len(store.lines()) == 2


def test_a_mark_is_an_entry_that_pi_passes_over(store: Store) -> None:
    store.append(said("a"))
    store.append(said("b"))
    store.move("00000001")
    assert json.loads(store.lines()[-1]) == {
        "type": "custom",
        "id": "00000003",
        "parentId": "00000001",
        "timestamp": "2026-01-01T12:00:00.000Z",
        "customType": MOVED,
    }
    assert store.is_mark("00000003")
    assert not store.is_mark("00000001")


def test_a_mark_on_a_mark_stands_for_what_that_stands_for() -> None:
    store = Store(HEADER, MemoryLog())
    store.append(said("a"), "a")
    store.append(said("b"), "b")
    store.move("a")
    mark = store.tree.leaf
    store.append(said("c"), "c")
    store.move(mark)
    assert store.leaf == store.unmarked(mark) == "a"
    assert store.unmarked("b") == "b"
    assert store.unmarked(None) is None


def test_marks_that_stand_for_each_other_do_no_harm() -> None:
    lines = [entry_line("a", "b", "", Moved()), entry_line("b", "a", "", Moved())]
    store = session_folder.in_memory(HEADER, lines)
    assert store.leaf in ("a", "b")
    assert shown(store) == []


def test_the_name_is_the_one_that_was_given_last_on_whatever_branch(
    store: Store, reopen: Callable[..., Opened]
) -> None:
    store.append(said("a"))
    store.append(Named("first"))
    store.move("00000001")
    store.append(Named("  second\n"))
    store.move("00000002")
    assert store.name == "second"
    store.log.close()
    assert reopen().store.name == "second"


def test_an_empty_name_takes_the_name_away(store: Store) -> None:
    store.append(Named("first"))
    store.append(Named(""))
    assert store.name == ""


def test_a_label_stays_until_another_takes_its_place(store: Store, reopen: Callable[..., Opened]) -> None:
    store.append(said("a"))
    store.append(Labelled("00000001", "one"))
    store.append(Labelled("00000002", "two"))
    store.append(Labelled("00000001", "three"))
    store.append(Labelled("00000002", ""))
    assert store.labels == {"00000001": "three"}
    store.log.close()
    assert reopen().store.labels == {"00000001": "three"}


def test_a_copy_is_the_path_word_for_word(create: Callable[..., Store], tmp_path: Path) -> None:
    odd = b' {"type": "message", "id": "b", "parentId": "a", "message": {"role": "user", "content": "x", "new": 1.0}} '
    store = create(entry_line("a", None, "", said("a")), odd, entry_line("c", "a", "", said("c")))
    assert store.copied("b") == store.lines()[:2]
    assert store.copied("c") == [store.lines()[0], store.lines()[2]]
    assert store.copied(None) == []
    copy = create(*store.copied("b"), at=tmp_path / "copy.jsonl")
    assert copy.lines() == store.lines()[:2]
    assert shown(copy) == ["a", "x"]


def test_a_copy_takes_along_the_labels_that_others_put_on_its_entries(store: Store) -> None:
    store.append(said("a"))
    store.append(said("b"))
    store.append(Labelled("00000001", "from here"))
    store.append(Labelled("00000002", "not here"))
    copy = session_folder.in_memory(HEADER, store.copied("00000001"))
    assert copy.labels == {"00000001": "from here"}
    assert shown(copy) == ["a"]


def test_a_label_that_was_taken_away_elsewhere_does_not_come_back_in_a_copy(store: Store) -> None:
    store.append(said("a"))
    store.append(Labelled("00000001", "one"))
    store.append(said("b"))
    store.append(Labelled("00000001", ""))
    copy = session_folder.in_memory(HEADER, store.copied("00000003"))
    assert copy.labels == store.labels == {}


class Labels(RuleBasedStateMachine):
    """A copy of any path has the labels that its entries have, whoever put them there or took them away."""

    entries = Bundle("entries")

    def __init__(self) -> None:
        super().__init__()
        self.store = Store(HEADER, MemoryLog())

    @rule(target=entries)
    def says(self) -> str:
        self.store.append(said("x"))
        assert self.store.leaf is not None
        return self.store.leaf

    @rule(entry=entries)
    def moves(self, entry: str) -> None:
        self.store.move(entry)

    @rule(entry=entries, label=st.sampled_from(["", "one", "two"]))
    def labels(self, entry: str, label: str) -> None:
        self.store.append(Labelled(entry, label))

    @rule(entry=entries)
    def copies(self, entry: str) -> None:
        copy = session_folder.in_memory(HEADER, self.store.copied(entry))
        path = [node.id for node in self.store.tree.path(entry)]
        assert [copy.labels.get(id) for id in path] == [self.store.labels.get(id) for id in path]
        assert [node.id for node in copy.tree.path(entry)] == path
        assert shown(copy) == ["x"] * sum(node.type == "message" for node in self.store.tree.path(entry))


TestLabels = Labels.TestCase
TestLabels.settings = settings(patient, max_examples=40, stateful_step_count=20)


@pytest.fixture(params=["in a file", "in memory"])
def kept(request: pytest.FixtureRequest, create: Callable[..., Store]) -> Store:
    return create() if request.param == "in a file" else session_folder.in_memory(HEADER)


def test_lines_can_be_read_back_in_their_order_wherever_they_are_kept(kept: Store) -> None:
    for number in range(10):
        kept.append(Custom("n", number))
    assert [each.content for each in kept.entries()] == [Custom("n", number) for number in range(10)]
    assert kept.lines(7) == kept.lines()[7:]
    assert len(kept.lines(7)) == 3
    assert kept.lines(10) == []
    kept.log.sync()
    kept.log.close()
    kept.log.close()


def test_only_a_session_in_a_file_has_a_path(store: Store, path: Path) -> None:
    assert store.path == str(path)
    assert session_folder.in_memory(HEADER).path is None


class Refusing(MemoryLog):
    """A log that cannot write."""

    def append(self, line: bytes, *, strict: bool = False) -> None:
        if not strict:
            super().append(line)
        raise SessionError("it is full")


contents: st.SearchStrategy[Content] = st.one_of(
    st.just(said("a")), st.just(Named("a")), st.just(Labelled("first", "a")), st.just(Moved())
)


@patient
@given(contents)
def test_what_cannot_be_written_is_there_all_the_same_unless_it_must_be_written(content: Content) -> None:
    log: Log = Refusing()
    store = Store(HEADER, log)
    with pytest.raises(SessionError, match="it is full"):
        store.append(content, "first")
    assert [each.content for each in store.entries()] == [content]
    assert store.tree.leaf == "first"

    before = (store.leaf, store.name, dict(store.labels), store.lines())
    for another in (content, Named("b")):
        with pytest.raises(SessionError, match="it is full"):
            store.append(another, "second", strict=True)
    with pytest.raises(SessionError, match="it is full"):
        store.move("elsewhere", strict=True)
    assert (store.leaf, store.name, dict(store.labels), store.lines()) == before


def ran(command: str) -> BashRun:
    return BashRun(command, "out\n", 0, 1)


def runs(opened: Opened) -> list[str]:
    return [message.command for _, message in opened.past.read() if isinstance(message, BashRun)]


def test_a_command_that_is_kept_until_it_can_be_said_is_no_part_of_the_tree(create: Callable[..., Store]) -> None:
    store = create()
    store.append(said("a"))
    store.append(Ran(ran("ls")))
    store.append(said("b"))
    nodes = store.tree.nodes
    assert [node.parent for node in nodes[1:]] == [nodes[0].id, nodes[0].id]
    assert store.leaf == nodes[2].id
    assert shown(store) == ["a", "b"]
    assert len(store.copied(store.leaf)) == 2


def test_a_command_that_was_kept_and_never_said_is_said_when_the_session_is_opened(
    create: Callable[..., Store], sources: EntrySources
) -> None:
    store = create()
    store.append(said("a"))
    for command in ("one", "two", "three"):
        store.append(Ran(ran(command)))
    store.append(Said(ran("one")))
    store.log.close()
    assert store.path is not None
    for _ in range(2):  # And only once.
        opened = session_folder.open_store(store.path, sources=sources)
        assert runs(opened) == ["one", "two", "three"]
        opened.store.log.close()


def test_a_snapshot_is_the_session_as_it_was_also_when_that_goes_on_or_is_closed(create: Callable[..., Store]) -> None:
    store = create()
    for word in ("a", "b", "c"):
        store.append(said(word))
    then, there = store.entries(), store.snapshot()
    store.append(said("later"))
    store.log.close()
    assert list(there) == then
    assert [there[0], there[-1], *there[1:]] == [then[0], then[-1], *then[1:]]
    assert len(there) == 3
    with pytest.raises(SessionError, match="is closed"):
        store.snapshot()


def test_a_snapshot_has_what_could_not_be_written_too(create: Callable[..., Store], path: Path) -> None:
    store = create()
    store.append(said("a"))
    path.unlink()
    with pytest.raises(SessionError, match="was deleted"):
        store.append(said("b"))
    assert [each.content for each in store.snapshot()] == [said("a"), said("b")]


def test_a_snapshot_says_so_when_another_program_has_changed_the_file(create: Callable[..., Store], path: Path) -> None:
    store = create()
    store.append(said("a"), "first")
    store.append(said("b"), "later")
    changed, cut, data = store.snapshot(), store.snapshot(), path.read_bytes()
    path.write_bytes(data.replace(b"later", b"other"))
    assert changed[0].id == "first"
    with pytest.raises(SessionError, match="was changed by another program"):
        changed[1]
    os.truncate(path, len(data) - 9)
    with pytest.raises(SessionError, match="was cut short by another program"):
        list(cut)
