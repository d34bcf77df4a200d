"""Times as text and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.core.text.timestamps import END, milliseconds, parsed, stamp


@given(st.integers(-62_135_596_800_000, END - 1))
def test_a_time_of_any_year_is_read_back_as_it_was_written(time: int) -> None:
    assert milliseconds(stamp(time)) == time


@given(st.integers())
def test_a_time_that_no_calendar_knows_is_written_as_the_nearest_that_it_does(time: int) -> None:
    assert parsed(stamp(time)) is not None
    assert stamp(END) == "9999-12-31T23:59:59.999Z"
    assert stamp(-(10**20)) == "0001-01-01T00:00:00.000Z"


@pytest.mark.parametrize(
    "same", ["2026-01-01T12:00:00.000Z", "2026-01-01T12:00:00", "2026-01-01T13:30:00+01:30", "20260101T120000Z"]
)
def test_without_a_zone_a_time_is_in_utc(same: str) -> None:
    assert milliseconds(same) == 1_767_268_800_000


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "0001-01-01T00:00:00+23:59"])
def test_what_is_no_time_is_none(text: str) -> None:
    assert parsed(text) is None
    assert milliseconds(text) == 0
