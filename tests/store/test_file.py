"""Session files: made whole or not at all, refused if they are none, and mended where a crash tore them."""

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.core.messages import Text, UserMessage
from linnet.errors import SessionError
from linnet.store import file
from linnet.store.entries import Custom, Named, Said
from linnet.store.header import Header, header_line
from linnet.store.lines import entry_line
from linnet.store.reading import load
from linnet.store.session_folder import Opened
from linnet.store.store import Store

HEADER = Header("0000-session", "2026-01-01T12:00:00.000Z", "CWD", None, 3)
FIRST = header_line(HEADER) + b"\n"
LINES = [
    entry_line("a", None, "", Said(UserMessage((Text("häl\u2028lo"),), 1))),
    entry_line("b", "a", "", Named("a name")),
    entry_line("c", "b", "", Custom("kind", {"n": [1, 2]})),
]
DATA = FIRST + b"".join(line + b"\n" for line in LINES)


def texts(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir()}


def open_files() -> int:
    return len(os.listdir("/dev/fd"))


def test_a_new_session_has_its_header_before_anything_is_said(create: Callable[..., Store], path: Path) -> None:
    create()
    assert path.read_bytes() == FIRST


def test_a_new_session_has_what_it_was_begun_with_from_its_first_moment(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever finds the name finds all of it."""
    linked: list[bytes] = []
    link = os.link

    def watched(source: str, name: str) -> None:
        assert not path.exists()
        linked.append(Path(source).read_bytes())
        link(source, name)

    monkeypatch.setattr(os, "link", watched)
    log = file.create(str(path), HEADER, LINES)
    assert linked == [DATA]
    assert path.read_bytes() == DATA
    assert [log.line(index) for index in range(3)] == LINES
    log.close()


def test_sessions_and_their_folders_are_nobody_elses_business(tmp_path: Path) -> None:
    mask = os.umask(0)
    try:
        log = file.create(str(tmp_path / "home" / "sessions" / "project" / "s.jsonl"), HEADER)
    finally:
        os.umask(mask)
    log.close()
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "home").rglob("*")}
    assert modes == {"sessions": 0o700, "project": 0o700, "s.jsonl": 0o600}
    assert stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o700


def test_a_folder_that_is_there_keeps_its_permissions(path: Path) -> None:
    path.parent.chmod(0o755)
    file.create(str(path), HEADER).close()
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o755


def test_a_session_in_the_present_folder_needs_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    log = file.create("s.jsonl", HEADER)
    log.append(LINES[0])
    log.sync()
    log.close()
    assert texts(tmp_path) == {"s.jsonl": FIRST + LINES[0] + b"\n"}


@pytest.mark.parametrize("kind", ["file", "folder", "link to nothing", "pipe"])
def test_a_new_session_never_takes_the_place_of_anything(kind: str, path: Path) -> None:
    match kind:
        case "file":
            path.write_bytes(b"precious")
        case "folder":
            path.mkdir()
        case "link to nothing":
            path.symlink_to("nowhere")
        case _:
            os.mkfifo(path)
    before = path.lstat()
    with pytest.raises(SessionError) as refused:
        file.create(str(path), HEADER)
    assert str(refused.value) == f"{path} exists already"
    assert path.lstat() == before
    assert os.listdir(path.parent) == [path.name]


def test_the_same_holds_where_files_can_have_no_second_name(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*args: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    file.create(str(path), HEADER, LINES).close()
    assert texts(path.parent) == {path.name: DATA}
    with pytest.raises(SessionError, match="exists already"):
        file.create(str(path), HEADER)
    assert texts(path.parent) == {path.name: DATA}


@pytest.mark.parametrize("function", ["write", "link", "open"])
def test_nothing_is_left_behind_when_a_session_cannot_be_made(
    function: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, function, fails)
    if function == "link":
        monkeypatch.setattr(os, "rename", fails)
    with pytest.raises(SessionError) as refused:
        file.create(str(path), HEADER)
    monkeypatch.undo()
    assert str(refused.value) == f"{path} could not be made: No space left on device"
    assert os.listdir(path.parent) == []


@pytest.mark.parametrize("path", ["/dev/null/s.jsonl", "/proc/s.jsonl", "nul\0.jsonl", "half \ud800.jsonl", ""])
def test_where_no_file_can_be_a_sentence_says_so(path: str) -> None:
    for attempt in (lambda: file.create(path, HEADER), lambda: file.open_locked(path), lambda: file.read(path)):
        with pytest.raises(SessionError):
            attempt()


@pytest.mark.parametrize("cut", range(len(FIRST), len(DATA)))
def test_wherever_a_crash_cut_a_line_off_it_is_put_aside_and_nothing_before_it_is_lost(
    cut: int, path: Path, reopen: Callable[..., Opened]
) -> None:
    path.write_bytes(DATA[:cut])
    whole, _, rest = DATA[:cut].rpartition(b"\n")
    kept = [*whole.split(b"\n")[1:], *([rest] if rest in LINES else [])]
    torn = b"" if rest in LINES else rest

    store = reopen().store
    assert store.lines() == kept
    store.append(Named("went on"))
    assert path.read_bytes() == b"\n".join([header_line(HEADER), *store.lines(), b""])
    assert store.lines()[:-1] == kept
    aside = {f"{path.name}.torn": torn + b"\n"} if torn else {}
    assert texts(path.parent) == {path.name: path.read_bytes(), **aside}
    again = load(path.read_bytes(), "it")
    assert again.glances[-1].name == "went on"
    assert again.glances[-1].parent_id == (again.glances[-2].id if kept else None)


def test_torn_lines_are_kept_beside_one_after_the_other(path: Path, reopen: Callable[..., Opened]) -> None:
    for torn in (b'{"type":"mess', b"\x00\x00", b'{"type":"message","id":"x"'):
        with path.open("ab") as raw:
            raw.write(torn if path.stat().st_size else FIRST + torn)
        reopen().store.log.close()
    assert texts(path.parent) == {
        path.name: FIRST,
        f"{path.name}.torn": b'{"type":"mess\n\x00\x00\n{"type":"message","id":"x"\n',
    }
    assert stat.S_IMODE((path.parent / f"{path.name}.torn").stat().st_mode) == 0o600


def test_a_torn_line_that_cannot_be_put_aside_stays_where_it_is(path: Path) -> None:
    path.write_bytes(DATA[:-5])
    path.with_name(f"{path.name}.torn").mkdir()
    with pytest.raises(SessionError, match="could not be opened: Is a directory"):
        file.open_locked(str(path))
    assert path.read_bytes() == DATA[:-5]


def test_a_session_that_is_only_read_is_not_mended(path: Path, reopen: Callable[..., Opened]) -> None:
    path.write_bytes(DATA[:-5])
    os.utime(path, (1, 1))
    assert reopen(to_write=False).store.lines() == LINES[:2]
    assert texts(path.parent) == {path.name: DATA[:-5]}
    assert path.stat().st_mtime == 1


@pytest.mark.parametrize("last", [b"\r\n", b"\r", b""], ids=["whole", "without its LF", "without its line end"])
def test_lines_may_end_as_on_windows(last: bytes, path: Path, reopen: Callable[..., Opened]) -> None:
    data = DATA.replace(b"\n", b"\r\n").removesuffix(b"\r\n") + last
    path.write_bytes(data)
    store = reopen().store
    assert [line.rstrip() for line in store.lines()] == LINES
    store.append(Named("went on"))
    assert path.read_bytes().startswith(data.rstrip())
    store.log.close()
    again = reopen().store
    assert again.name == "went on"
    assert [node.id for node in again.tree.nodes][:3] == ["a", "b", "c"]
    assert os.listdir(path.parent) == [path.name]


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda path: None, "does not exist"),
    "missing folder": (lambda path: path.symlink_to("no/such/folder"), "does not exist"),
    "folder": (lambda path: path.mkdir(), "is not a file|cannot be opened: Is a directory"),
    "pipe": (os.mkfifo, "is not a file"),
    "null device": (lambda path: path.symlink_to("/dev/null"), "is not a file"),
    "socket": (lambda path: bind(path), "cannot be opened: (No such device or address|Operation not supported)"),
    "circle": (lambda path: path.symlink_to(path.name), "cannot be opened: Too many levels of symbolic links"),
    "empty": (lambda path: path.write_bytes(b""), "is empty: it is not a session"),
    "blank": (lambda path: path.write_bytes(b"\n\n"), "is empty: it is not a session"),
    "junk": (lambda path: path.write_bytes(b"\x00\xff\n\nhello"), "is not a session: its first line is no session"),
    "torn header": (lambda path: path.write_bytes(FIRST[:-9]), "is not a session: its first line is no session"),
    "other JSON": (lambda path: path.write_bytes(b'{"name": "x"}\n'), "is not a session: its first line is no session"),
    "pi's own": (
        lambda path: path.write_bytes((Path(__file__).parent / "files" / "pi_37_no_header.jsonl").read_bytes()),
        "is not a session: its first line is no session header",
    ),
    "too new": (
        lambda path: path.write_bytes(DATA.replace(b'"version":3', b'"version":4', 1)[:-5]),
        "is a session of version 4; the newest that linnet knows is 3",
    ),
}


def bind(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(path))


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_session_is_refused_and_left_alone(kind: str, path: Path) -> None:
    make, reason = REFUSED[kind]
    make(path)
    if path.is_file() and not path.is_symlink():
        os.utime(path, ns=(1, 1))
    before = path.lstat() if os.path.lexists(path) else None
    data = path.read_bytes() if path.is_file() else b""
    opened = open_files()
    for attempt in (lambda: file.open_locked(str(path)), lambda: file.read(str(path))):
        with pytest.raises(SessionError, match=reason) as refused:
            attempt()
        assert str(refused.value).startswith(str(path))
    after = path.lstat() if os.path.lexists(path) else None
    assert (before and (before.st_ino, before.st_mtime_ns)) == (after and (after.st_ino, after.st_mtime_ns))
    assert (path.read_bytes() if path.is_file() else b"") == data
    assert len(os.listdir(path.parent)) == (before is not None)
    assert open_files() == opened


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="there is none here")
def test_a_file_that_cannot_be_read_is_refused_with_a_sentence() -> None:
    with pytest.raises(SessionError, match="/proc/self/mem cannot be read: Input/output error"):
        file.read("/proc/self/mem")


def test_a_session_may_be_reached_through_a_link(path: Path, tmp_path: Path, reopen: Callable[..., Opened]) -> None:
    path.write_bytes(DATA)
    (tmp_path / "link.jsonl").symlink_to(path)
    store = reopen(tmp_path / "link.jsonl").store
    store.append(Named("through a link"))
    assert path.read_bytes() == DATA + store.lines()[-1] + b"\n"


def test_an_entry_is_written_in_one_piece(store: Store, monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    written: list[bytes] = []
    write = os.write

    def watched(fd: int, data: bytes) -> int:
        if os.path.sameopenfile(fd, ours):
            written.append(data)
        return write(fd, data)

    with path.open("rb") as raw:
        ours = raw.fileno()
        monkeypatch.setattr(os, "write", watched)
        store.append(Named("short"))
        store.append(Said(UserMessage((Text("long " * 200_000),), 1)))
        store.append(Named("short"))
    assert written == [line + b"\n" for line in store.lines()]


def test_the_disk_is_asked_to_keep_what_is_new_and_nothing_else(
    store: Store, monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    synced: list[bool] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(stat.S_ISDIR(os.fstat(fd).st_mode)))
    store.log.sync()
    assert synced == [False, True]  # The file, and its name in the folder.
    store.log.sync()
    assert synced == [False, True]
    store.append(Named("a"))
    store.append(Named("b"))
    store.log.sync()
    assert synced == [False, True, False]
    store.append(Named("c"))
    store.log.close()
    assert synced == [False, True, False, False]


def test_a_disk_that_cannot_keep_it_is_asked_again(store: Store, monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    def fails(fd: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fails)
    store.append(Named("a"))
    with pytest.raises(SessionError) as refused:
        store.log.sync()
    assert str(refused.value) == f"{path} could not be saved: Input/output error"
    with pytest.raises(SessionError):
        store.log.sync()
    monkeypatch.undo()
    store.log.sync()


def test_a_session_that_was_closed_says_so(store: Store, path: Path) -> None:
    store.append(Named("a"))
    opened = open_files()
    store.log.close()
    store.log.close()
    assert open_files() == opened - 1
    store.log.sync()
    with path.open("rb"), pytest.raises(SessionError, match="is closed"):
        store.lines()  # Not what happens to have the number of the file that was closed.
    with pytest.raises(SessionError, match="is closed"):
        store.append(Named("b"))
