"""A reader that is slow makes a run wait and a long line cost no more than it is long; an abort waits for neither."""

import os
import tracemalloc

import pytest

from linnet.server.outlet import FULL, ROOM, Outlet


@pytest.fixture
def pipe() -> "tuple[Outlet, int]":
    reading, writing = os.pipe()
    return Outlet(writing, lambda: None), reading


def test_long_lines_that_wait_count_for_what_they_will_be(pipe: tuple[Outlet, int]) -> None:
    outlet, _ = pipe
    line = b"x" * (ROOM // 2)
    outlet.tell([[line]], 1)
    assert not outlet.is_behind
    outlet.tell([[line]], 1)
    outlet.tell([[line]], 1)
    outlet.tell([[line]], 1)
    assert outlet.is_behind  # A hundred bytes for each event would have let thousands of them wait.


def test_a_long_line_keeps_no_command_from_being_read(pipe: tuple[Outlet, int]) -> None:
    outlet, _ = pipe
    outlet.tell([[b"x" * (FULL + 100_000)]], 1)
    assert outlet.is_behind
    assert not outlet.is_full
    outlet.write([[b"y"]], FULL + 1)
    assert outlet.is_full


def test_a_long_line_is_not_copied_for_each_piece_that_fits(pipe: tuple[Outlet, int]) -> None:
    outlet, reading = pipe
    size = 8 << 20
    tracemalloc.start()
    try:
        outlet.tell([[b"x" * size]], 1)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        left = size
        while left:
            left -= len(os.read(reading, 1 << 16))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak - before < size // 2
