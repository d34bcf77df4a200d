"""Counts and durations as people write them."""

import pytest

from linnet.export.html.figures import count, duration


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1.0k"),
        (99_949, "99.9k"),
        (99_950, "100k"),
        (999_499, "999k"),
        (999_500, "1.0M"),
        (999_999, "1.0M"),
        (1_000_000, "1.0M"),
        (999_600_000, "1.0G"),
        (-999_999, "-1.0M"),
        (10**400, "1000000G"),
    ],
)
def test_a_count_has_few_digits_and_never_a_thousand_of_a_unit(number: int, shown: str) -> None:
    assert count(number) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-3, ""),
        (0.04, ""),
        (0.31, "0.3 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.6, "1 min 00 s"),
        (125, "2 min 05 s"),
        (3 * 3600 + 300, "3 h 05 min"),
        (3 * 86400, "3 days"),
        (1e300, "11,574,074,074 days"),
    ],
)
def test_a_duration_is_told_in_two_units_at_most(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown
