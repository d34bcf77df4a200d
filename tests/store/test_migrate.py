"""Sessions of versions 1 and 2 as version 3: read without a trace, and brought up to date to be gone on with."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.core.messages import Note, Text, UserMessage
from linnet.errors import SessionError, SessionInUse
from linnet.store import file
from linnet.store.entries import Compacted, Named, Said
from linnet.store.migrate import migrated
from linnet.store.reading import load
from linnet.store.session_folder import Opened

patient = settings(deadline=None)  # How long anything takes is not what is tested here.

FILES = Path(__file__).parent / "files"
OLD = [FILES / "v1.jsonl", FILES / "v2.jsonl"]


def v1(*entries: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in ({"type": "session", "id": "an-id"}, *entries))


def said(text: str) -> dict[str, Any]:
    return {"type": "message", "message": {"role": "user", "content": text, "timestamp": 1}}


def compaction(index: object) -> dict[str, Any]:
    return {"type": "compaction", "summary": "s", "firstKeptEntryIndex": index, "tokensBefore": 1}


def first_kept(data: bytes) -> str | None:
    [kept] = [json.loads(line).get("firstKeptEntryId") for line in load(data, "it").lines if b'"compaction"' in line]
    assert kept is None or isinstance(kept, str)
    return kept


def test_entries_of_version_1_follow_each_other_in_the_order_of_the_file() -> None:
    loaded = load(OLD[0].read_bytes(), "it")
    assert loaded.version == 1
    ids = [seen.id for seen in loaded.glances]
    assert len(set(ids)) == len(ids) == 9
    assert [seen.parent_id for seen in loaded.glances] == [None, *ids[:-1]]


def test_ids_are_the_same_however_often_a_file_is_read() -> None:
    data = OLD[0].read_bytes()
    assert load(data, "it").lines == load(data, "it").lines


def test_everything_else_that_an_old_entry_says_is_kept() -> None:
    before = [json.loads(line) for line in OLD[0].read_bytes().splitlines()[1:]]
    after = [json.loads(line) for line in load(OLD[0].read_bytes(), "it").lines]
    for old, new in zip(before, after, strict=True):
        del new["id"], new["parentId"]
        if "firstKeptEntryIndex" in old:
            del old["firstKeptEntryIndex"], new["firstKeptEntryId"]
        if old.get("message", {}).get("role") == "hookMessage":
            old["message"]["role"] = "custom"
        assert new == old


@pytest.mark.parametrize(("index", "kept"), [(1, "00000001"), (2, "00000002"), (3, "00000003")])
def test_version_1_counted_the_header_when_it_said_what_a_compaction_keeps(index: int, kept: str) -> None:
    assert first_kept(v1(said("a"), said("b"), said("c"), compaction(index), said("d"))) == kept


@pytest.mark.parametrize("index", [0, -1, 9, "2", 1.5, None])
def test_an_index_that_means_nothing_keeps_nothing(index: object) -> None:
    assert first_kept(v1(said("a"), compaction(index))) is None


@pytest.mark.parametrize("noise", [b"junk", b"{", b"", b"\xff", b'{"type":"custom","data":1e999}'])
def test_lines_that_cannot_be_read_are_not_counted(noise: bytes) -> None:
    """As in pi, which indexes what it could parse."""
    lines = v1(said("a"), said("b"), compaction(2)).splitlines()
    data = b"\n".join([*lines[:2], noise, *lines[2:], b""])
    loaded = load(data, "it")
    assert [seen.id for seen in loaded.glances] == ["00000001", "00000003", "00000004"]
    assert [seen.parent_id for seen in loaded.glances] == [None, "00000001", "00000003"]
    assert first_kept(data) == "00000003"


@pytest.mark.parametrize("odd", [{"type": "session", "id": "another"}, {"type": 5}, {"type": None}])
def test_what_is_no_entry_does_not_come_between_two_that_are(odd: dict[str, Any]) -> None:
    """Whoever followed it would lose everything before it. It is counted, as in pi."""
    data = v1(said("a"), odd, said("b"), compaction(3))
    loaded = load(data, "it")
    assert [seen.type for seen in loaded.glances] == ["message", "message", "compaction"]
    assert [seen.parent_id for seen in loaded.glances][1:] == [seen.id for seen in loaded.glances][:-1]
    assert first_kept(data) == loaded.glances[1].id


def test_an_id_that_version_1_did_not_know_of_is_replaced() -> None:
    loaded = load(v1({**said("a"), "id": "x", "parentId": "y"}, said("b")), "it")
    assert [(seen.id, seen.parent_id) for seen in loaded.glances] == [("00000001", None), ("00000002", "00000001")]


def test_half_a_pair_of_surrogates_does_not_lose_an_old_message(reopen: Callable[..., Opened], path: Path) -> None:
    path.write_bytes(v1(said("a"), said("b \ud83d"), said("c")))
    _, (_, half), _ = reopen().past.read()
    assert half == UserMessage((Text("b \ufffd"),), 1)


def test_a_hook_message_is_a_note_from_version_3_on(reopen: Callable[..., Opened]) -> None:
    for old in OLD:
        opened = reopen(old, to_write=False)
        notes = [message for _, message in opened.past.read() if isinstance(message, Note)]
        assert notes == [Note("hook", (Text("a hook says"),), 1_748_772_008_000)]


def test_words_about_hook_messages_are_left_alone() -> None:
    line = b'{"type":"message","id":"a","message":{"role":"user","content":"what is a hookMessage?"}}'
    other = b'{"type":"custom","id":"a","message":"hookMessage"}'
    assert migrated([line, other], 2) == [line, other]
    assert migrated([line, other], 3) == [line, other]


fields = st.sampled_from(["type", "id", "message", "role", "firstKeptEntryIndex"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(fields, inner),
    max_leaves=10,
)


@patient
@given(st.lists(json_values.map(json.dumps).map(str.encode) | st.binary(max_size=20)), st.integers(-1, 3))
def test_nothing_that_an_old_file_can_say_is_an_error(lines: list[bytes], version: int) -> None:
    now = migrated(lines, version)
    assert len(now) == len(lines)
    assert migrated(lines, version) == now


@pytest.mark.parametrize("old", OLD, ids=["v1", "v2"])
def test_an_old_session_that_is_only_read_stays_as_it_is(old: Path, path: Path, reopen: Callable[..., Opened]) -> None:
    path.write_bytes(old.read_bytes())
    os.utime(path, (1, 1))
    assert len(reopen(to_write=False).past.read()) == 5
    assert path.read_bytes() == old.read_bytes()
    assert path.stat().st_mtime == 1
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("old", OLD, ids=["v1", "v2"])
def test_an_old_session_that_is_gone_on_with_is_brought_up_to_date_and_its_original_kept(
    old: Path, path: Path, reopen: Callable[..., Opened]
) -> None:
    path.write_bytes(old.read_bytes())
    read = load(old.read_bytes(), "it")
    opened = reopen()
    opened.store.append(Named("new"))
    shown = opened.past.read()
    opened.store.log.close()

    now = load(path.read_bytes(), "it")
    assert now.version == now.header.version == 3
    assert now.header.id == read.header.id
    assert now.lines[:-1] == read.lines
    assert path.with_name(f"session.jsonl.{old.stem}").read_bytes() == old.read_bytes()
    assert sorted(os.listdir(path.parent)) == ["session.jsonl", f"session.jsonl.{old.stem}"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert reopen().past.read() == shown


def test_a_session_that_was_brought_up_to_date_is_in_use(path: Path, reopen: Callable[..., Opened]) -> None:
    path.write_bytes(OLD[0].read_bytes())
    reopen()
    with pytest.raises(SessionInUse):
        file.open_locked(str(path))


def test_a_compaction_of_version_1_still_keeps_what_it_kept(reopen: Callable[..., Opened]) -> None:
    opened = reopen(OLD[0], to_write=False)
    assert opened.position.compaction is not None
    assert [type(message).__name__ for _, message in opened.past.read()] == [
        "Summary",
        "UserMessage",
        "AssistantMessage",
        "Note",
        "UserMessage",
    ]
    [compacted] = [each.content for each in opened.store.entries() if isinstance(each.content, Compacted)]
    assert compacted.result.first_kept == "00000004"


def test_an_original_that_is_kept_already_is_never_written_over(path: Path, reopen: Callable[..., Opened]) -> None:
    beside = path.with_name("session.jsonl.v1")
    beside.write_bytes(b"somebody's")
    path.write_bytes(v1(said("a")))
    reopen().store.log.close()
    assert beside.read_bytes() == b"somebody's"
    others = [each.read_bytes() for each in path.parent.iterdir() if each not in (beside, path)]
    assert others == [v1(said("a"))]


def test_a_crash_between_keeping_the_original_and_replacing_it_keeps_one(
    path: Path, reopen: Callable[..., Opened]
) -> None:
    path.write_bytes(v1(said("a")))
    os.link(path, path.with_name("session.jsonl.v1"))
    reopen().store.log.close()
    assert sorted(os.listdir(path.parent)) == ["session.jsonl", "session.jsonl.v1"]
    assert path.with_name("session.jsonl.v1").read_bytes() == v1(said("a"))


def test_an_old_session_with_a_torn_last_line_keeps_the_torn_line_in_its_original(
    path: Path, reopen: Callable[..., Opened]
) -> None:
    data = v1(said("a"), said("b"))[:-10]
    path.write_bytes(data)
    opened = reopen()
    assert [each.content for each in opened.store.entries()] == [Said(UserMessage((Text("a"),), 1))]
    assert path.with_name("session.jsonl.v1").read_bytes() == data
    assert not path.with_name("session.jsonl.torn").exists()


def test_where_files_can_have_no_second_name_the_original_is_copied(
    path: Path, reopen: Callable[..., Opened], monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(*args: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    path.write_bytes(v1(said("a")))
    reopen().store.append(Named("x"))
    assert path.with_name("session.jsonl.v1").read_bytes() == v1(said("a"))
    assert len(load(path.read_bytes(), "it").lines) == 2


def test_an_old_session_that_cannot_be_brought_up_to_date_is_left_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rename(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", rename)
    path.write_bytes(v1(said("a")))
    with pytest.raises(SessionError, match="could not be opened: No space left on device"):
        file.open_locked(str(path))
    assert path.read_bytes() == v1(said("a"))
    assert sorted(os.listdir(path.parent)) == ["session.jsonl", "session.jsonl.v1"]
