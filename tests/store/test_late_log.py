"""A session that is no file before something is said in it."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from linnet.errors import SessionError
from linnet.store import file
from linnet.store.entries import Named
from linnet.store.header import Header
from linnet.store.late_log import LateLog
from linnet.store.lines import entry_line
from linnet.store.log import FileLog

HEADER = Header("an-id", "", "", None, 3)
LINES = [entry_line(f"0000000{index}", None, "", Named(str(index))) for index in range(4)]


@pytest.fixture
def late(path: Path) -> LateLog:
    return LateLog(str(path), LINES[:1], lambda held: file.create(str(path), HEADER, held))


def test_there_is_no_file_until_it_is_kept(late: LateLog, path: Path) -> None:
    late.append(LINES[1])
    assert not path.exists()
    assert (late.key, late.path, late.is_kept, late.intact, late.lost) == (str(path), str(path), False, True, False)
    assert [late.line(0), late.line(1)] == LINES[:2] == [late.snapshot().line(index) for index in range(2)]
    late.keep()
    late.keep()
    late.append(LINES[2])
    assert late.is_kept
    assert late.head() == 3
    assert path.read_bytes().split(b"\n")[1:-1] == LINES[:3]
    late.close()


def test_a_file_that_cannot_be_made_is_tried_again_with_every_line(path: Path) -> None:
    made: list[int] = []

    def make(held: Sequence[bytes]) -> FileLog:
        made.append(len(held))
        if len(made) < 4:
            raise SessionError("no room")
        return file.create(str(path), HEADER, held)

    late = LateLog(str(path), (), make)
    with pytest.raises(SessionError):
        late.keep()
    with pytest.raises(SessionError):
        late.append(LINES[0])
    with pytest.raises(SessionError):
        late.append(LINES[1], strict=True)
    late.flush()
    late.append(LINES[2])
    assert made == [0, 1, 1, 1]
    assert path.read_bytes().split(b"\n")[1:-1] == [LINES[0], LINES[2]]
    late.close()


def test_one_that_was_never_kept_leaves_nothing_behind(late: LateLog, path: Path) -> None:
    late.flush()
    late.sync()
    late.discard()
    late.close()
    assert not path.exists()
