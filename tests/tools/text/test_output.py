import os
import stat
import tempfile
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.tools.text.output import INTERVAL, MAX_NEWS, CommandOutput
from linnet.tools.text.truncate import MAX_BYTES, keep_tail


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def spill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_the_first_news_comes_at_once_and_the_next_after_a_pause() -> None:
    clock, heard = Clock(), list[str]()
    with closing(CommandOutput(heard.append, clock)) as output:
        assert output.tick() is None
        output.feed(b"one ")
        assert output.tick() is None
        assert heard == ["one "]
        output.feed(b"two ")
        output.feed(b"three")
        assert output.tick() == pytest.approx(INTERVAL)
        clock.now += INTERVAL
        assert output.tick() is None
        output.feed(b" four")
        output.finish()
        assert heard == ["one ", "two three", " four"]


def test_a_flood_is_cut_to_its_end_and_says_how_much_was_skipped() -> None:
    clock, heard = Clock(), list[str]()
    with closing(CommandOutput(heard.append, clock)) as output:
        output.feed(b"x" * 100_000 + "é".encode() * (MAX_NEWS // 2))
        output.tick()
    assert heard == ["[100000 bytes skipped]\n" + "é" * (MAX_NEWS // 2)]


def test_a_flood_is_not_cut_inside_a_character() -> None:
    heard: list[str] = []
    with closing(CommandOutput(heard.append)) as output:
        output.feed("é".encode() * MAX_NEWS + b"!")
        output.tick()
    assert heard == [f"[{MAX_NEWS + 2} bytes skipped]\n" + "é" * (MAX_NEWS // 2 - 1) + "!"]


@given(st.text(), st.lists(st.integers(0, 40)))
def test_however_the_bytes_arrive_the_news_add_up_to_the_text(text: str, places: list[int]) -> None:
    data, clock, heard = text.encode(), Clock(), list[str]()
    cuts = [0, *sorted(min(place, len(data)) for place in places), len(data)]
    with closing(CommandOutput(heard.append, clock)) as output:
        for start, end in pairwise(cuts):
            if start != end:
                output.feed(data[start:end])
            clock.now += INTERVAL
            output.tick()
        kept = output.finish()
    assert "".join(heard) == kept.text == text
    assert "" not in heard


def test_half_a_character_at_the_very_end_is_replaced() -> None:
    heard: list[str] = []
    with closing(CommandOutput(heard.append)) as output:
        output.feed("a😀".encode()[:-1])
        assert output.tick() is None
        assert output.tick() is None
        assert heard == ["a"]
        assert output.finish().text == "a�"
        assert heard == ["a", "�"]


@pytest.mark.parametrize("size", [1, 999, 65536, 1_000_000])
def test_the_end_is_kept_and_the_file_has_every_byte(size: int, spill: Path) -> None:
    data = b"".join(b"%d \xe2\x82\xac\n" % number for number in range(20_000))
    with closing(CommandOutput(lambda text: None)) as output:
        for start in range(0, len(data), size):
            output.feed(data[start : start + size])
        kept = output.finish()
    assert kept.text == keep_tail(data.decode()).text
    assert output.total == len(data)
    assert output.path is not None
    assert Path(output.path).read_bytes() == data
    assert stat.S_IMODE(os.stat(output.path).st_mode) == 0o600
    assert Path(output.path).parent == spill
    assert Path(output.path).name.startswith("linnet-bash-")


def test_many_short_lines_go_to_a_file_too() -> None:
    with closing(CommandOutput(lambda text: None)) as output:
        output.feed(b"\n" * 1999)
        output.feed(b"a\nb\n")
        assert output.finish().text == "\n" * 1998 + "a\nb\n"
    assert output.path is not None
    assert Path(output.path).read_bytes() == b"\n" * 1999 + b"a\nb\n"


def test_short_output_makes_no_file(spill: Path) -> None:
    with closing(CommandOutput(lambda text: None)) as output:
        output.feed(b"x" * MAX_BYTES)
        assert output.finish().text == "x" * MAX_BYTES
    assert output.path is None
    assert os.listdir(spill) == []


def test_bytes_that_grow_when_replaced_still_fit_and_are_kept_in_a_file() -> None:
    with closing(CommandOutput(lambda text: None)) as output:
        output.feed(b"\xff" * 30_000)
        assert len(output.finish().text.encode()) <= MAX_BYTES
    assert output.path is not None
    assert os.path.getsize(output.path) == 30_000


def test_when_the_file_cannot_be_made_the_end_is_still_there(spill: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(spill / "gone"))
    with closing(CommandOutput(lambda text: None)) as output:
        output.feed(b"x\n" * 100_000)
        output.feed(b"end\n")
        assert output.finish().text.endswith("x\nend\n")
    assert output.path is None
    assert output.problem == "No such file or directory"
