"""One process at a time writes to a session; anybody may read it; and nobody who is gone can keep it."""

import errno
import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from linnet.errors import SessionError, SessionInUse
from linnet.files import lock
from linnet.store import file, session_folder
from linnet.store.entries import Named
from linnet.store.session_folder import Opened
from linnet.store.store import Store

if TYPE_CHECKING:
    from tests.store.conftest import Child


@pytest.fixture(params=["opened", "made"])
def holder(
    request: pytest.FixtureRequest, child: Callable[..., "Child"], create: Callable[..., Store], path: Path
) -> "Child":
    """Another process that has the session."""
    if request.param == "opened":
        store = create()
        store.append(Named("by us"))
        store.log.close()
    holder = child("hold", path)
    assert holder.says() == "open"
    return holder


def test_a_second_process_is_refused_and_told_who_has_it(holder: "Child", path: Path) -> None:
    before = path.read_bytes(), path.stat().st_mtime_ns
    with pytest.raises(SessionInUse) as refused:
        file.open_locked(str(path))
    who = f"process {holder.pid}" if os.path.exists("/proc/locks") else "another process"
    assert str(refused.value) == f"{path} is in use by {who}; end that one first, or work on a copy"
    assert refused.value.code == "session_in_use"
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_whoever_is_killed_has_it_no_longer(holder: "Child", path: Path, reopen: Callable[..., Opened]) -> None:
    holder.kill()
    assert holder.process.returncode == -9
    store = reopen().store
    store.append(Named("by us again"))
    assert os.listdir(path.parent) == [path.name]


def test_whoever_is_done_has_it_no_longer(holder: "Child", reopen: Callable[..., Opened]) -> None:
    holder.ends()
    reopen().store.append(Named("by us again"))


def test_reading_needs_no_lock(holder: "Child", path: Path, reopen: Callable[..., Opened]) -> None:
    assert file.read(str(path)).header.id == "0000-session"
    assert [each.path for each in session_folder.summaries([str(path.parent)])] == [str(path)]
    reopen(to_write=False).store.append(Named("in memory"))
    assert b"in memory" not in path.read_bytes()


def test_a_process_cannot_open_a_session_twice_either(store: Store, path: Path) -> None:
    with pytest.raises(SessionInUse, match=f"process {os.getpid()};|another process;"):
        file.open_locked(str(path))
    store.append(Named("the first one goes on"))


def test_a_program_that_was_started_meanwhile_does_not_keep_it(store: Store, reopen: Callable[..., Opened]) -> None:
    command = [sys.executable, "-c", "import sys; print('here', flush=True); sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=False) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"here\n"
        store.log.close()
        reopen()
        program.communicate()


def test_a_file_that_was_replaced_just_before_it_was_locked_is_not_the_one_that_is_opened(
    create: Callable[..., Store], path: Path, monkeypatch: pytest.MonkeyPatch, reopen: Callable[..., Opened]
) -> None:
    new = path.with_name("new.jsonl")
    for at, name in ((path, "old"), (new, "new")):
        store = create(at=at)
        store.append(Named(name))
        store.log.close()

    def replacing(fd: int) -> bool:
        if new.exists():
            new.rename(path)
        return lock.lock(fd)

    monkeypatch.setattr(file, "lock", replacing)
    opened = reopen().store
    assert opened.name == "new"
    opened.append(Named("newer"))
    assert b"newer" in path.read_bytes()


def test_a_file_that_is_gone_before_it_is_locked_is_refused(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.log.close()

    def deleting(fd: int) -> bool:
        path.unlink()
        return lock.lock(fd)

    monkeypatch.setattr(file, "lock", deleting)
    with pytest.raises(SessionError, match="could not be opened: No such file or directory"):
        file.open_locked(str(path))


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_where_a_file_system_has_no_locks_sessions_work_without(
    number: int, store: Store, reopen: Callable[..., Opened], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: object) -> None:
        raise OSError(number, os.strerror(number))

    store.log.close()
    monkeypatch.setattr(fcntl, "flock", fails)
    reopen().store.append(Named("a"))


def test_a_lock_that_fails_for_another_reason_is_an_error(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    store.log.close()
    monkeypatch.setattr(fcntl, "flock", fails)
    with pytest.raises(SessionError, match="could not be opened: Input/output error"):
        file.open_locked(str(path))


def test_a_file_that_nobody_has_locked_has_no_holder(tmp_path: Path) -> None:
    with (tmp_path / "free").open("wb") as free:
        assert lock.holder(free.fileno()) == 0
    assert "in use by another process;" in str(SessionInUse("it", 0))
