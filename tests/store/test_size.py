"""A session of a hundred thousand entries: it opens, and one more costs no more than the first did."""

import gc
import os
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from linnet.core.messages import Text, UserMessage
from linnet.store.entries import Custom, Said
from linnet.store.lines import entry_line
from linnet.store.session_folder import Opened
from linnet.store.store import Store

MANY = 100_000


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    """They share what they say: making each of them anew would take longer than everything else here."""
    made = entry_line("ID______", "PARENT__", "2026-01-01T12:00:00.000Z", Said(UserMessage((Text("text"),), 1)))
    before, between, after = made.replace(b"ID______", b"\0").replace(b"PARENT__", b"\0").split(b"\0")
    first = before + b"x0000000" + between.replace(b'"parentId":"', b'"parentId":null') + after[1:]
    return [first, *(b"%bx%07x%bx%07x%b" % (before, at, between, at - 1, after) for at in range(1, MANY))]


@pytest.fixture
def long(lines: list[bytes], create: Callable[..., Store], path: Path) -> Path:
    create(*lines).log.close()
    return path


def work(action: Callable[[], object]) -> Counter[str]:
    """How many calls it makes, and how many bytes of the file are read and written."""
    done: Counter[str] = Counter()

    def seen(frame: FrameType, event: str, argument: Any) -> None:
        if event in ("call", "c_call"):
            done["calls"] += 1

    def counting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any) -> Any:
            answer = function(*args)
            done[name] += answer if isinstance(answer, int) else len(answer) if isinstance(answer, bytes) else 1
            return answer

        return counted

    with pytest.MonkeyPatch.context() as patch:
        for name in ("write", "read", "pread", "fstat", "stat", "fsync", "ftruncate"):
            patch.setattr(os, name, counting(name, getattr(os, name)))
        gc.disable()  # Others are told when it runs, and that would count.
        sys.setprofile(seen)
        try:
            action()
        finally:
            sys.setprofile(None)
            gc.enable()
    return done


def test_an_entry_costs_the_same_in_a_long_session_as_in_a_short_one(
    long: Path, create: Callable[..., Store], reopen: Callable[..., Opened], tmp_path: Path
) -> None:
    short = create(at=tmp_path / "short.jsonl")
    opened = reopen(long).store
    for store in (short, opened):
        store.append(Custom("first", None))
    first, second = (work(partial(store.append, Custom("x", 1))) for store in (short, opened))
    assert first == second
    assert first["write"] == len(opened.log.line(MANY + 1)) + 1
    assert first["pread"] == first["read"] == first["fsync"] == 0
    assert first["stat"] + first["fstat"] == 3  # Before it, and when it has changed the time of the file.


def test_one_entry_is_read_back_without_the_others(long: Path, reopen: Callable[..., Opened]) -> None:
    store = reopen(long).store
    node = store.tree.nodes[MANY // 2]
    done = work(lambda: store.entries([node]))
    assert done["pread"] == len(store.log.line(MANY // 2))
    assert done["read"] == 0


def test_a_long_session_is_opened_and_gone_on_with(
    long: Path, reopen: Callable[..., Opened], lines: list[bytes]
) -> None:
    opened = reopen(long)
    assert len(opened.past.ids) == len(opened.store.tree) == MANY
    assert opened.store.log.line(MANY - 1) == lines[-1]
    for number in range(100):
        opened.store.append(Custom("n", number))
    opened.store.log.close()
    again = reopen(long)
    assert [each.content for each in again.store.entries(again.store.tree.nodes[MANY:])] == [
        Custom("n", number) for number in range(100)
    ]
    assert len(again.store.copied(again.store.leaf)) == MANY + 100
