"""Every capture of pi 1.5.0 and 0.87.1 is replayed, or the table says why not and what is tested instead."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from tests.pi.today.test_captures import names

ROOT = Path(__file__).parents[3]


@cache
def table() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("left_out.toml").read_text())


def captured(name: str) -> str:
    """Return what a capture was called before it was reduced."""
    stem, _, version = name.rpartition("_")
    return stem if version == "15" else f"{stem}_0.{version}"


def test_every_capture_is_replayed_or_it_is_told_why_not() -> None:
    left_out = [name for row in table()["left_out"] for name in row["captures"]]
    assert sorted([*map(captured, names()), *left_out]) == sorted(table()["all"].split())
    assert all(row["reason"] for row in table()["left_out"])


def test_what_is_left_out_is_tested_otherwise() -> None:
    for row in table()["left_out"]:
        assert row["tests"], row["captures"]
        for test in row["tests"]:
            file, _, name = test.partition("::")
            assert f"\ndef {name}(" in (ROOT / file).read_text(), test
