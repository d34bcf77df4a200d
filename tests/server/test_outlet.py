"""A reader that is slow makes a run wait and a long line cost no more than it is long; an abort waits for neither."""

import os
import tracemalloc
from collections.abc import Iterator
from threading import Thread

import pytest

from linnet.server import outlet as module
from linnet.server.outlet import FULL, ROOM, SIZE_OF_EVENT, Outlet


@pytest.fixture
def pipe() -> "tuple[Outlet, int]":
    reading, writing = os.pipe()
    return Outlet(writing, lambda: None), reading


def test_long_lines_that_wait_count_for_what_they_will_be(pipe: tuple[Outlet, int]) -> None:
    outlet, _ = pipe
    line = b"x" * (ROOM // 2)
    outlet.write([[line]], SIZE_OF_EVENT)
    assert not outlet.is_behind
    outlet.write([[line]], SIZE_OF_EVENT)
    outlet.write([[line]], SIZE_OF_EVENT)
    outlet.write([[line]], SIZE_OF_EVENT)
    assert outlet.is_behind  # A hundred bytes for each event would have let thousands of them wait.


def test_a_long_line_keeps_no_command_from_being_read(pipe: tuple[Outlet, int]) -> None:
    outlet, _ = pipe
    outlet.write([[b"x" * (FULL + 100_000)]], SIZE_OF_EVENT)
    assert outlet.is_behind
    assert not outlet.is_full
    outlet.write([[b"y"]], FULL + 1)
    assert outlet.is_full


def test_a_long_line_is_not_copied_for_each_piece_that_fits(pipe: tuple[Outlet, int]) -> None:
    outlet, reading = pipe
    size = 8 << 20
    tracemalloc.start()
    try:
        outlet.write([[b"x" * size]], SIZE_OF_EVENT)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        left = size
        while left:
            left -= len(os.read(reading, 1 << 16))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak - before < size // 2


def test_whoever_sees_that_something_is_unread_is_woken_when_it_is_read() -> None:
    """Who looks while something is being written would see it, and nobody would say that it has been written."""
    _, writing = os.pipe()
    wakes: list[None] = []
    outlet = Outlet(writing, lambda: wakes.append(None))
    seen: list[tuple[int, bool]] = []
    looking = Thread(target=lambda: seen.append((outlet.unread, outlet.is_full)))

    def lines() -> Iterator[list[bytes]]:
        looking.start()
        looking.join(0.1)  # It is kept waiting. If it were not, this is more time than it needs.
        yield [b"a line"]

    outlet.write(lines(), FULL + 1)
    looking.join()
    assert wakes == []
    assert seen == [(0, False)]


class NoThread(Thread):
    def start(self) -> None:
        raise RuntimeError("can't start new thread")


def test_where_the_system_gives_no_thread_what_has_no_room_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    wakes: list[None] = []
    outlet = Outlet(writing, lambda: wakes.append(None))
    monkeypatch.setattr(module, "Thread", NoThread)
    before = os.listdir("/proc/self/fd")
    outlet.watch()
    outlet.write([[b"short"]])
    assert (os.read(reading, 100), outlet.broken) == (b"short", False)
    outlet.write([[b"x" * (1 << 20)]])
    assert outlet.broken
    assert wakes
    assert os.listdir("/proc/self/fd") == before
