"""What tests want done in a process of its own: `child.py TASK ARGUMENT…`. A task that fails ends with an error."""

import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from linnet.errors import SessionError
from linnet.store import file, session_folder
from linnet.store.entries import Named
from linnet.store.header import Header
from linnet.store.store import Store

HEADER = Header("0000-session", "2026-01-01T12:00:00.000Z", "CWD", None, 3)
V1 = b'{"type":"session","id":"0001-session"}\n{"type":"message","message":{"role":"user","content":"hi"}}\n'


def hold(path: str) -> None:
    """Have the session open until stdin ends, or for as long as this lives."""
    store = session_folder.open_store(path).store if os.path.exists(path) else new(path)
    print("open", flush=True)
    sys.stdin.read()
    store.log.close()


def full(path: str) -> None:
    """A limit on the size of files stands for a disk that fills up, and has room again."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(store: Store) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(path) + 50, most))

    survives(path, fill, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))


def small_disk(folder: str) -> None:
    """In a namespace of its own, where it may mount a disk that is nearly full."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", folder], check=True)
    filler = Path(folder, "filler")

    def fill(store: Store) -> None:
        with filler.open("wb", buffering=0) as raw:
            try:
                while raw.write(b"x" * 512):
                    pass
            except OSError:
                pass

    survives(os.path.join(folder, "session.jsonl"), fill, filler.unlink)


def survives(path: str, fill: Callable[[Store], None], make_room: Callable[[], None]) -> None:
    store = new(path)
    names = ["before"]
    store.append(Named("before"))
    fill(store)
    for name in ("long " * 2_000, "short", "longer " * 2_000):
        size = os.path.getsize(path)
        names.append(name)
        refused(lambda name: store.append(Named(name)), "could not be written to: ", name)
        assert os.path.getsize(path) == size, "half a line was left in the file"
        assert [each.content for each in store.entries()] == [Named(name) for name in names]
    refused(lambda: store.append(Named("or not at all"), strict=True), "could not be written to: ")
    make_room()
    names.append("room again")
    store.append(Named("room again"))
    assert Path(path).read_bytes().split(b"\n")[1:-1] == store.lines()
    store.log.close()
    assert [seen.name for seen in file.read(path).glances] == names


def nobody() -> None:
    """Permissions mean nothing to root."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    with TemporaryDirectory() as folder:
        for task in (unreadable, read_only_file, read_only_folder, out_of_sight):
            own = Path(folder, task.__name__)
            own.mkdir()
            task(own)
            print(task.__name__, flush=True)


def unreadable(folder: Path) -> None:
    path = folder / "session.jsonl"
    new(str(path)).log.close()
    path.chmod(0)
    refused(lambda: file.read(str(path)), "cannot be opened: Permission denied")
    refused(lambda: file.open_locked(str(path)), "cannot be opened: Permission denied")
    assert list(session_folder.summaries([str(folder)])) == []
    assert session_folder.newest([str(folder)]) is None
    folder.chmod(0)
    assert list(session_folder.summaries([str(folder)])) == []
    assert session_folder.folders(str(folder)) == []
    refused(lambda: file.read(str(path)), "cannot be opened: Permission denied")
    folder.chmod(0o700)


def read_only_file(folder: Path) -> None:
    path = folder / "session.jsonl"
    store = new(str(path))
    store.append(Named("a"))
    path.chmod(0o400)
    store.append(Named("b"))  # It is open already.
    store.log.close()
    before = path.read_bytes()
    refused(lambda: file.open_locked(str(path)), "cannot be opened: Permission denied")
    assert session_folder.open_store(str(path), to_write=False).store.name == "b"
    assert path.read_bytes() == before


def read_only_folder(folder: Path) -> None:
    """What is there can be gone on with, if nothing beside it is needed for that."""
    path, torn, old = folder / "session.jsonl", folder / "torn.jsonl", folder / "old.jsonl"
    new(str(path)).log.close()
    torn.write_bytes(path.read_bytes() + b'{"type":"mess')
    old.write_bytes(V1)
    folder.chmod(0o500)
    refused(lambda: new(str(folder / "another.jsonl")), "could not be made: Permission denied")
    refused(lambda: new(str(folder / "deeper" / "another.jsonl")), "could not be made: Permission denied")
    store = session_folder.open_store(str(path)).store
    store.append(Named("a"))
    store.log.sync()
    store.log.close()
    for each in (torn, old):
        before = each.read_bytes(), each.stat().st_mtime_ns
        refused(file.open_locked, "could not be opened: Permission denied", str(each))
        file.read(str(each))
        assert (each.read_bytes(), each.stat().st_mtime_ns) == before
    assert sorted(os.listdir(folder)) == ["old.jsonl", "session.jsonl", "torn.jsonl"]
    assert file.read(str(path)).glances[-1].name == "a"
    folder.chmod(0o700)


def out_of_sight(folder: Path) -> None:
    """The file may still be there; it just cannot be told. When it can, everything is written that waited."""
    path = folder / "session.jsonl"
    store = new(str(path))
    store.append(Named("a"))
    folder.chmod(0)
    refused(lambda: store.append(Named("b")), "cannot be looked at: Permission denied")
    refused(lambda: store.append(Named("c")), "cannot be looked at: Permission denied")
    assert [each.content for each in store.entries()] == [Named("a"), Named("b"), Named("c")]
    folder.chmod(0o700)
    store.append(Named("d"))
    assert path.read_bytes().split(b"\n")[1:-1] == store.lines()
    assert [seen.name for seen in file.read(str(path)).glances] == ["a", "b", "c", "d"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    store.log.close()


def refused(attempt: Callable[..., object], reason: str, *args: str) -> None:
    said = "nothing"
    try:
        attempt(*args)
    except SessionError as error:
        said = str(error)
    assert reason in said, f"{said} does not say {reason}"


def new(path: str) -> Store:
    return Store(HEADER, file.create(path, HEADER, ()))


if __name__ == "__main__":
    tasks: dict[str, Callable[..., None]] = {task.__name__: task for task in (hold, full, small_disk, nobody)}
    tasks[sys.argv[1]](*sys.argv[2:])
