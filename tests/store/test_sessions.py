"""The folder of a project's sessions: how they are called, which is the newest, which is meant, what is in them."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from linnet.core.events import Compaction
from linnet.core.messages import AssistantMessage, Cost, Image, Summary, Text, Usage, UserMessage
from linnet.errors import SessionError
from linnet.store import file, session_folder
from linnet.store.entries import Compacted, Content, ModelChanged, Named, Said
from linnet.store.header import Header
from linnet.store.store import Store

NOON = 1_767_268_800_000
Keep = Callable[..., str]


def said(text: str) -> Said:
    return Said(UserMessage((Text(text),), 1))


def replied(text: str, cost: float = 0.0, model: str = "m") -> Said:
    usage = Usage(10, 5, 2, 3, Cost(cost, cost))
    return Said(AssistantMessage((Text(text),), 1, "p", model, usage))


@pytest.fixture
def keep(tmp_path: Path, create: Callable[..., Store]) -> Keep:
    """A session with such an id and such contents, changed so many seconds after the first."""

    def kept(id: str, *contents: Content, changed: int = 0, cwd: str = "CWD", parent: str | None = None) -> str:
        header = session_folder.new_header(id, NOON, cwd, parent)
        store = Store(header, file.create(str(tmp_path / session_folder.file_name(header)), header, ()))
        for content in contents:
            store.append(content)
        store.log.close()
        assert store.path is not None
        os.utime(store.path, (1_000_000 + changed, 1_000_000 + changed))
        return store.path

    return kept


def ids(folders: Sequence[object], cwd: str | None = None) -> list[str]:
    return [each.id for each in session_folder.summaries([str(folder) for folder in folders], cwd)]


def test_a_session_is_named_as_pi_names_it(keep: Keep, tmp_path: Path) -> None:
    assert keep("0123-abcd") == str(tmp_path / "2026-01-01T12-00-00-000Z_0123-abcd.jsonl")


@pytest.mark.parametrize(
    ("cwd", "name"),
    [
        ("/home/me/my project", "--home-me-my project--"),
        ("/", "----"),
        ("/a:b\\c", "--a-b-c--"),
        ("relative", "--relative--"),
    ],
)
def test_the_folder_of_a_projects_sessions_is_named_after_it_as_in_pi(cwd: str, name: str) -> None:
    assert session_folder.folder("HOME", cwd) == os.path.join("HOME", "sessions", name)


def test_the_folders_of_all_projects_are_listed(tmp_path: Path) -> None:
    assert session_folder.folders(str(tmp_path)) == []
    for cwd in ("/b", "/a"):
        os.makedirs(session_folder.folder(str(tmp_path), cwd))
    assert session_folder.folders(str(tmp_path)) == [session_folder.folder(str(tmp_path), cwd) for cwd in ("/a", "/b")]


def test_a_summary_tells_what_somebody_looking_for_a_session_wants_to_know(keep: Keep) -> None:
    summary = Compaction(Summary("s", 1, 1), 0, "", (), (), Usage(100, cost=Cost(0.5)))
    path = keep(
        "0000-a",
        ModelChanged("p", "never answered"),
        said("What is this?"),
        replied("That.", 0.25),
        Compacted(summary),
        Named("  old name"),
        said("And now?"),
        replied("This.", 0.125, "another"),
        Named(" a name "),
        parent="/elsewhere.jsonl",
    )
    info = session_folder.summary(path)
    assert info.path == path
    assert info.id == "0000-a"
    assert info.name == "a name"
    assert info.cwd == "CWD"
    assert info.created == "2026-01-01T12:00:00.000Z"
    assert info.modified == "1970-01-12T13:46:40.000Z"
    assert info.messages == 4
    assert info.first_message == "What is this?"
    assert (info.provider, info.model) == ("p", "another")
    assert info.tokens == 140
    assert info.cost == 1.25
    assert info.parent == "/elsewhere.jsonl"


def test_a_summary_of_a_session_in_which_nothing_was_said_is_empty(keep: Keep) -> None:
    info = session_folder.summary(keep("0000-a", ModelChanged("p", "set")))
    assert (info.name, info.messages, info.first_message, info.tokens, info.cost) == ("", 0, "", 0, 0)
    assert (info.provider, info.model) == ("p", "set")
    assert info.parent is None
    assert session_folder.summary(keep("0000-b")).model == ""


def test_the_first_thing_that_was_said_may_have_been_a_picture(keep: Keep) -> None:
    picture = Said(UserMessage((Image("image/png", "eA=="), Text("What is this?")), 1))
    assert session_folder.summary(keep("0000-a", picture)).first_message == "What is this?"


def test_summaries_come_newest_first_from_whatever_folder(keep: Keep, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    keep("0000-a", changed=5)
    keep("0000-b", changed=9)
    os.rename(keep("0000-c", changed=7), other / "c.jsonl")
    assert ids([tmp_path, other]) == ["0000-b", "0000-c", "0000-a"]
    assert ids([tmp_path / "missing"]) == []


def test_folders_that_share_one_for_their_sessions_are_told_apart(keep: Keep, tmp_path: Path) -> None:
    keep("0000-a", said("a"), changed=5, cwd="/a/b")
    keep("0000-b", said("b"), changed=9, cwd="/a-b")
    keep("0000-c", said("c"), changed=1, cwd="")  # It does not say.
    assert ids([tmp_path], "/a/b") == ["0000-a", "0000-c"]
    assert ids([tmp_path]) == ["0000-b", "0000-a", "0000-c"]
    found = session_folder.newest([str(tmp_path)], "/a/b")
    assert found is not None
    assert found.endswith("_0000-a.jsonl")


def test_the_newest_session_is_the_one_in_which_something_was_said_last(keep: Keep, tmp_path: Path) -> None:
    assert session_folder.newest([str(tmp_path)]) is None
    assert session_folder.newest(str(tmp_path / "missing")) is None
    keep("0000-a", ModelChanged("p", "m"), changed=1)
    assert session_folder.newest([str(tmp_path)]) is None
    second = keep("0000-b", said("a"), changed=2)
    keep("0000-c", said("b"), changed=1)
    keep("0000-d", ModelChanged("p", "m"), Named("a name, but nothing said"), changed=9)
    assert session_folder.newest([str(tmp_path)]) == second


def test_a_session_is_found_by_the_beginning_of_its_id(keep: Keep, tmp_path: Path) -> None:
    paths = {id: keep(id) for id in ("0123-abc", "0124-abd", "9999")}
    folders = [str(tmp_path)]
    assert session_folder.find("0123", folders, "/") == paths["0123-abc"]
    assert session_folder.find("0124-abd", folders, "/") == paths["0124-abd"]
    assert session_folder.find("9", folders, "/") == paths["9999"]
    assert session_folder.find("abc", folders, "/") is None
    assert session_folder.find("2026", folders, "/") is None
    with pytest.raises(SessionError) as refused:
        session_folder.find("012", folders, "/")
    which = ", ".join(sorted([paths["0123-abc"], paths["0124-abd"]], reverse=True))
    assert str(refused.value) == f"012 is the beginning of 2 sessions; write more of its id, or name {which}"


def test_the_first_folder_that_has_such_a_session_is_meant(keep: Keep, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    here = keep("0123-a")
    os.rename(keep("0123-b"), other / "x_0123-b.jsonl")
    assert session_folder.find("0123", [str(tmp_path), str(other)], "/") == here
    assert session_folder.find("0123", [str(other), str(tmp_path)], "/") == str(other / "x_0123-b.jsonl")
    assert session_folder.find("0123", [str(tmp_path / "missing"), str(other)], "/") == str(other / "x_0123-b.jsonl")


def test_a_word_that_is_a_path_means_that_file_whether_it_is_there_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "there").write_bytes(b"")
    for word, path in {
        "there": "there",
        "missing.jsonl": "missing.jsonl",
        "a/b": "a/b",
        "a/../b.jsonl": "b.jsonl",
        "~/b.jsonl": "b.jsonl",
        str(tmp_path / "c"): "c",
    }.items():
        assert session_folder.find(word, [], str(tmp_path)) == str(tmp_path / path)
    assert session_folder.find("missing", [], str(tmp_path)) is None


@pytest.mark.parametrize("word", ["", ".", "nul\0", "half \ud800", "x" * 5_000, "*", "../" * 50])
def test_an_odd_word_is_no_session(word: str, tmp_path: Path) -> None:
    found = session_folder.find(word, [str(tmp_path)], str(tmp_path))
    if found is not None:
        with pytest.raises(SessionError):
            session_folder.open_store(found)


def test_things_that_are_no_sessions_do_no_harm(keep: Keep, tmp_path: Path) -> None:
    path = keep("0000-a", said("hello"))
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "dangling.jsonl").symlink_to("nowhere")
    (tmp_path / "circle.jsonl").symlink_to("circle.jsonl")
    (tmp_path / "device.jsonl").symlink_to("/dev/zero")
    (tmp_path / "empty.jsonl").write_bytes(b"")
    (tmp_path / "junk.jsonl").write_bytes(b"\x00\xff" * 1_000)
    (tmp_path / "other.jsonl").write_bytes(b'{"a":1}\n')
    (tmp_path / "newer.jsonl").write_bytes(b'{"type":"session","version":99,"id":"b"}\n')
    (tmp_path / "note.txt").write_bytes(b"hello")
    (tmp_path / ".hidden.jsonl").write_bytes(Path(path).read_bytes())
    (tmp_path / f"{os.path.basename(path)}.torn").write_bytes(b"torn")
    os.mkfifo(tmp_path / "pipe.jsonl")
    with open(os.path.join(os.fsencode(tmp_path), b"\xff.jsonl"), "wb") as odd:
        odd.write(Path(path).read_bytes().replace(b"0000-a", b"0000-b"))
    assert set(ids([tmp_path])) == {"0000-a", "0000-b"}
    assert session_folder.newest([str(tmp_path)]) is not None
    assert session_folder.find("0000-a", [str(tmp_path)], "/") == path


def test_a_session_that_goes_away_while_it_is_looked_at_is_left_out(
    keep: Keep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep("0000-a", changed=1)
    second = keep("0000-b", changed=2)
    listed = session_folder.summaries([str(tmp_path)])
    assert next(listed).id == "0000-b"
    os.unlink(keep("0000-c", changed=0))
    os.unlink(second)
    assert [each.id for each in listed] == ["0000-a"]


def test_opening_tells_where_a_session_stands_and_what_it_has_cost(keep: Keep) -> None:
    path = keep("0000-a", said("a"), replied("b", 0.5), said("c"))
    for to_write in (True, False):
        opened = session_folder.open_store(path, to_write=to_write)
        assert [type(message).__name__ for _, message in opened.past.read()] == [
            "UserMessage",
            "AssistantMessage",
            "UserMessage",
        ]
        assert opened.spent == Usage(10, 5, 2, 3, Cost(0.5, 0.5))
        assert opened.position.model == ModelChanged("p", "m")
        assert (opened.store.path is None) == (not to_write)
        opened.store.log.close()


def test_a_copy_of_lines_has_cost_what_they_cost(keep: Keep) -> None:
    opened = session_folder.open_store(keep("0000-a", said("a"), replied("b", 0.5), replied("c", 0.25)), to_write=False)
    lines = opened.store.lines()
    assert session_folder.paid(lines).cost.total == 1.5
    assert session_folder.paid(lines[:2]).cost.total == 1.0
    copy = session_folder.in_memory(Header("copy", "", "", None, 3), lines[:2])
    assert copy.past(copy.position(), lines[:2]).read() == opened.past.read()[:2]
